"""Rule: finds kernels whose check failed, so that they computed a wrong result."""

from collections.abc import Iterable

from steelyard.judge.findings.remedies import advise
from steelyard.measure.build import FLAGS
from steelyard.model import Attempted, Evaluation, Finding, Remedy, Result, Run
from steelyard.statistics.results import cases

EVERY_VARIANT = True
NAMED = 8  # cases that are listed


def select_wrong(results: Iterable[Result]) -> list[Result]:
    """Returns the results with a record whose check failed."""
    return [result for result in results if any(map(_is_wrong, result.attempts))]


def is_by_flags(run: Run, result: Result) -> bool:
    """Returns whether compiler flags of the user explain a wrong result: the check failed in all launches with these flags."""
    toolchain = run.toolchains.get(str(result.parameters.get("toolchain")))
    ended = [record for record in result.attempts if record.error is None]
    return toolchain is not None and toolchain.flags != FLAGS and all(map(_is_wrong, ended))


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one serious finding for each benchmark with a record whose check failed."""
    wrong = select_wrong(evaluation.results)
    return [_make_finding(evaluation, name, wrong) for name in sorted({result.benchmark for result in wrong})]


def _is_wrong(record: Attempted) -> bool:
    return record.error is None and not record.check.passed


def _make_finding(evaluation: Evaluation, name: str, all_wrong: list[Result]) -> Finding:
    wrong = [result for result in all_wrong if result.benchmark == name]
    records = [(result, record) for result in wrong for record in result.attempts if _is_wrong(record)]
    total = sum(len(r.attempts) for r in evaluation.results if r.benchmark == name)
    lines = dict.fromkeys(
        f"{cases.describe(result)}, launch {record.launch}: {record.check.detail or 'no detail was given'}"
        for result, record in records
    )
    cause, remedy = _explain_wrong(evaluation.run, name, wrong)
    claim = f"{len(records)} of {total} measurements of {name} computed a wrong result. Steelyard does not use their figures."
    return Finding("wrong_result", "serious", claim, tuple(lines)[:NAMED], cause, remedy, name)


def _explain_wrong(run: Run, name: str, wrong: list[Result]) -> tuple[str, Remedy]:
    """Returns the likely cause and the remedy."""
    if all(is_by_flags(run, result) for result in wrong):
        toolchains = (run.toolchains[str(result.parameters["toolchain"])] for result in wrong)
        flags = " and ".join(dict.fromkeys(f"'{toolchain.flags}'" for toolchain in toolchains))
        return (
            f"The check failed in every launch with the compiler flags {flags}. These flags allow the compiler to compute "
            "something else, or they show an error of the compiler.",
            advise("Measure without these flags: ", f"run --only {name}"),
        )
    return (
        "Faulty memory, an overclocked or failing processor, or a compiler error.",
        advise(
            "Try another compiler: ",
            f"run --only {name} --toolchain clang",
            then=". If the result stays wrong, test the memory (memtest86+ or stressapptest) and read the machine-check log "
            "(ras-mc-ctl --errors).",
        ),
    )
