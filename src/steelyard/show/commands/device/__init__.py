"""`steelyard device`: a group of commands, one per file."""

from pathlib import Path

from steelyard.show.command_line.command_group import make_subgroup

PLACE = 136

app = make_subgroup("device", __name__, Path(__file__).parent, "Install libraries of accelerators without root.")
