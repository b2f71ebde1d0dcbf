"""Benchmarks of accelerators: memory, arithmetic, latency, starts of kernels, and copies between host and device."""
