"""The families, one folder each; none knows another."""
