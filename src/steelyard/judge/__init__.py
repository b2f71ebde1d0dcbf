"""Judges what was measured: reads records, or the table of their results, and finds what explains them."""
