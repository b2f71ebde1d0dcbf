"""What a node does with small kernels of many kinds: by its threads, by an OpenCL device, and by both together."""
