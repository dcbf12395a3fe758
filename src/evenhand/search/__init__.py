"""Embeddings → templates → comparisons and 1:N searches, block by block.

`enrol` pools the embeddings of faces into templates, `compare` scores listed pairs of
templates, `search` looks every probe up in a gallery and says where its mate stands.
"""
