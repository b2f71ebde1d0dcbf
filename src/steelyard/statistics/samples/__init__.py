"""Samples of a case: what they say, when they suffice, how launches come together. Imports nothing of the other groups."""
