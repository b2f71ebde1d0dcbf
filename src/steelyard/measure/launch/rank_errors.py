"""Reads the error channel of a parallel program: which rank died, and which rank is silent."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_NAMED = 6  # ranks or hosts in a sentence


@dataclass(frozen=True)
class Report:
    """A message of one rank: before MPI started ("here"), when its case took too long ("overdue"), and, if possible, at its
    end: after a fault ("crashed"), by its MPI ("aborted"), or on request ("ended")."""

    what: str
    rank: int
    host: str
    process: int


def explain(output: str, ranks: int | None, over_time: bool) -> str:
    """Returns a sentence on the rank that failed, from the error channel of a launch of `ranks`; "" if none is known.

    Ranks that wait report that when the time is over: a silent rank is frozen, cut off, or was never started. A rank that the
    launcher ends after the death of another rank reports that, too; the rank that died does not.
    """
    reports = list(_list_reports(output))
    here = {t.rank: t for t in reports if t.what == "here"}
    if not here or not ranks:
        return ""
    if missing := sorted(set(range(ranks)) - set(here)):
        names = name_some(list(map(str, missing)))
        places = name_some(sorted({t.host for t in here.values()}))
        return f"Rank{'s' * (len(missing) > 1)} {names} of {ranks} did not start. The other ranks started on {places}."
    if crashed := [t for t in reports if t.what == "crashed"]:
        return f"Rank {crashed[0].rank} on {crashed[0].host} (process {crashed[0].process}) crashed."
    if over_time:
        return _describe_silence(reports, here)
    dead = _find_dead_rank(output, reports, here)
    return f"Rank {dead.rank} on {dead.host} (process {dead.process}) died." if dead else ""


def _describe_silence(reports: list[Report], here: dict[int, Report]) -> str:
    overdue = {t.rank for t in reports if t.what == "overdue"}
    silent = sorted(set(here) - overdue)
    if overdue and silent:
        places = name_some([f"{r} on {here[r].host}" for r in silent])
        return (
            f"Rank {places} did not answer: it does not run any more, or its network connection is broken. The other ranks "
            "waited for it."
        )
    if overdue:
        return (
            "All ranks are running and wait for each other. Either a message was lost, or the case needs more time than its "
            "time limit."
        )
    return ""


def remove_reports(output: str) -> str:
    """Returns the text that the program and its launcher wrote."""
    return "\n".join(line for line in output.splitlines() if not line.startswith('{"steelyard":'))


def _list_reports(output: str) -> Iterator[Report]:
    for line in output.splitlines():
        if '{"steelyard":' not in line:
            continue
        try:
            # The launcher may have put its own mark before the line (srun: "2: ").
            report = json.loads(line[line.index('{"steelyard":') :])
            yield Report(str(report["steelyard"]), int(report["rank"]), str(report["host"]), int(report["process"]))
        except (ValueError, KeyError, TypeError):
            continue  # two ranks wrote at once: the line is lost


def _find_dead_rank(output: str, reports: list[Report], here: dict[int, Report]) -> Report | None:
    """Returns the only rank that ended without a message, or else the rank that the launcher names.

    MPICH's launcher kills all ranks at once and sometimes names one of those.
    """
    worded = {t.rank for t in reports if t.what in ("ended", "aborted")}
    wordless = [here[r] for r in sorted(here) if r not in worded]
    if worded and len(wordless) == 1:
        return wordless[0]
    # A launcher names the process of a rank only after a failure.
    named = set(map(int, re.findall(r"(?i)\bpid:?\s*(\d{1,18})\b", output)))
    return next((t for t in wordless if t.process in named), None)


def name_some(names: Sequence[str]) -> str:
    """Returns the names, or the first ones and how many follow: a job may have 65,536 ranks."""
    more = len(names) - MOST_NAMED
    return f"{', '.join(names[:MOST_NAMED])} and {more} more" if more > 1 else ", ".join(names)
