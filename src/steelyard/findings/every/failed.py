"""Rule: lists the cases that could not be measured, grouped by the reason."""

import re

from steelyard.model import Evaluation, Finding, Result
from steelyard.programs import is_remark
from steelyard.statistics.results import cases

NAMED = 6  # cases listed for each reason
LONG = 300  # characters of a reason; the record contains the complete output


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each benchmark and reason; it is serious if no case of the benchmark was measured."""
    reasons: dict[tuple[str, str], list[Result]] = {}
    for result in evaluation.results:
        last = max(result.records, key=lambda r: (r.launch, r.attempt), default=None)
        errors = [r.error for r in result.records if r.error]
        # A case is listed even if another launch of it succeeded.
        if last is not None and errors:
            reasons.setdefault((result.benchmark, _kind(errors[-1])), []).append(result)
    return [_finding(evaluation, name, failed) for (name, _), failed in reasons.items()]


def _kind(reason: str) -> str:
    """Returns the reason without its numbers, so that similar reasons form one group."""
    return re.sub(r"\d+(\.\d+)?", "#", _short(reason).splitlines()[0] if reason.strip() else reason)


def _short(reason: str) -> str:
    """Returns how the program ended and the first line that it printed; other reasons unchanged."""
    report = re.match(r".*?: (the program .*?)\.\nThe command was:\n.*?\nIt said:\n(.*)", reason, re.DOTALL)
    if not report:
        return reason
    lines = [line.strip() for line in report.group(2).splitlines() if re.search(r"\w", line)]
    first = next((line for line in lines if not is_remark(line)), lines[0] if lines else "nothing")
    return f"{report.group(1)}, and printed: {first}"


def _finding(evaluation: Evaluation, name: str, failed: list[Result]) -> Finding:
    total = [r for r in evaluation.results if r.benchmark == name]
    nothing = not any(r.metrics for r in total)
    reason = next(x.error for x in failed[0].records if x.error) or ""
    short = " ".join(_short(reason).split())
    short = short if len(short) <= LONG else short[:LONG] + " …"
    more = f"and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return Finding(
        "failed",
        "serious" if nothing else "notice",
        f"{len(failed)} of {len(total)} cases of {name} could not be measured: {short}",
        tuple(filter(None, (*(f"{cases.describe(r)}." for r in failed[:NAMED]), more))),
        "The program reported this reason. The record contains its full text.",
        f"Fix the problem that the reason names. Then continue the run, or start a new one: steelyard run --only {name}",
        name,
        effect=len(evaluation.results) / max(1, len(evaluation.results) - len(failed)),
    )
