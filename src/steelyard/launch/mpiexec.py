"""Starts ranks by the MPI's own mpiexec: Open MPI, MPICH and its kin, Intel MPI."""

import os
from collections.abc import Mapping
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.launch.job import Job, Transport
from steelyard.machine.tools import mpiexec_of

# What the ranks must find in their environment on every host, where it is set.
PASSED = ("STEELYARD_CPUS", "STEELYARD_MEMORY")


def argv(job: Job) -> list[str]:
    """The command line. The programs pin themselves (before MPI starts), so that all launchers do it alike: binding is off."""
    starter = mpiexec_of(job.mpi)
    if starter is None:
        raise MachineFailed(
            f"The MPI of {job.mpi.path} has no mpiexec beside its compiler wrapper. Install its runtime, "
            "or choose another with --mpi."
        )
    words = [starter, "-n", str(job.ranks)]
    words += _open_mpi(job) if job.mpi.name == "openmpi" else _hydra(job)
    return [*words, *job.extra, str(job.program)]


def environment(job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """The launcher's environment: the user's own, what the ranks must know, and the switch of the transport."""
    root = (
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if os.geteuid() == 0 and job.mpi.name == "openmpi"
        else {}
    )
    return {**base, **root, **transport_environment(job.mpi.name, job.transport), **passed(job), **job.environment}


def passed(job: Job) -> dict[str, str]:
    """What every rank must find in its environment."""
    return {"STEELYARD_CPUS": ",".join(map(str, job.cpus))} if job.cpus else {}


def transport_environment(flavour: str, transport: Transport) -> dict[str, str]:
    """The MPI's own switches, as variables: they work under any launcher."""
    if transport == "default":
        return {}
    if flavour == "openmpi":
        return {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}
    if flavour == "intelmpi":
        return {"I_MPI_FABRICS": "ofi", **({"FI_PROVIDER": "tcp"} if transport == "tcp" else {})}
    # NOLOCAL: ranks of one host talk as if they were on two; the network layers below have shared memory of their own.
    return {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}


def shared(path: Path) -> str:
    """The path as every host must see it."""
    return str(path.resolve())


def _open_mpi(job: Job) -> list[str]:
    words = ["--bind-to", "none"]
    first = int(job.mpi.version.partition(".")[0] or 0) if job.mpi.version[:1].isdigit() else 5
    order = "node" if job.mapping == "cyclic" else "slot"
    words += ["--map-by", f"{order}:OVERSUBSCRIBE"] if first >= 5 else ["--map-by", order, "--oversubscribe"]
    if job.hosts:
        words += ["--host", _hosts(job)]
    for name in (*PASSED, *job.environment, *transport_environment(job.mpi.name, job.transport)):
        words += ["-x", name]
    return words


def _hydra(job: Job) -> list[str]:
    words = ["-bind-to", "none"] if job.mpi.name != "intelmpi" else ["-genv", "I_MPI_PIN", "0"]
    if job.hosts:
        words += ["-hosts", _hosts(job), *(["-ppn", "1"] if job.mapping == "cyclic" else [])]
    names = (*PASSED, *job.environment, *transport_environment(job.mpi.name, job.transport))
    return [*words, "-genvlist", ",".join(names)]


def _hosts(job: Job) -> str:
    """The hosts with as many places as each is to be given."""
    return ",".join(f"{h.name}:{job.ranks_per_node or h.slots}" for h in job.hosts)
