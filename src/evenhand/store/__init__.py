"""A run on disk: what was read, what was written, and how both are told apart."""
