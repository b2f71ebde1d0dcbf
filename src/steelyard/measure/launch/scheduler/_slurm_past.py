"""Reads when and where a Slurm job ran: from its accounting (sacct), or from the controller for recent jobs."""

import re
from collections.abc import Callable, Iterator

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.launch.scheduler import Answer, Ask, Ran
from steelyard.measure.machine import hostlist

# Seconds since 1970: Slurm's own form has no time zone.
_EPOCH = ("env", "SLURM_TIME_FORMAT=%s")
_SACCT = (*_EPOCH, "sacct", "-X", "-P", "-n", "-o", "JobID,Start,End,NodeList", "-j")
_SCONTROL = (*_EPOCH, "scontrol", "show", "job", "--oneliner")
_JOB = re.compile(r"[0-9]{1,10}([_+][0-9]{1,10})?")
_ALIVE = ("RUNNING", "SUSPENDED", "STOPPED")  # their stated end is the time limit


def list_runs(job: str, now: float, ask: Ask) -> tuple[Ran, ...]:
    """Returns the runs of each task of an array on each host. UsageError for a wrong number, MachineFailed if unknown."""
    if not _JOB.fullmatch(job):
        raise UsageError(
            f"'{job}' (given by --job) is not the number of a Slurm job. Give a number such as 12, 12_3 or 12+1."
        )
    silent = []
    for words, read in ((_SACCT, _read_sacct), (_SCONTROL, _read_scontrol)):
        done = ask([*words, job], "")
        if runs := _read_past_jobs(done, now, read):
            return runs
        silent.append(f"{words[len(_EPOCH)]} {_describe_answer(done)}")
    raise MachineFailed(
        f"Slurm does not report when and where job {job} ran: {'; '.join(silent)}. "
        "Use a machine on which Slurm's commands work, or give the period with --from and --to."
    )


def _read_past_jobs(done: Answer, now: float, read: Callable[[str], Iterator[tuple[str, str, str]]]) -> tuple[Ran, ...]:
    if done.returncode != 0:
        return ()
    runs = []
    for begin, end, nodes in read(done.stdout):
        if begin.isdigit() and float(begin) < now:  # a waiting job has an expected start in the future, or none
            ended = min(float(end), now) if end.isdigit() else now
            try:
                runs += [Ran(host, float(begin), ended) for host in hostlist.expand(nodes)]
            except ValueError as error:
                raise MachineFailed(f"Slurm's answer cannot be read: {error}.") from None
    return tuple(runs)


def _read_sacct(output: str) -> Iterator[tuple[str, str, str]]:
    for line in output.splitlines():
        fields = line.split("|")
        if len(fields) == 4 and fields[3] not in ("", "None assigned"):
            yield fields[1], fields[2], fields[3]


def _read_scontrol(output: str) -> Iterator[tuple[str, str, str]]:
    for line in output.splitlines():
        fields = dict(re.findall(r"(?:^|\s)([\w/:]+)=(\S*)", line))
        nodes = fields.get("NodeList", "")
        if nodes not in ("", "(null)"):
            end = "" if fields.get("JobState") in _ALIVE else fields.get("EndTime", "")
            yield fields.get("StartTime", ""), end, nodes


def _describe_answer(done: Answer) -> str:
    words = next((line for line in done.stderr.splitlines() if line.strip()), "").strip().rstrip(".")
    if done.returncode == 0:
        return "has no time for it"
    return f"prints '{words}'" if words else f"ended with exit code {done.returncode}"
