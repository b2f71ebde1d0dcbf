"""Rules on the results of every benchmark, and on the run as a whole."""
