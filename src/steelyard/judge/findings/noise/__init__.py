"""Rules on the operating system's noise."""
