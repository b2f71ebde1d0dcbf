"""Rules on the node's kernels."""
