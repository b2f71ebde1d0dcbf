"""The table of a run's results: what is judged once, and what everything but the samples is shown from."""
