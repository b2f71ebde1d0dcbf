"""Starts ranks by the MPI's own mpiexec."""

import os
from collections.abc import Mapping

from steelyard import mpi, user_cache
from steelyard.errors import MachineFailed
from steelyard.machine.tools import mpiexec_of
from steelyard.mpi import Job


def argv(job: Job) -> list[str]:
    """The command line."""
    starter = mpiexec_of(job.mpi)
    flavour = mpi.of(job.mpi)
    if not flavour.starters:
        raise MachineFailed(
            f"{flavour.title} has no mpiexec: the scheduler starts its ranks. Run inside an allocation (salloc), or name the "
            "launcher: --launcher srun."
        )
    if starter is None:
        raise MachineFailed(
            f"The MPI of {job.mpi.path} has no mpiexec beside its compiler wrapper. Install its runtime, "
            "or choose another with --mpi."
        )
    return [starter, *flavour.words(job)]


def environment(job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """The launcher's environment: the user's own, what the ranks must know, and the switch of the transport."""
    root = mpi.of(job.mpi).as_root if os.geteuid() == 0 else {}
    # PMIx crashes where a user has no home.
    homeless = {} if user_cache.home() else {"HOME": str(user_cache.temporary())}
    return {**base, **homeless, **root, **mpi.environment(job)}
