"""May a cluster be accepted? Each rule is passed, failed or undecided, with its evidence and with what to run next."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.compare.side import Side
from steelyard.fleet.checks import Check, Outcome
from steelyard.fleet.nodes import Fleet, NodeFigure, list_times, name_node
from steelyard.fleet.printing import name_figure
from steelyard.model.units import percent, significant
from steelyard.model.words import joined, plural
from steelyard.show.report.summary import Summary
from steelyard.statistics.difference.acceptance import Decision, decide_promised
from steelyard.statistics.difference.slow_nodes import ENOUGH
from steelyard.statistics.results.identity import identity

MOST_NAMED = 6  # nodes in a sentence
GATE_HOURS = 1 / 60  # of one gate
WRONG = "wrong_result"  # the finding on results that are wrong
WEEKS = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A question of the acceptance. `nodes` do not pass it, or are undecided. `next` says what to do; "" if nothing is left."""

    name: str
    outcome: Outcome
    text: str
    nodes: tuple[str, ...] = ()
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """All rules, and the answer: failed if one is, else undecided if one is. `slow` is the slowness that must be found.

    `worst` is the slowest node by its main figures, with its time over that of its peers; `spread` the relative standard
    deviation of equal nodes in the main figure in which they differ most. `node_hours` is the price of the measurements, and
    `defects` the number of nodes that do not pass.
    """

    slow: float
    rules: tuple[Rule, ...]
    worst: tuple[str, float] | None
    spread: float | None
    node_hours: float | None
    defects: int

    @property
    def answer(self) -> Outcome:
        """Returns the outcome of all rules together."""
        outcomes = {rule.outcome for rule in self.rules}
        return next((one for one in ("failed", "undecided") if one in outcomes), "passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user asks: the slowness that must be found (`slow`, a share), and values that were promised (`expect`).

    `failed` has the hosts without a run, each with the reason. `again` is the command that measures each node once more.
    """

    slow: float
    expect: Sequence[str] = ()
    failed: Mapping[str, str]
    again: str


def judge(fleet: Fleet, read: Sequence[tuple[Summary, Side]], asked: Asked) -> Acceptance:
    """Applies all rules. `read` are the runs of the nodes. UsageError for a promised value of an unknown figure."""
    rules = [
        _judge_measured(fleet, asked),
        _judge_results(read),
        _judge_equality(fleet, asked),
        *(_judge_promises(read, asked) if asked.expect else ()),
        *_judge_clusters(fleet),
    ]
    main = [figure for figure in fleet.figures if figure.main]
    places = [(node.name, node.ratio) for figure in main for node in figure.sweep.nodes]
    return Acceptance(
        slow=asked.slow,
        rules=tuple(rules),
        worst=max(places, key=lambda place: place[1]) if places else None,
        spread=max(figure.sweep.between for figure in main) if main else None,
        node_hours=None if fleet.seconds is None else fleet.seconds / 3600,
        defects=len({node for rule in rules if rule.outcome == "failed" for node in rule.nodes}),
    )


def _judge_measured(fleet: Fleet, asked: Asked) -> Rule:
    name, total = "every node measured", len(fleet.nodes) + len(asked.failed)
    if asked.failed:
        text = f"{plural(len(asked.failed), 'node')} of {total} without a run: {_list_nodes([*asked.failed])}."
        return Rule(name=name, outcome="undecided", text=text, nodes=tuple(asked.failed),
                    next="Make these nodes reachable, and give the same command again.")  # fmt: skip
    return Rule(
        name=name, outcome="passed", text=f"{plural(total, 'node')}, {plural(len(fleet.figures), 'case')} of each."
    )


def _judge_results(read: Sequence[tuple[Summary, Side]]) -> Rule:
    wrong = {
        summary.machine.host: finding.seen
        for summary, _ in read
        for finding in summary.findings
        if finding.rule == WRONG
    }
    if wrong:
        text = f"{_list_nodes([*wrong])}: {next(iter(wrong.values()))}"
        return Rule(name="right results", outcome="failed", text=text, nodes=tuple(wrong),
                    next="Take these nodes out: their memory or processor may be faulty.")  # fmt: skip
    return Rule(name="right results", outcome="passed", text="The checks of all results passed.")


def _judge_equality(fleet: Fleet, asked: Asked) -> Rule:
    name = f"no node {100 * asked.slow:g} % slow"
    if fleet.slow:
        parts = [
            f"{one.name} {percent(one.ratio - 1, 1)} ({one.figures[0][0].title})" for one in fleet.slow[:MOST_NAMED]
        ]
        more = f" and {plural(len(fleet.slow) - MOST_NAMED, 'further node')}" if len(fleet.slow) > MOST_NAMED else ""
        nodes = tuple(one.name for one in fleet.slow)
        return Rule(name=name, outcome="failed", text=f"More time than the peers: {', '.join(parts)}{more}.", nodes=nodes,
                    next=f"Repair {_list_nodes(nodes)}. Then run on each: steelyard gate FOLDER --after-repair")  # fmt: skip
    main = [figure for figure in fleet.figures if figure.main]
    if len(fleet.nodes) < ENOUGH or not main:
        few = f"{plural(len(fleet.nodes), 'node')} do not show how much equal nodes differ"
        text = f"{few}." if main else "No main figure is in the runs of all nodes."
        return Rule(name=name, outcome="undecided", text=text, next=f"Measure {ENOUGH} nodes or more of the same kind.")
    hidden = [figure for figure in main if (figure.sweep.detectable or 9.0) > 1 + asked.slow]
    if hidden:
        worst = max(hidden, key=lambda figure: figure.sweep.detectable or 9.0)
        text = f"{worst.title} shows only {percent((worst.sweep.detectable or 9.0) - 1, 1)} or more, and no node takes as much."
        return Rule(name=name, outcome="undecided", text=text, next=_advise(worst, asked))
    sizes = max((figure.sweep.detectable or 1.0) - 1 for figure in main)
    text = f"{percent(sizes, 1)} would have been named with a chance of 95 % in each of {plural(len(main), 'main figure')}."
    return Rule(name=name, outcome="passed", text=text)


def _advise(figure: NodeFigure, asked: Asked) -> str:
    """Returns what shows the slowness: so many further runs, or a larger slowness, if equal nodes differ too much."""
    sizes = sorted((size for size in figure.sweep.needed if size <= asked.slow), reverse=True)
    needed = figure.sweep.needed[sizes[0]] if sizes else None
    launches = min((node.launches for node in figure.sweep.nodes), default=1)
    if needed is None:
        least = percent((figure.sweep.detectable or 1.0) - 1)
        return (
            f"Equal nodes differ by {percent(figure.sweep.between, 1)} (standard deviation), so more launches do not help. "
            f"Find the cause, or accept with --slow {least.removesuffix('%').strip()}."
        )
    return f"{plural(needed, 'launch')} of each node are needed; there are {launches}. Measure again: {asked.again}"


def _judge_promises(read: Sequence[tuple[Summary, Side]], asked: Asked) -> Iterator[Rule]:
    """Yields a rule for each promised value. The chance that any node fails by chance is divided among the nodes."""
    from steelyard.fleet.gate import find_given, find_published  # with all that measures

    runs = [run for _, side in read for run in side.runs]
    summaries = [summary for summary, side in read for _ in side.runs]
    published = list(asked.expect) == ["published"]
    reference = find_published(runs, summaries) if published else find_given(runs, summaries, asked.expect)
    hosts = sorted({name_node(run) for run in runs})
    for key, figure in reference.figures.items():
        times = {
            host: list(
                list_times(
                    (c for r in runs if name_node(r) == host for c in r.cases if identity(c) == key), figure.metric
                )
            )
            for host in hosts
        }
        measured = [host for host in hosts if times[host]]
        found = decide_promised([times[host] for host in measured], reference.times[key][0][0], asked.slow)
        missing = tuple(host for host in hosts if not times[host])
        title = name_figure(figure.title, figure.conditions)
        yield _describe_promise(title, dict(zip(measured, found, strict=True)), missing, published, asked)


def _describe_promise(
    title: str, decisions: Mapping[str, Decision], missing: Sequence[str], published: bool, asked: Asked
) -> Rule:
    name = f"{title} as {'published' if published else 'promised'}"
    slower = [host for host, one in decisions.items() if one.answer == "slower"]
    unclear = [*missing, *(host for host, one in decisions.items() if one.answer == "undecided")]
    worst = max(decisions, key=lambda host: decisions[host].ratio)
    one = decisions[worst]
    ends = (
        f" (range: {percent(one.low - 1, 1, signed=True)} to {percent(one.high - 1, 1, signed=True)})"
        if one.low
        else ""
    )
    size = f"{percent(abs(one.ratio - 1), 1)} {'more' if one.ratio > 1 else 'less'} time"
    text = f"The slowest node, {worst}, takes {size}{ends}."
    if slower:
        return Rule(name=name, outcome="failed", text=f"Too slow: {_list_nodes(slower)}. {text}", nodes=tuple(slower),
                    next="Find the cause on one of these nodes with: steelyard doctor")  # fmt: skip
    if unclear:
        return Rule(name=name, outcome="undecided", text=f"Unclear: {_list_nodes(unclear)}. {text}", nodes=tuple(unclear),
                    next=f"Measure again: {asked.again}")  # fmt: skip
    return Rule(name=name, outcome="passed", text=f"All nodes pass. {text}")


def _judge_clusters(fleet: Fleet) -> Iterator[Rule]:
    for cluster in fleet.clusters:
        name = f"network of {cluster.run}"
        if cluster.slow:
            yield Rule(name=name, outcome="failed", text=" ".join(finding.seen for finding in cluster.slow))
        elif cluster.findings:
            yield Rule(name=name, outcome="passed", text=" ".join(finding.seen for finding in cluster.findings))
        else:
            yield Rule(name=name, outcome="undecided", text="This run does not compare its hosts.",
                       next="steelyard run --only network.transfer --hosts A,B,C")  # fmt: skip


def _list_nodes(names: Sequence[str]) -> str:
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return joined([*names[:MOST_NAMED], *more])


def list_checks(acceptance: Acceptance) -> list[Check]:
    """Returns each rule as a check."""
    return [
        Check(name=rule.name, outcome=rule.outcome, text=f"{rule.text} {rule.next}".strip())
        for rule in acceptance.rules
    ]


def list_sentences(acceptance: Acceptance) -> Iterator[str]:
    """Yields the answer, each rule with its evidence, and the price."""
    yield f"Acceptance: {acceptance.answer}."
    for rule in acceptance.rules:
        yield f"  {rule.outcome}: {rule.name}. {rule.text}"
        if rule.next:
            yield f"    Next: {rule.next}"
    if acceptance.worst and acceptance.spread is not None:
        name, ratio = acceptance.worst
        yield (
            f"The slowest node is {name}: {percent(ratio - 1, 1, signed=True)} time in one main figure. Equal nodes differ by up "
            f"to {percent(acceptance.spread, 1)} (standard deviation)."
        )


def describe_price(acceptance: Acceptance, nodes: int) -> Iterator[str]:
    """Yields what a weekly sweep costs beside a gate of a minute, and the node hours for each node that does not pass."""
    if acceptance.node_hours is None or not nodes:
        return
    hours = acceptance.node_hours
    if acceptance.defects:
        yield f"Price of a defect: {significant(hours / acceptance.defects, 2)} node hours."
    yield (
        f"A weekly sweep takes {significant(hours * WEEKS, 2)} node hours a year. Gates of a minute take as much if each node "
        f"has {significant(hours / nodes / GATE_HOURS, 2)} of them a week."
    )


def word_again(folder: Path, hosts: Sequence[str], words: Sequence[str]) -> str:
    """Returns the command that measures each node once more, into a folder of its own."""
    listed = ",".join(hosts) if hosts else "A,B,C"
    return shlex.join(["steelyard", "fleet", "--hosts", listed, "--runs", f"{folder}-2", "--", *words])
