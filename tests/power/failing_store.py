"""Steelyard with an embedded store that fails with each batch of a sensor "bad": failing_store.py ERROR WORDS."""

import sqlite3
import sys
from collections.abc import Sequence

from steelyard.errors import MachineFailed
from steelyard.power.message import Batch
from steelyard.power.stores.embedded import Embedded

ERRORS: dict[str, Exception] = {
    "MachineFailed": MachineFailed("The store cannot be written: the batch is bad."),
    "sqlite3.DataError": sqlite3.DataError("string or blob too big"),
    **{kind.__name__: kind("bad") for kind in (ValueError, MemoryError, RecursionError, Exception)},
}
write = Embedded.write
error = ERRORS[sys.argv.pop(1)]


def failing(self: Embedded, batches: Sequence[Batch]) -> None:
    """Fails with readings of the bad sensor, and takes a gap in them."""
    if any("bad" in batch.sensors and len(batch.at) for batch in batches):
        raise error
    write(self, batches)


Embedded.write = failing  # type: ignore[method-assign]

if __name__ == "__main__":
    from steelyard.__main__ import main

    main()
