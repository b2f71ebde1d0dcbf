"""`steelyard power`: a group of commands, one file each."""

from pathlib import Path

from steelyard.show.command_line.command_group import make_subgroup

PLACE = 170

app = make_subgroup(
    "power",
    __name__,
    Path(__file__).parent,
    "Power and energy: list the sensors, measure the energy of a command, and collect the readings of many nodes.",
)
