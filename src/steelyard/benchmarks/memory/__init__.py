"""What the memory does: bandwidth, latency, locality, placement, and the transfers between cores."""
