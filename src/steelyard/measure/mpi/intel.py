"""Intel MPI, started by its own Hydra. Run for real on one machine; between machines from its documentation."""

from itertools import groupby

from steelyard.measure.mpi import Flavour, Job, ParameterFile, names, places, within


def words(job: Job) -> list[str]:
    """Returns the command line after mpiexec. -ppn ranks go to a host, then so many to the next one: with 1 round the hosts.

    Where the hosts have different numbers of places each stretch of ranks is an argument set of its own: 'a:2' would be the name
    of a host (observed with 2021.18).
    """
    passed = ["-genvlist", ",".join(names(job))]
    ending = [*within(job, "-wdir"), *job.extra, str(job.program)]
    if not job.hosts:
        return ["-n", str(job.ranks), *passed, *ending]
    room = {job.ranks_per_node or host.slots for host in job.hosts}
    if len(room) == 1:
        count_per_host = 1 if job.mapping == "cyclic" else max(room)
        hosts = ["-ppn", str(count_per_host), "-hosts", ",".join(host.name for host in job.hosts)]
        return ["-n", str(job.ranks), *hosts, *passed, *ending]
    sets = [[str(len(list(ranks))), "-host", name] for name, ranks in groupby(places(job))]
    line = [word for count, *host in sets for word in (":", "-n", count, *host, *ending)]
    return [*passed, *line[1:]]


flavour = Flavour(
    name="intelmpi",
    title="Intel MPI",
    question="-v",
    # Some releases forgot to put their version in (2024: "@IMPI_OFFICIALVERSION@").
    # Up to 2019 a release has updates: "2019 Update 9" is 2019.9.
    answer=r"Intel\(R\) MPI Library(?: \D*(\d[\d.]*)(?:,? Update (\d+))?)?",
    words=words,
    transports={"no shared memory": {"I_MPI_FABRICS": "ofi"}, "tcp": {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}},
    variables=r"I_MPI_\w+",
    transport_variables=r"I_MPI_(FABRICS|FABRICS_LIST|DEVICE|SHM\w*|OFI_PROVIDER)",
    files=(ParameterFile(("$HOME/.mpiexec.conf", "$prefix/etc/mpiexec.conf"), wins=True),),
    # Inside of an allocation -ppn and -hosts count only where the scheduler's own placement does not.
    environment={"I_MPI_PIN": "0", "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"},
    wrappers=("mpicxx", "mpiicpx"),
    starters=("mpiexec", "mpiexec.hydra", "mpirun"),
    meets="pmi2",
    shared_memory="I_MPI_FABRICS must contain shm",
    waiting="I_MPI_THREAD_YIELD=3 with I_MPI_THREAD_SLEEP makes Intel MPI sleep between two checks for messages",
    verbose="I_MPI_DEBUG=5",
)
