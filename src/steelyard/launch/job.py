"""What is started in parallel, and where: the question that every launcher answers with a command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steelyard.model import Host, Tool

Order = Literal["block", "cyclic"]
Transport = Literal["default", "no shared memory", "tcp"]


@dataclass(frozen=True)
class Job:
    """One start of `ranks` processes of `program`.

    `hosts` empty: this machine alone. `ranks_per_node` is how many each host gets (None: its slots). `mapping`: the first ranks
    fill the first host ("block"), or go round the hosts ("cyclic"). `transport`: "no shared memory" takes the MPI's own switch,
    "tcp" also leaves every faster network aside. `cpus` are the processors of a host's local ranks 0, 1 …; empty: not pinned.
    """

    program: Path
    ranks: int
    mpi: Tool  # flavour, path of its C++ wrapper, version
    hosts: tuple[Host, ...] = ()
    ranks_per_node: int | None = None
    mapping: Order = "block"
    transport: Transport = "default"
    cpus: tuple[int, ...] = ()
    extra: tuple[str, ...] = ()  # further words for the launcher, as the user gave them (--launcher-option)
    environment: Mapping[str, str] = field(default_factory=dict)  # what the ranks must find in theirs
