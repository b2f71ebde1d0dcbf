"""Benchmarks of a node with small kernels of many kinds, by threads, by an OpenCL device, or by both."""
