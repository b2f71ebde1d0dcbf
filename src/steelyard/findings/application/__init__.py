"""Rules on the applications."""
