"""Benchmarks of messages between processes over MPI: latency, bandwidth, topologies, collectives."""
