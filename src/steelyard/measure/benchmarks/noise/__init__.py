"""Benchmarks of operating-system noise: time lost to interruptions, and their frequency."""
