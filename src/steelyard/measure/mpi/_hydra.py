"""Hydra, the launcher of MPICH and of the MPIs that are based on it."""

from steelyard.measure.mpi import Job, ParameterFile, names, slots, within

# NOLOCAL: ranks of one host talk as if they were on two; the network layers below have shared memory of their own.
TCP = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}
VARIABLES = r"(MPIR_CVAR|MPIR_PARAM|MPICH|HYDRA)_\w+"
TRANSPORT_VARIABLES = (
    r"MPIR_CVAR_(NOLOCAL|NO_LOCAL|ODD_EVEN_CLIQUES|CH4_(NETMOD|SHM\w*)|NEMESIS_\w+)|MPICH_(NO_LOCAL|NOLOCAL)"
)

# Options of mpiexec: a variable that they set wins over the environment.
FILES = (
    ParameterFile(("$HYDRA_CONFIG_FILE", "$HOME/.mpiexec.hydra.conf", "$prefix/etc/mpiexec.hydra.conf"), wins=True),
)


def words(job: Job) -> list[str]:
    """Returns the command line after mpiexec."""
    hosts = ["-hosts", slots(job), *(["-ppn", "1"] if job.mapping == "cyclic" else [])] if job.hosts else []
    passed = ["-genvlist", ",".join(names(job))]
    return [
        "-n",
        str(job.ranks),
        "-bind-to",
        "none",
        *hosts,
        *within(job, "-wdir"),
        *passed,
        *job.extra,
        str(job.program),
    ]
