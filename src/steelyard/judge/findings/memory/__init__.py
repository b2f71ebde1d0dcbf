"""Rules on the memory's benchmarks."""
