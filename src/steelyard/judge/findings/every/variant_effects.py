"""Rule: compares the variants of a run with the start without changes."""

from dataclasses import replace

from steelyard.judge.findings.every._alternatives import Question, find_alternatives
from steelyard.measure.plan import variants
from steelyard.model import UNCHANGED, Evaluation, Finding, Result
from steelyard.statistics.results import messages
from steelyard.statistics.results.cost import launches
from steelyard.statistics.results.variants import by_variant
from steelyard.statistics.samples.interval import Array

EVERY_VARIANT = True
SMALLEST = 0.05  # two launches of one MPI differ by some percent, since the placement of ranks and buffers differs


def select_samples(result: Result) -> list[Array]:
    """Returns the times of a result in each launch; none with more ranks than processors."""
    if "mpi" not in result.parameters:
        return launches(result)
    return [] if messages.oversubscribed(result) else messages.seconds(result)


_QUESTION = Question(
    rule="variant_effects",
    parameter="variant",
    smallest=SMALLEST,
    samples=select_samples,
    open="Steelyard cannot decide whether {b} changes the speed.",
    causes=(
        "The variables and options of the variant change how the programs communicate, or how they use the machine.",
        "The variant changes nothing that limits these programs, or they ignore its variables. Programs do not report "
        "unknown variables.",
    ),
    remedies=("Use the faster variant for programs like these cases, and name its variables with every figure.", ""),
)


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each variant, with its time over that of the first one by kernel."""
    usable = [r for r in evaluation.results if r.verdict.level != "INVALID" and select_samples(r)]
    first, *others = by_variant(usable) or [UNCHANGED]
    meanings = variants.meanings(evaluation.run.site.variants)
    called = {name: f"{name} ({meanings[name]})" for name in others if name in meanings}
    question = replace(_QUESTION, called=lambda name: called.get(name, name))
    return find_alternatives(evaluation, usable, [(first, name) for name in others], question)
