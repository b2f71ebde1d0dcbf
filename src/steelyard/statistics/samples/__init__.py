"""Samples of a case: summaries, the stopping rule, and launches combined. Imports nothing of the other groups."""
