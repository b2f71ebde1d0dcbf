"""Pages of this wing."""
