"""The networks behind the published numbers, written out: forward passes only, with the published names of weights.

Each module holds one network and imports torch; nothing here is imported before a reader or comparer is built.
Weights come from `evenhand.instruments.checkpoints`.
"""
