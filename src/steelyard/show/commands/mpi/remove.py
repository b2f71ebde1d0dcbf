"""`steelyard mpi remove`."""

from collections.abc import Iterator
from typing import Annotated

import typer

PLACE = 30


def _complete(incomplete: str) -> Iterator[str]:
    from steelyard.measure.machine.tools import mpi_environments

    yield from (folder.name for folder in mpi_environments() if folder.name.startswith(incomplete))


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MPI", autocompletion=_complete, help="Name under which it was installed, such as mpich."
        ),
    ],
) -> None:
    """Remove an MPI that **steelyard mpi install** installed. Runs that used it stay readable.

    Example: **steelyard mpi remove mpich**
    """
    from steelyard.errors import one_line
    from steelyard.measure.build import mpi_environments

    print(f"removed {one_line(str(mpi_environments.remove(name)))}")
