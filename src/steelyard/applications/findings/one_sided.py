"""Rule: compares one-sided communication (MPI or OpenSHMEM) with messages in programs that have both"""

from steelyard.applications.benchmarks.application.npb import results as npb
from steelyard.applications.variants import call_of, compare_variants, warn_of_doubt
from steelyard.model import Evaluation, Finding
from steelyard.model.units import percent
from steelyard.model.words import find_words
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.alternatives import SMALLEST, Rivals, compare_rivals

ONE_SIDED = ("rma", "shmem")


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs, without oversubscribed results and without runs that are too short."""
    timed = [r for r in npb.select_results(evaluation.results) if applications.timed(r)]
    usable = [r for r in timed if applications.workers(r) > 1 and not messages.oversubscribed(r)]
    # Pairs of results with the same class and number of ranks: the program with messages comes first.
    rivals = compare_rivals([pair for model in ONE_SIDED for pair in cases.pair(usable, "model", "mpi", model)])
    by_model = {m: [r for r in rivals if applications.model(r.second) == m] for m in ONE_SIDED}
    models = [m for m in ONE_SIDED if by_model[m]]
    if not models:
        return []
    names = " or ".join(find_words("model", model) or model for model in models)
    return compare_variants(
        "one_sided",
        evaluation,
        rivals,
        _describe_rivals,
        question=f"Steelyard cannot decide whether {names} is faster than MPI messages.",
        claim=" ".join(_claim(m, by_model[m]) for m in models),
        different=(
            "Writing into the memory of another rank needs no matching of messages, but each exchange needs a separate "
            "synchronisation. Many MPIs implement one of them with the other.",
            "Use the faster variant for such exchanges. The difference is valid for this MPI and this transport only.",
        ),
        alike="The programs mostly compute, or both variants copy the data in the same way.",
    )


def _claim(model: str, pairs: list[Rivals]) -> str:
    """Returns for example 'OpenSHMEM is up to 1.12 (1.08 to 1.16) times as fast as MPI messages.'"""
    name, calls = find_words("model", model) or model, [p.comparison.call for p in pairs]
    faster, slower = calls.count("FASTER"), calls.count("SLOWER")
    best = min(pairs, key=lambda p: p.comparison.ratio)
    worst = max(pairs, key=lambda p: p.comparison.ratio)
    rest = f"in {max(faster, slower)} of {len(pairs)} cases" if len(pairs) > 1 else "in the only case"
    if faster and slower:
        claim = f"{name} is faster than MPI messages in {faster} of {len(pairs)} cases and slower in {slower}."
    elif faster:
        claim = f"{name} is up to {best.speed} times as fast as MPI messages. It is certainly faster {rest}."
    elif slower:
        claim = f"{name} is only {worst.speed} times as fast as MPI messages. It is certainly slower {rest}."
    elif "UNCLEAR" in calls:
        claim = f"The intervals are too wide to compare {name} with MPI messages."
    else:
        where = f" in any of {len(pairs)} cases" if len(pairs) > 1 else ""
        claim = f"{name} and MPI messages do not differ by more than {percent(SMALLEST)}{where}."
    return claim + warn_of_doubt(pairs)


def _describe_rivals(pair: Rivals) -> str:
    named = applications.describe_parameters(pair.second)
    return f"{pair.second.benchmark} ({named}): {pair.speed} times as fast as with MPI messages ({call_of(pair)})."
