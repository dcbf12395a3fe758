"""Files at the edge: reading what may be damaged or hostile, and writing whole files inside the folders a user named.

Delimited text, arrays, pickles of arrays, and the one place through which the package writes and deletes. Every other
package may import this one; it imports only `core`.
"""
