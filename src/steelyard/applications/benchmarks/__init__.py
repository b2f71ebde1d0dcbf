"""Benchmarks of this wing, by group."""
