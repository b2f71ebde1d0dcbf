"""Open MPI, and what is made of it."""

import os

from steelyard.measure.mpi import Flavour, Job, ParameterFile, names, slots, within

_YIELD = "OMPI_MCA_mpi_yield_when_idle"
_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}


def _declare_parameter_file(prefix: str, name: str, *earlier: str, wins: bool = False) -> ParameterFile:
    """A file of parameters in the folders of an own build and of distributions; files in `earlier` places win."""
    return ParameterFile((*earlier, f"$prefix/etc/{name}", f"/etc/openmpi*/{name}"), f"{prefix}{{}}", wins)


def words(job: Job) -> list[str]:
    """Returns the command line. Since version 5, mpiexec comes from PRRTE, whose option for more ranks than slots differs."""
    order = "node" if job.mapping == "cyclic" else "slot"
    major = job.mpi.version.partition(".")[0]
    prrte = int(major) >= 5 if major.isdigit() else True
    placed = ["--map-by", f"{order}:OVERSUBSCRIBE"] if prrte else ["--map-by", order, "--oversubscribe"]
    hosts = [*(["--host", slots(job)] if job.hosts else []), *within(job, "-wdir")]
    passed = [word for name in names(job) for word in ("-x", name)]
    # mpirun lets waiting ranks give up their processor if there are more ranks than slots; it takes those of `hosts` for
    # processors.
    crowded = job.hosts and job.cpus and job.ranks > len(job.hosts) * len(set(job.cpus)) and _YIELD not in os.environ
    waiting = ["--mca", _YIELD.removeprefix("OMPI_MCA_"), "1"] if crowded else []
    return ["-n", str(job.ranks), "--bind-to", "none", *placed, *hosts, *passed, *waiting, *job.extra, str(job.program)]


flavour = Flavour(
    name="openmpi",
    title="Open MPI",
    question="--showme:version",
    answer=r"Open MPI v?([\w.]+)",
    words=words,
    transports={"no shared memory": _TCP, "tcp": _TCP},
    variables=r"(OMPI_MCA|PRTE|PMIX_MCA|OPAL|OSHMEM)_\w+",
    transport_variables=r"OMPI_MCA_(pml|btl|mtl|bml|shmem)|OMPI_MCA_(btl_(sm|vader)|smsc|shmem|pml_ucx)_\w+",
    files=(
        _declare_parameter_file("OMPI_MCA_", "openmpi-mca-params-override.conf", wins=True),
        _declare_parameter_file(
            "OMPI_MCA_", "openmpi-mca-params.conf", "$OMPI_MCA_mca_base_param_files", "$HOME/.openmpi/mca-params.conf"
        ),
        _declare_parameter_file("PRTE_MCA_", "prte-mca-params.conf", "$HOME/.prte/mca-params.conf"),
        _declare_parameter_file("PMIX_MCA_", "pmix-mca-params.conf", "$HOME/.pmix/mca-params.conf"),
    ),
    as_root={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    meets="pmix",
    package="openmpi>=5",  # below 5 it is a placeholder
    shmem=True,
    eager="OMPI_MCA_btl_tcp_eager_limit and OMPI_MCA_btl_sm_eager_limit (version 4: btl_vader_eager_limit)",
    shared_memory="Open MPI must have the component vader or sm (ompi_info | grep btl), and OMPI_MCA_btl must not exclude it",
    waiting=f"{_YIELD}=1 makes waiting ranks of Open MPI give up their processor (mpirun sets it if there "
    "are more ranks than slots)",
    verbose="OMPI_MCA_pml_base_verbose=10",
)
