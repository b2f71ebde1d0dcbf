"""Comparison of sets of launches and of peers, and the search for slow ones. Imports `samples`."""
