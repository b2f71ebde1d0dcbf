"""Whole applications with published results: the NAS Parallel Benchmarks."""
