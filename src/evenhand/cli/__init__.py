"""The verbs on the command line."""
