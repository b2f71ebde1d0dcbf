"""Steelyard with a fault in its store, so that it is known that the oracle finds one: mutant.py drop|twice WORDS."""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from steelyard.power.message import Batch
from steelyard.power.stores.embedded import Embedded

WRONG = 2  # the write that goes wrong
write = Embedded.write
writes = itertools.count(1)
mutation = sys.argv.pop(1)


def wrong(self: Embedded, batches: Sequence[Batch]) -> None:
    """Loses a batch that it acknowledges, or takes one for two."""
    if next(writes) == WRONG:
        last = batches[-1]
        batches = batches[:-1] if mutation == "drop" else [*batches, replace(last, writer=uuid4())]
    if batches:
        write(self, batches)


Embedded.write = wrong  # type: ignore[method-assign]

if __name__ == "__main__":
    from steelyard.__main__ import main

    main()
