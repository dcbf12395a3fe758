"""The published tools' own interfaces, over the same verbs."""
