"""The idea: rows, metrics over them, and the types that travel between packages."""
