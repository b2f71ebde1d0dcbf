"""Rule: which results were disturbed, by what, and in which launches."""

from collections import Counter

from steelyard.evidence import sentence
from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.validity.verdict import name_disturbance
from steelyard.units import percent

# More than every second result: then the run says more about its neighbours than about the machine.
TOO_MANY = 0.5
NAMED = 5  # kinds, launches and cases that are listed; the report marks every one

# Of every kind that disturbs.
REMEDIES = {
    "competing load": "stop what else runs (top shows it), or keep cores free with cgroups or isolcpus",
    "steal": "ask for dedicated processors, or measure when the host is quiet",
    "throttled": "lift the container's processor quota (steelyard doctor)",
    "page faults": "free memory and switch swapping off while you measure",
    "core clock": "set the governor to performance and switch turbo off (steelyard doctor)",
    "shared core": "leave the other hardware threads idle, take a dedicated host, or wait until it is quiet (--wait 30m)",
    "shared memory": "measure while nobody else uses the memory (--wait 30m), or take a dedicated host",
    "slow messages": "measure while the network and the other hosts are quiet",
    "oversubscribed": "ask for at most as many threads as there are processors",
    "interrupts": "keep devices' interrupts off the measured cores (irqbalance, smp_affinity)",
    "bimodal": "pin the threads, and look for what alternates: page placement, clock, a neighbour",
    "drift": "let the machine come to a steady temperature first; measure longer",
}


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding on all of them; a good one where nothing was disturbed; none without results."""
    measured = [r for r in evaluation.results if r.verdict.level != "INVALID"]
    disturbed = [r for r in measured if r.verdict.level == "DISTURBED"]
    if not measured:
        return []
    if not disturbed:
        return [_quiet(evaluation, measured)]
    share = len(disturbed) / len(measured)
    clean = sum(1 for r in measured if r.verdict.level == "CLEAN")
    kinds = Counter(name_disturbance(r.verdict) or "an unnamed cause" for r in disturbed)
    causes = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common(NAMED))
    advice = [REMEDIES[kind] for kind, _ in kinds.most_common(3) if kind in REMEDIES]
    return [
        Finding(
            "disturbed",
            "serious" if share > TOO_MANY else "notice",
            f"{len(disturbed)} of {len(measured)} results ({percent(share)}) were disturbed: {causes}.",
            (*_examples(disturbed), *_launches(evaluation), *_benchmarks(measured)),
            "Something else used the processors, caches or memory while samples were taken; each such "
            "figure is marked wherever it is shown.",
            f"{'; '.join(advice) or 'Quieten the machine'}; then run again: steelyard run",
            # So much larger the part that can be relied on would be.
            effect=(clean + len(disturbed)) / max(1, clean),
            reach="figures",
        )
    ]


def _quiet(evaluation: Evaluation, measured: list[Result]) -> Finding:
    count = len(measured)
    repeated = sum(1 for r in evaluation.run.records if r.attempt > 1)
    left_out = sum(1 for r in measured if len(rests_on(r)) < len({x.launch for x in r.records}))
    unsettled = sum(1 for r in measured if r.verdict.level == "UNSETTLED")
    evidence = [f"Launches or attempts that were disturbed had been repeated {repeated} times."] if repeated else []
    if left_out:
        evidence.append(f"{left_out} results rest on fewer launches, since the disturbed ones were left out.")
    if unsettled:
        verb = "is" if unsettled == 1 else "are"
        evidence.append(f"{unsettled} of them {verb} UNSETTLED all the same: too little is known to rely on.")
    return Finding(
        "disturbed",
        "good",
        f"None of the {count} results was disturbed." if count > 1 else "The only result was not disturbed.",
        (
            *evidence,
            "Watched were competing load, steal, throttling, page faults, interrupts, the true clock, and the pace of cores "
            "and memory.",
        ),
        "The machine was quiet.",
        "",
        reach="figures",
    )


def _examples(disturbed: list[Result]) -> list[str]:
    """For each kind the first case and its own words."""
    first: dict[str, Result] = {}
    for result in disturbed:
        first.setdefault(name_disturbance(result.verdict) or "", result)
    return [
        f"{r.benchmark} {cases.describe(r)}: {sentence(r.verdict.evidence[0])}"
        for kind, r in list(first.items())[:NAMED]
        if kind
    ]


def _launches(evaluation: Evaluation) -> list[str]:
    """The launches with the greatest share of disturbed cases, of their last attempts."""
    last = {(r.launch, r.case): r for r in sorted(evaluation.run.records, key=lambda r: r.attempt)}
    all_, bad = (
        Counter(k[0] for k in last),
        Counter(k[0] for k, r in last.items() if r.verdict.level == "DISTURBED"),
    )
    worst = sorted(bad, key=lambda number: (-bad[number] / all_[number], number))[:NAMED]
    reported = ", ".join(f"launch {n}: {bad[n]} of {all_[n]} cases" for n in worst)
    return [f"Most affected were {reported}."] if reported else []


def _benchmarks(measured: list[Result]) -> list[str]:
    all_ = Counter(r.benchmark for r in measured)
    bad = Counter(r.benchmark for r in measured if r.verdict.level == "DISTURBED")
    return ["By benchmark: " + ", ".join(f"{name} {bad[name]} of {all_[name]}" for name in sorted(bad)) + "."]
