"""Rules on all nodes together."""
