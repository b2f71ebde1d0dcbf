"""Benchmarks of all nodes at once: memory bandwidth of the cluster, and access to memory distributed over it."""
