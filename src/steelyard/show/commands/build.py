"""`steelyard build`."""

from steelyard.show.command_line.options import Compilers, Mpis, Only, Paths, PlanOptions, Quiet

PLACE = 140


def command(
    only: Only = None, toolchains: Compilers = None, paths: Paths = None, mpis: Mpis = None, quiet: Quiet = False
) -> None:
    """Compile the native programs for this machine into the cache. A run compiles missing programs automatically.

    Example: **steelyard build --toolchain clang**
    """
    from steelyard.measure.run import setup
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.request import read_request

    asked = read_request(PlanOptions(toolchains=toolchains, mpis=mpis, paths=paths), only)
    for (name, toolchain), program in setup.resolve(asked).programs(Console(quiet)).items():
        print(f"{name} {toolchain} {program}")
