"""Starts ranks by the MPI's own mpiexec."""

import os
from collections.abc import Mapping

from steelyard.errors import MachineFailed
from steelyard.measure import mpi
from steelyard.measure.machine.tools import mpiexec_of
from steelyard.measure.mpi import Job
from steelyard.system import user_cache


def argv(job: Job) -> list[str]:
    """Returns the command line."""
    starter = mpiexec_of(job.mpi)
    flavour = mpi.of(job.mpi)
    if not flavour.starters:
        raise MachineFailed(
            f"{flavour.title} has no mpiexec, because the scheduler starts its ranks. Start Steelyard inside an allocation "
            "(salloc), or name the launcher: --launcher srun."
        )
    if starter is None:
        raise MachineFailed(
            f"The MPI with the compiler wrapper {job.mpi.path} has no mpiexec in the same folder. Install the runtime package "
            "of this MPI, or choose another MPI with --mpi."
        )
    return [starter, *flavour.words(job)]


def environment(job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """Returns the launcher's environment: the user's own, what the ranks must know, and the switch of the transport."""
    root = mpi.of(job.mpi).as_root if os.geteuid() == 0 else {}
    # PMIx crashes where a user has no home.
    homeless = {} if user_cache.home() else {"HOME": str(user_cache.temporary())}
    return {**base, **homeless, **root, **mpi.environment(job)}
