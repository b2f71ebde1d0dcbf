"""Finds the cause of a failed launch in the output of the program or launcher, and skips messages on what followed."""

import re
from collections.abc import Iterator, Mapping

from steelyard.measure.mpi import is_steering

_LONG = 200  # letters of a cause
_RULE = re.compile(r"^[-=*]{20,}\s*$", re.MULTILINE)  # Open MPI and Hydra put their messages between such lines
# Messages that name no cause.
_FOLLOWS = re.compile(
    r"noticed that (the job|process)|exited due to process|exited on signal|exited improperly|MPI_ABORT was invoked|"
    r"[Pp]rimary job +terminated|It looks like (MPI_INIT|orte_init|MPI_Init)|process killed|BAD TERMINATION|CLEANING UP REMAINING"
    r"|unable to reliably start|ORTE has lost communication|YOUR APPLICATION TERMINATED|non-zero status|PML add procs failed"
)
_FACT = re.compile(
    r"^\s*((?:Framework|Component|Value|Message|Error|Local host|Local device|Host|Node|Executable|"
    r"[a-z_]+)):\s+(\S.*)$"
)
# Single lines, the most specific first. The last entry of MPICH's error stack is the cause.
_LINES = tuple(
    re.compile(line)
    for line in (
        r"error while loading shared libraries: .*",
        r"symbol lookup error: .*|version `\S+' not found.*",
        r"^ssh: .*|Host key verification failed.*|^Permission denied \(.*|.*Could not resolve hostname.*",
        r"\(EE\).*|\[mpiexec@\S+\] .*(?:unable|cannot|unrecogni[sz]ed|could not|not found|error).*",
        r"srun: error: .*|slurmstepd: error: .*|flux-run: ERROR: .*",
        r".*No space left on device.*|.*Cannot allocate memory.*|.*[Oo]ut of memory.*|.*Bus error.*|.*Illegal instruction.*",
        r".*(?:[Ee]xec format error|command not found).*",
        r".*(?:No such file or directory|Permission denied).*",
        r"Fatal error in .*|Abort\(\d+\) .*",
        r"terminate called .*|what\(\): .*",
    )
)
_STACK = re.compile(r"^\w+\(\d+\)\.*: (\S.*)$", re.MULTILINE)
_SHOWN = 3  # variables that a sentence names


def find_cause(output: str) -> str:
    """Returns the sentence in an output that names the cause; "" if none is recognised."""
    blocks = [block for block in _RULE.split(output)[1:] if block.strip() and not _FOLLOWS.search(block)]
    messages = [block for block in blocks if re.match(r"\s*[A-Za-z].*\w \w", block) and not _STACK.search(block)]
    errors = [m for m in messages if not m.lstrip().startswith("WARNING")] or messages
    if errors:
        warned = next((m for m in messages if m.lstrip().startswith("WARNING") and m is not errors[0]), "")
        return _write_sentence(errors[0]) + (f" Before: {_write_sentence(warned)}" if warned else "")
    if stack := _STACK.findall(output):
        return _cut_text(stack[-1])
    for form in _LINES:
        for line in output.splitlines():
            if not line.startswith("{") and (match := form.search(line)):
                return _cut_text(match[0].strip())
    return ""


def _write_sentence(block: str) -> str:
    """Returns the first sentence of a message, with the facts that follow in lines ("Component: nosuch")."""
    first = re.split(r"\n[^\S\n]*\n", block.strip(), maxsplit=1)[0]
    words = " ".join(line.strip() for line in first.splitlines() if not _FACT.match(line))
    text = re.split(r"(?<=[.!])\s+(?=[A-Z*])", words, maxsplit=1)[0]
    facts = [f"{name}: {value.strip()}" for name, value in _list_facts(block)]
    return _cut_text(text) + (f" ({'; '.join(facts[:4])})" if facts else "")


def _list_facts(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        if (fact := _FACT.match(line)) and fact[1] not in ("Host", "Local host", "Node"):
            yield fact[1], fact[2]


def _cut_text(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]} …"


def name_presets(output: str, environment: Mapping[str, str], started: bool) -> str:
    """Returns a clause on the user's variables that may be the cause; "" if there are none.

    `environment` is the user's. If the ranks have `started`, only variables count that the output names.
    """
    names = [name for name in sorted(environment) if is_steering(name) and not (started and name not in output)]
    # LD_PRELOAD is a cause only if the output mentions a preload.
    if environment.get("LD_PRELOAD") and "preload" in output.lower():
        names.append("LD_PRELOAD")
    # A variable whose parameter the output speaks of comes first: "btl" of OMPI_MCA_btl.
    names.sort(key=lambda name: name.split("_", 2)[-1] not in output)
    if not names:
        return ""
    shown = ", ".join(f"{name}={environment[name][:80]}" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"your environment contains {shown}{more}: remove this with unset and try again"
