"""Rule: finds kernels whose check failed, so that they computed a wrong result."""

from steelyard.model import Evaluation, Finding
from steelyard.statistics.results import cases

NAMED = 8  # cases that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one serious finding for each benchmark with a record whose check failed."""
    findings = []
    for name in sorted({r.benchmark for r in evaluation.results}):
        wrong = [
            (result, record)
            for result in evaluation.results
            if result.benchmark == name
            for record in result.records
            if record.error is None and not record.check.passed
        ]
        if not wrong:
            continue
        total = sum(len(r.records) for r in evaluation.results if r.benchmark == name)
        lines = dict.fromkeys(
            f"{cases.describe(result)}, launch {record.launch}: {record.check.detail or 'no detail was given'}"
            for result, record in wrong
        )
        findings.append(
            Finding(
                "wrong_result",
                "serious",
                f"{len(wrong)} of {total} measurements of {name} computed a wrong result. Steelyard does not use their figures.",
                tuple(lines)[:NAMED],
                "Faulty memory, an overclocked or failing processor, or a compiler error.",
                f"Try another compiler: steelyard run --only {name} --toolchain clang. If the result stays wrong, "
                "test the memory (memtest86+ or stressapptest) and read the machine-check log (ras-mc-ctl "
                "--errors).",
                name,
            )
        )
    return findings
