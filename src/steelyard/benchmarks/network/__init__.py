"""What passes between processes: latency, bandwidth, topologies, collectives; over MPI."""
