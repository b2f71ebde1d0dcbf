"""Systems side by side: runs with runs, and runs with published systems."""
