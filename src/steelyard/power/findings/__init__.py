"""Rules on power and energy."""
