"""Systems side by side: runs with runs, and runs with published systems."""

# Of two runs in turn. So many pairs of launches show 5 % in 9 of 10 comparisons although launches scatter by 3 %, the machine
# wanders by 10 %, and a neighbour hits one pair in five (simulated: tests/core/test_compare_in_turn.py).
ROUNDS = 40
