"""What all nodes do at once: memory bandwidth of a whole cluster, and access to memory that is spread over it."""
