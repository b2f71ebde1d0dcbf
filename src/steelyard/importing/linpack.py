"""What all programs of Linpack print: the check of the residual, and the system of equations."""

from steelyard.importing.patterns import Match
from steelyard.importing.values import Given

CHECK = r".*\.\.\.\.\s*(PASSED|FAILED)\b"
UNCHECKED = "The output does not say that the residual was checked."


def describe_system(row: Match) -> Given:
    """Returns the sizes of a system of equations, and the grid of ranks that solved it."""
    n, nb, p, q = (int(row[name]) for name in ("N", "NB", "P", "Q"))
    return {"N": n, "NB": nb, "ranks": p * q, "grid": f"{p}x{q}"}
