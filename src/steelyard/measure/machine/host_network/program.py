"""The program that every host of a run starts: it prints one line about the host's network and processor."""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from typing import Any

from . import describe

MARK = "steelyard-network"  # precedes the rank and the description in the line that a host prints
PROCESSOR = "cpuinfo"  # the key of the lines on the processor, beside the fields of the network
_MOST_LINES, _LONGEST = 32, 100  # of /proc/cpuinfo: the lines of the first processor; only flags are longer
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "MPI_RANKID")


def main() -> None:
    """Prints one line with the rank and the description, compressed.

    It is written at once and is shorter than 4 KiB, so that a launcher does not mix it with the lines of other hosts.
    """
    rank = next((os.environ[name] for name in RANKS if os.environ.get(name)), "0")
    content = {**describe(), PROCESSOR: list_processor_lines()}
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode(), 9)).decode()
    sys.stdout.write(f"{MARK} {rank} {packed}\n")
    sys.stdout.flush()


def list_processor_lines(path: str = "/proc/cpuinfo") -> list[str]:
    """Returns the first different lines on the processors; [] if the file cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = dict.fromkeys(line.strip() for line in file.read(1 << 20).splitlines())
    except OSError:
        return []
    return [line for line in lines if 0 < len(line) <= _LONGEST][:_MOST_LINES]


def unpack(line: str) -> tuple[int, Any] | None:
    """Returns the rank and the description of a line that `main` printed; None for any other line."""
    words = line.split()
    if len(words) != 3 or words[0] != MARK or not words[1].isdecimal():
        return None
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(words[2]), 1 << 20)
        return int(words[1]), json.loads(content)
    except (ValueError, zlib.error):
        return None
