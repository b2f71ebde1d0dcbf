"""`steelyard mpi`: a group of commands, one per file."""

from pathlib import Path

from steelyard.show.command_line.command_group import make_subgroup

PLACE = 135

app = make_subgroup(
    "mpi", __name__, Path(__file__).parent, "List MPI libraries, and install further ones without root."
)
