"""Benchmarks of the memory: bandwidth, latency, locality, placement, and transfers between cores."""
