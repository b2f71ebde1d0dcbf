"""`steelyard build`."""

from dataclasses import replace
from typing import Annotated

from typer import Option

from steelyard.show.command_line.options import Compilers, Mpis, Only, Paths, PlanOptions, Quiet

PLACE = 140

Preset = Annotated[
    str | None,
    Option(
        metavar="PRESET",
        help="Compile only the programs of a run with this preset: quick, standard or full (default: all programs).",
        rich_help_panel="What to measure",
    ),
]


def command(
    only: Only = None,
    preset: Preset = None,
    toolchains: Compilers = None,
    paths: Paths = None,
    mpis: Mpis = None,
    quiet: Quiet = False,
) -> None:
    """Compile the native programs for this machine into the cache. A run compiles missing programs automatically.

    Examples: **steelyard build --toolchain clang** · **steelyard build --preset quick**
    """
    from steelyard.measure.run import setup
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.request import read_request

    words = PlanOptions(toolchains=toolchains, mpis=mpis, paths=paths)
    asked = read_request(replace(words, preset=preset) if preset else words, only)
    here = setup.plan(asked)[1] if preset else setup.resolve(asked)
    for (name, toolchain), program in here.programs(Console(quiet)).items():
        print(f"{name} {toolchain} {program}")
