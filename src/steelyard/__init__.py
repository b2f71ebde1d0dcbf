"""Steelyard measures computers honestly, from a laptop to a cluster, and explains what it measured."""

__version__ = "0.1.0"
