"""Systems side by side: runs with runs, and runs with published systems."""

# Rounds of two runs in turn. So many pairs of launches show 5 % in 9 of 10 comparisons although launches scatter by 3 %, the
# machine drifts by 10 %, and another guest disturbs one pair in five (simulated: tests/core/test_compare_in_turn.py).
ROUNDS = 40
MOST_ROUNDS = 10_000  # of a comparison in turn: they take months, but their plan takes only seconds
ENDED_EARLY = "The run {} was ended early, so launches or cases may be missing."
