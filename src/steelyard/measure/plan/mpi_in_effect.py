"""The settings of the user that reach the ranks of a case: what Steelyard sets for the case itself wins over them."""

from steelyard.measure import mpi
from steelyard.measure.plan import variants
from steelyard.model import Machine, Parameters, Run, Setting, Site


def list_of_case(machine: Machine, site: Site, parameters: Parameters) -> tuple[Setting, ...]:
    """Returns the settings that steer the MPI of a case; () without ranks, or if they were not recorded."""
    flavour = mpi.find_by_label(str(parameters.get("mpi", "")))
    if flavour is None:
        return ()
    variant = variants.find(site.variants, parameters)
    transport = str(parameters.get("transport", "default"))
    return mpi.in_effect(machine.mpi_settings or (), flavour, transport, variant.environment if variant else ())


def list_of_run(run: Run) -> tuple[Setting, ...] | None:
    """Returns the settings that reach the ranks of at least one case. None: no case has ranks, or they were not recorded."""
    every = [case.parameters for launch in run.plan.launches for case in launch.cases if "mpi" in case.parameters]
    starts = {tuple(str(p.get(name)) for name in ("mpi", "transport", "variant")): p for p in every}
    if not starts or run.machine.mpi_settings is None:
        return None
    reaching = {s.name: s for p in starts.values() for s in list_of_case(run.machine, run.site, p)}
    return tuple(reaching[name] for name in sorted(reaching))
