"""Metrics that several families share: each reads rows, none has seen an image."""
