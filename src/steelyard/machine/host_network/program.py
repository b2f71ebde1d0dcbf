"""The program that every host of a run starts: it prints one line about the host's network."""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from typing import Any

from . import describe

MARK = "steelyard-network"  # before the rank and the description, in the line that a host prints
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "MPI_RANKID")


def main() -> None:
    """Prints one line with the rank and the description, compressed.

    It is written at once and is shorter than 4 KiB, so that a launcher does not mix it with the lines of other hosts.
    """
    rank = next((os.environ[name] for name in RANKS if os.environ.get(name)), "0")
    packed = base64.b64encode(zlib.compress(json.dumps(describe()).encode(), 9)).decode()
    sys.stdout.write(f"{MARK} {rank} {packed}\n")
    sys.stdout.flush()


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
