"""`steelyard trace`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

PLACE = 180


def command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="Command that starts the application, after two dashes."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="New folder for the trace (default: trace-<time>)."),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="MPI",
            help="MPI library of the application, such as mpich-5.0.2, or its mpicxx (default: that of the command's mpiexec).",
        ),
    ] = None,
) -> None:
    """Run an MPI application and record its calls for **steelyard whatif**, in a folder with one file per rank.

    The application is not changed and not linked again. If it crashes, the trace has all earlier calls. The exit code is that
    of the command. MPI_Pcontrol(n) begins region n. The command whatif can replay a region alone or with faster cores.

    Examples: **steelyard trace -- mpiexec -n 4 ./solver input.nml** · **steelyard trace -o cg -- srun -n 64 ./cg** ·
    **steelyard trace --mpi mpich -- mpiexec.mpich -n 8 ./lu**
    """
    import sys
    from datetime import datetime

    from steelyard.measure import build
    from steelyard.measure.machine import describe
    from steelyard.model.units import quantity
    from steelyard.model.words import plural
    from steelyard.show.command_line.progress import Console
    from steelyard.whatif import tracing

    folder = output or Path(f"trace-{datetime.now():%Y%m%d-%H%M%S}")
    tracing.expect_folder(folder)
    machine = describe()
    library = tracing.choose_mpi(words, mpi, machine)
    with Console().building(build.default(machine)) as show:
        tracing.compile_tracer(machine, library, show)
    made = tracing.record(words, folder, machine, library)
    print(
        f"{plural(made.ranks, 'rank')}, {quantity(made.bytes, 'B')} in {made.folder}. "
        f"Replay it: steelyard whatif {shlex.quote(str(made.folder))}",
        file=sys.stderr,
    )
    sys.exit(made.code)
