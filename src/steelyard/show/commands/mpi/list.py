"""`steelyard mpi list`."""

from steelyard.show.command_line.options import Json

PLACE = 10


def command(json_: Json = False) -> None:
    """List the MPIs of this machine, and those that Steelyard can install.

    Examples: **steelyard mpi list** · **steelyard mpi list --json**
    """
    from pathlib import Path

    from steelyard.errors import one_line
    from steelyard.measure.build import mpi_name
    from steelyard.measure.build.mpi_environments import list_installable
    from steelyard.measure.machine.tools import find_tools, mpi_environments
    from steelyard.show.report.json_output import print_json

    installed = {str(folder / "bin"): folder.name for folder in mpi_environments()}
    rows = [(mpi_name(mpi), mpi.path, installed.get(str(Path(mpi.path).parent), "")) for mpi in find_tools()[1]]
    if json_:
        listed = [{"mpi": label, "wrapper": path, "installed_as": name or None} for label, path, name in rows]
        print_json({"mpis": listed, "installable": sorted(list_installable())})
        return
    for label, path, name in rows:
        print(
            f"{label:<20}  {one_line(path)}{f'  (installed by Steelyard: steelyard mpi remove {name})' if name else ''}"
        )
    if not rows:
        print("This machine has no MPI with its headers.")
    print("Steelyard can install: " + ", ".join(f"steelyard mpi install {name}" for name in sorted(list_installable())))
