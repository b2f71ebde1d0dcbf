"""How sets of launches and peers differ, and which one is slow. Imports `samples`."""
