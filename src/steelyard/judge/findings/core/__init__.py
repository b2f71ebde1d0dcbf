"""Rules on the cores' benchmarks."""
