"""`steelyard device install`."""

from collections.abc import Iterator
from typing import Annotated

import typer

from steelyard.show.command_line.options import Json, Wheels

PLACE = 10


def _complete(incomplete: str) -> Iterator[str]:
    from steelyard.measure.build.device_libraries import PACKAGES

    yield from (name for name in PACKAGES if name.startswith(incomplete))


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="LIBRARY",
            autocompletion=_complete,
            help="Library: nvrtc (the compiler, which each benchmark needs), cublas (matrix products) or nccl (several devices).",
        ),
    ] = "nvrtc",
    wheels: Wheels = None,
    json_: Json = False,
) -> None:
    """Install a library for GPUs of NVIDIA from its Python package, where every later run finds it.

    It needs pip (or uv), but neither root nor a toolkit. The driver must be on the machine already.

    Examples: **steelyard device install** (the compiler) · **steelyard device install cublas --from ./wheels**
    """
    import sys

    from steelyard.errors import spelled
    from steelyard.measure.build import device_libraries
    from steelyard.show.report.json_output import print_json

    def show(line: str) -> None:
        print(f"  {spelled(line)}", file=sys.stderr, flush=True)

    file, new = device_libraries.install(name, show, wheels)
    if json_:
        print_json({"library": name, "file": str(file), "new": new})
        return
    print(f"{name} {'is installed' if new else 'was already installed'}: {spelled(str(file))}")
