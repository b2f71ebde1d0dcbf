"""Pages of this wing in a run's report."""
