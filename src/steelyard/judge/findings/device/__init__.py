"""Rules on accelerators."""
