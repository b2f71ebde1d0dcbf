"""Rule: lists the cases that could not be measured, grouped by the reason."""

import re

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Record, Result
from steelyard.statistics.results import cases

EVERY_VARIANT = True
NAMED = 4  # cases listed for each reason


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each benchmark and reason; it is serious if no case of the benchmark was measured."""
    reasons: dict[tuple[str, str], list[tuple[Result, str]]] = {}
    for result in evaluation.results:
        failed = [record for record in result.records if record.error]
        # A case is listed even if another launch of it succeeded.
        if failed:
            reason = _find_reason(failed[-1])
            alike = re.sub(r"\d+(\.\d+)?", "#", reason)  # reasons that differ only in numbers form one group
            reasons.setdefault((result.benchmark, alike), []).append((result, reason))
    return [_make_finding(evaluation, name, failed) for (name, _), failed in reasons.items()]


def _find_reason(record: Record) -> str:
    """Returns the evidence of the verdict, one line; the record itself may have pages of output."""
    evidence = next((one.text for one in record.verdict.evidence if one.kind == "error"), "") or record.error or ""
    return (evidence.strip().splitlines() or ["no reason was given"])[0]


def _make_finding(evaluation: Evaluation, name: str, failed: list[tuple[Result, str]]) -> Finding:
    total = [r for r in evaluation.results if r.benchmark == name]
    nothing = not any(r.metrics for r in total)
    more = [f"There are {len(failed) - NAMED} more."] if len(failed) > NAMED else []
    return Finding(
        "failed",
        "serious" if nothing else "notice",
        f"{len(failed)} of {len(total)} cases of {name} could not be measured: {failed[0][1]}",
        (*(f"{cases.describe(result)}." for result, _ in failed[:NAMED]), *more),
        "The program reported this reason. The record contains its full text.",
        advise(
            "Fix the problem that the reason names. Then continue the run, or start a new one: ", f"run --only {name}"
        ),
        name,
        effect=len(evaluation.results) / max(1, len(evaluation.results) - len(failed)),
    )
