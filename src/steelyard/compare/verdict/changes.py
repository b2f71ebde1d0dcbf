"""What to change first, and what it would bring: the findings of a run that have a remedy and an effect."""

from collections.abc import Iterable, Iterator, Mapping

from steelyard.compare.verdict.subject import FINDING, Sentence, gain_in_words
from steelyard.model import Finding
from steelyard.model.scalars import Reach

MOST = 2  # changes for each reader
LEAST = 1.02  # a smaller effect is no reason for a change

# For each rule of a finding: the change, and what becomes faster. Rules on loops of Steelyard alone, such as `roof`, are not
# here: nobody runs these loops.
CHANGES: Mapping[str, tuple[str, str]] = {
    "efficiency": ("Check the memory modules and the placement of threads", "Triad could be"),
    "huge_pages": ("Use huge pages", "random accesses become"),
    "remote_penalty": ("Keep threads and their memory on the same node", "accesses become"),
    "container": ("Raise the processor quota of the control group", "programs on all processors become"),
    "shared_core": ("Use one thread for each core", "the thread becomes"),
    "slow_node": ("Repair or avoid the slow node", "programs that wait for it become"),
    "slow_transport": ("Set up the fast transport of the MPI", "messages become"),
    "two_way": ("Check the link for full duplex", "messages in both directions become"),
    "partners_spread": ("Check the link of the slowest partner", "messages to it become"),
    "noise": ("Stop background processes", "programs with many ranks become"),
    "mpi_compared": ("Use the faster MPI for each operation", "messages become"),
    "busy_waiting": ("Start at most one rank for each processor", "messages become"),
    "star_master": ("Do not send all messages through one rank", "the exchange becomes"),
    "protocol_switch": ("Avoid message sizes just above the eager limit", "these messages become"),
    "vectors": ("Let the compiler use full vectors", "some loops become"),
    "vector_clock": ("Use narrower vectors where few loops need them", "other code becomes"),
    "compiler_bound": ("Let the compiler reorder sums", "sums of data in a cache become"),
    "compilers": ("Choose the faster compiler for each loop", "a loop becomes"),
    "write_allocate": ("Choose the faster kind of stores", "loops that write become"),
    "threads_or_ranks": ("Use the fastest division into ranks and threads", "a program becomes"),
    "openmp": ("Use the faster kind of threads", "a program becomes"),
    "one_sided": ("Use the faster kind of communication", "a program becomes"),
    "mixed_mode": ("Use threads or the device alone", "a kernel becomes"),
    "bound": ("Relieve the resource that limits the programs", "a program becomes"),
}


def suggest(findings: Iterable[Finding], reach: Reach) -> Iterator[Sentence]:
    """Yields the first changes of this reach, the most important first, each rule once."""
    used: set[str] = set()
    for finding in findings:
        if is_change(finding) and finding.reach == reach and finding.rule not in used and len(used) < MOST:
            used.add(finding.rule)
            change, what = CHANGES[finding.rule]
            text = f"{change}: {what} {gain_in_words(finding.effect or 1)}."
            yield Sentence(text=text, evidence=(FINDING + finding.rule,))


def is_change(finding: Finding) -> bool:
    """Returns whether the finding names a change of the machine or of programs, with its effect."""
    return (
        finding.rule in CHANGES
        and finding.level in ("serious", "notice")
        and finding.about == "machine"
        and (finding.effect or 0) > LEAST
    )
