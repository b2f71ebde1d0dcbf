"""Benchmarks of the cores: floating-point arithmetic that needs no memory, and kernels whose vectors lie in the caches."""
