"""Results as sections of text, tables and figures, and what draws them."""
