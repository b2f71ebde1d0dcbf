"""The findings of one run agree with each other, and their remedies fit the machine: its settings, and the time of each run."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import pytest
import test_findings as rules

import builders
import report_fixture
from builders import evaluation, machine, triad
from golden_runs import copied
from steelyard.judge import findings
from steelyard.judge.evaluation import evaluate
from steelyard.judge.findings import disturbances, doctor, durations
from steelyard.judge.findings.remedies import advise, describe, write_command
from steelyard.measure.plan import estimate
from steelyard.model import Core, Evaluation, Finding, Machine, Remedy, Setting

# Two statements that cannot both be right about one run.
OPPOSED = (
    ("issued additions at their full rate", r"shared core \(\d|issued fewer additions per cycle than they can"),
    (
        "None of the .* was disturbed|The only result .*was not disturbed",
        r"were disturbed: |issued fewer additions per cycle than they can",
    ),
    ("clock was the same before and after", r"clock changed during the run|core clock \(\d"),
    ("measured the memory, not a cache", "may come from a cache|measured a cache|bandwidth still falls"),
    ("No node|No rank", "is slow: it takes|takes .* times as long as node"),
    (
        "are the same machine",
        "The cause is in this node alone: its network card|one of several cables|Between two hosts, ",
    ),
    ("Wide vectors do not reduce the clock", "Wide vectors reduce the clock by"),
    (
        r"Threads hide the latency of ([^:]*)",
        r"Threads hardly hide the latency of {0}|Threads hide only a part of the latency of {0}",
    ),
    ("The page size has little effect: ([^.]*) costs", "With small pages, {0} costs"),
)


def has(name: str) -> Callable[[Machine], bool]:
    return lambda here: any(a.name == name and a.level in ("serious", "notice") for a in doctor.examine(here))


# Words of a remedy, and what the machine must have for them.
NEEDS: tuple[tuple[str, Callable[[Machine], bool]], ...] = (
    ("governor", has("governor")),
    ("frequency limit", has("frequency limit")),
    ("[Tt]urbo", has("turbo")),
    ("--cpus|processor quota", has("processor quota")),
    ("without --memory", has("memory limit")),
    ("swapped pages", has("swap")),
    ("second hardware thread", lambda here: any(len(core.cpus) > 1 for core in here.cores)),
    ("guests|owner of the host|dedicated host", lambda here: here.setting("hypervisor").value not in (None, "none")),
    ("doctor shows", lambda here: any(a.command and a.level in ("serious", "notice") for a in doctor.examine(here))),
    ("the other hosts", lambda here: len(here.hosts) > 1),
)

VIRTUAL = (Setting("hypervisor", "kvm", "/proc/cpuinfo"),)
SERVER = (
    Setting("hypervisor", "none", "/proc/cpuinfo"),
    Setting("governor", "powersave", "/sys/governor"),
    Setting("turbo", "on", "/sys/no_turbo"),
    Setting("swap_used", "1 GiB", "/proc/swaps"),
)


def machines() -> Iterable[Machine]:
    """A machine without any setting, a virtual one, and a server with two hardware threads for each core."""
    yield machine(settings=())
    yield machine(settings=VIRTUAL)
    cores = tuple(Core(n, 0, 0, (n, n + 4)) for n in range(4))
    yield replace(machine(settings=SERVER), cores=cores)


def disturbed(*kinds: str) -> Evaluation:
    """A run that each of these kinds disturbed, with the readings of a shared core."""
    results = [
        triad(1e10, threads=n + 1, level="DISTURBED", evidence=(f"{kind}: in 9 of 30 samples.",))
        for n, kind in enumerate(kinds)
    ]
    made = evaluation(results)
    records = [
        replace(r, surroundings=builders.seen(r.surroundings, samples={"issued": [2.6]})) for r in made.run.records
    ]
    return replace(made, run=replace(made.run, records=tuple(records * 10)))


def judged() -> Iterable[tuple[str, Evaluation]]:
    """Every fixture of a rule on its own machine; runs with each disturbance on each machine; the golden runs."""
    yield from ((name, findings.judge(make())) for name, make in rules.SPEAKS.items())
    kinds = (("shared core", "core clock", "throttled"), ("page faults", "slow messages", "shared memory"))
    for number, here in enumerate(machines()):
        for three in kinds:
            made = disturbed(*three)
            yield f"{three} {number}", findings.judge(replace(made, run=replace(made.run, machine=here)))
        moving = rules.clocks(2.6e9, 2.6e9, 2.5e9, 2.4e9, 2.3e9)
        yield f"clock {number}", findings.judge(replace(moving, run=replace(moving.run, machine=here)))
    yield "report", findings.judge(report_fixture.evaluation())
    yield from ((name, evaluate(copied(name))) for name in ("run-format-1", "run-format-2"))


@cache
def everything() -> dict[str, Evaluation]:
    return dict(judged())


def statements(finding: Finding) -> str:
    return " ".join((finding.seen, *finding.evidence, finding.cause))


def contradictions(members: Iterable[Finding]) -> Iterable[tuple[str, str]]:
    texts = [statements(finding) for finding in members]
    for one, other in OPPOSED:
        for match in filter(None, (re.search(one, text) for text in texts)):
            form = other.format(*map(re.escape, match.groups())) if match.groups() else other
            yield from ((match[0], against[0]) for text in texts if (against := re.search(form, text)))


def unfit(members: Iterable[Finding], here: Machine) -> Iterable[tuple[str, str]]:
    for finding in members:
        yield from (
            (finding.rule, words)
            for words, there in NEEDS
            if re.search(words, describe(finding.remedy)) and not there(here)
        )


def untimed(members: Iterable[Finding]) -> Iterable[tuple[str, str]]:
    """The runs that a remedy advises without their time: in its text, or as a command without seconds."""
    for finding in members:
        text, command = finding.remedy, ""
        if isinstance(text, Remedy):
            text, command = f"{text.text}{text.then}", write_command(text)
        if re.search(r"steelyard (?:run|scale)\b(?! on each)", text) or (command and "(takes about" not in command):
            yield finding.rule, describe(finding.remedy)


def test_no_two_findings_of_a_run_contradict_each_other() -> None:
    assert {name: found for name, of in everything().items() if (found := list(contradictions(of.findings)))} == {}


def test_a_remedy_names_only_settings_that_the_machine_has() -> None:
    found = {name: list(unfit(of.findings, of.run.machine)) for name, of in everything().items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_every_run_that_a_remedy_advises_states_how_long_it_takes() -> None:
    # How long a run takes on a machine that only other tools measured is unknown.
    found = {name: list(untimed(of.findings)) for name, of in everything().items() if not of.run.imported}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("kind", ["shared core", "core clock"])
def test_the_remedy_differs_with_the_machine(kind: str) -> None:
    assert len({disturbances.suggest_remedy(kind, here) for here in machines()}) == 3


def test_a_contradiction_and_an_unfit_remedy_are_found() -> None:
    """The old sentences: the checks of this file see them."""
    quiet = rules.named("shared_core", "good")
    quiet = replace(quiet, seen="The measured cores issued additions at their full rate: 3.9 per cycle (median).")
    loud = replace(rules.named("disturbed"), seen="40 of 40 results (100 %) were disturbed: shared core (40).")
    assert list(contradictions([quiet, loud]))
    advice = replace(loud, remedy=advise("Set the governor to performance. Then run again: ", "run --preset full"))
    assert [words for _, words in unfit([advice], machine(settings=VIRTUAL))] == ["governor"]
    assert list(untimed([advice]))
    assert not list(untimed(durations.state([advice], evaluation([triad(1e10)]))))
    assert list(untimed([replace(loud, remedy="Run again: steelyard run")]))


def test_a_remedy_is_planned_once_for_equal_hosts_and_again_for_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned: list[str] = []
    monkeypatch.setattr(durations, "estimate", lambda *given: planned.append(given[1].host) or estimate(*given))
    durations._estimate.cache_clear()
    advice = replace(rules.named("disturbed"), remedy=advise("Run again: ", "run --preset full"))
    hosts = [machine(host=name, cores=cores) for name, cores in (("a", 4), ("b", 4), ("c", 8))]
    stated = [durations.state([advice], evaluation([triad(1e10)], host))[0].remedy for host in hosts]
    assert planned == ["a", "c"]
    assert stated[0] == stated[1] != stated[2]


def test_a_remedy_names_the_folder_of_a_benchmark_from_outside() -> None:
    made = evaluation([triad(1e10)])
    made = replace(made, run=replace(made.run, paths=("/home/u/my mine",)))
    asked = [
        replace(rules.named("disturbed"), remedy=advise("Again: ", f"run --only {name}"))
        for name in ("memory", "my.own")
    ]
    told = [describe(finding.remedy) for finding in durations.state(asked, made)]
    assert [text.partition(" (takes")[0] for text in told] == [
        "Again: steelyard run --only memory", "Again: steelyard run --only my.own --path '/home/u/my mine'",
    ]  # fmt: skip


def test_only_one_of_the_findings_that_matter_most_is_about_the_measurement() -> None:
    measurement = [replace(rules.named(f"m{n}", "serious", 9.0), about="measurement") for n in range(4)]
    others = [rules.named(f"rule {n}", effect=2.0) for n in range(6)]
    chosen = [kind.finding.about for kind in findings.select_foremost([*measurement, *others])]
    assert (len(chosen), chosen.count("measurement")) == (5, 1)


def test_open_questions_are_one_line() -> None:
    asked = [replace(rules.named(f"q{n}", "undecided"), cause="The intervals are too wide.") for n in range(2)]
    assert findings.describe_undecided(asked) == "2 questions could not be answered: the intervals are too wide."
    asked.append(replace(asked[0], cause="A limit of the machine is unknown."))
    assert findings.describe_undecided(asked) == (
        "3 questions could not be answered: the intervals are too wide (2); a limit of the machine is unknown (1)."
    )
    assert findings.group_by_rule(asked) == ()
    assert findings.describe_undecided([]) == ""


def test_an_advice_states_the_time_of_its_run() -> None:
    again = advise("Measure again (on a quiet machine): ", "run --only memory.stream", then=". Then compare both runs.")
    assert describe(replace(again, seconds=20.0)) == (
        "Measure again (on a quiet machine): steelyard run --only memory.stream (takes about 20 s). Then compare both runs."
    )
