"""The points of a scenario, which the engine replays; and a point as a scenario again."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from steelyard.errors import UsageError
from steelyard.whatif.network import (
    INSIDE,
    LETTERS,
    NETWORK,
    Network,
    Protocol,
    make_network,
    make_protocols,
    read_network,
)
from steelyard.whatif.perturbation import LOSS, NOISE, Loss, Noise, make_loss, make_noise
from steelyard.whatif.question import NOWHERE, Places, Point
from steelyard.whatif.scenario import PLACES, WHOLE, Scenario, Table, read_tree
from steelyard.whatif.speeds import format_span, make_cores
from steelyard.whatif.tree import ONE_SWITCH, TREE, make_tree
from steelyard.whatif.wording import COUNT

Made = TypeVar("Made")


def list_points(scenario: Scenario, runs: Path) -> dict[str, tuple[Point, ...]]:
    """Returns the points of each section: all combinations of its values, the last key fastest.

    `runs` holds the runs whose network a scenario names. UsageError for values that contradict each other.
    """

    @cache
    def measured(run: str | None) -> Network:
        return find_network(run, runs)

    return {title: _make_points(scenario, title, measured) for title in scenario.sections}


def _make_points(scenario: Scenario, title: str, measured: Callable[[str | None], Network]) -> tuple[Point, ...]:
    table = scenario.sections[title]

    def make_all(name: str, make: Callable[[Mapping[str, Any]], Made], default: Made) -> list[Made]:
        try:
            return [make(values) for values in _combine(table[name])] if table.get(name) else [default]
        except ValueError as error:
            raise scenario.mistake(title, (name,), f"{error}.") from None

    if name := table.get("tree", {}).get("name"):
        named_tree = read_tree(name[0], lambda place, sentence: scenario.mistake(title, place, sentence))
        table = table | {"tree": named_tree | table["tree"] | {"name": [Path(name[0]).stem]}}
    points = (
        Point(
            network=net,
            tree=switches,
            loss=lost,
            noise=noisy,
            core=core.all,
            affected=share,
            speeds=core.some,
            ranks_per_node=mapping,
            places=place,
        )
        for net, switches, lost, noisy, core, share, mapping, place in itertools.product(
            _make_networks(scenario, title, measured),
            make_all("tree", make_tree, ONE_SWITCH),
            make_all("loss", make_loss, Loss()),
            make_all("noise", make_noise, Noise()),
            make_cores(table.get("core", {})),
            table.get("affected", [1.0]),
            table.get("ranks_per_node", [1]),
            make_all("places", lambda values: Places(**values), NOWHERE),
        )
    )
    return tuple(dict.fromkeys(points))


def _make_networks(scenario: Scenario, title: str, measured: Callable[[str | None], Network]) -> list[Network]:
    table = scenario.sections[title].get("network", {})
    between = {name: values for name, values in table.items() if name not in INSIDE}
    run = between.pop("run", [None])[0]
    if run and between:
        sentence = f"the run gives all values between nodes. Remove 'run', or '{next(iter(between))}'."
        raise scenario.mistake(title, ("network", "run"), sentence)
    networks = [make_network(values) for values in _combine(between)] if between else [measured(run)]
    for place in INSIDE:
        if table.get(place):
            choices = [make_protocols(values) for values in _combine(table[place])]
            networks = [replace(one, **{place: choice}) for one in networks for choice in choices]  # type: ignore[arg-type]
    return networks


def _combine(table: Table) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*table.values()):
        yield dict(zip(table, values, strict=True))


def find_network(run: str | None, runs: Path) -> Network:
    """Returns the network that a run measured (None: the newest run). UsageError if it measured none."""
    from steelyard.judge import evaluation
    from steelyard.measure import records

    if run is None and not records.all_runs(runs):
        raise UsageError(
            f"No run in '{runs}' contains network measurements. Give the parameters, for example "
            "--set network=latency=2us,overhead=1us,time_per_byte=100ps/B, or measure them: steelyard run --only network.model"
        )
    evaluated = evaluation.evaluate(records.find(runs, run))
    return read_network(evaluated.results, evaluated.run.id)


def describe_point(point: Point, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the scenario of one point in full, as a scenario file states it; `whole` are its single values."""
    lower, upper = point.tree.uplinks
    core: dict[str, Any] = {"all": point.core}
    for speed in point.speeds:
        core.setdefault(speed.of, {})[format_span((speed.first, speed.last))] = speed.factor
    tables = {
        "network": _write_network(point.network),
        "tree": _compact(
            TREE,
            {
                "nodes": point.tree.nodes,
                "switches": point.tree.switches,
                "uplink": lower.G,
                "hop": lower.hop,
                "uplink2": upper.G,
                "hop2": upper.hop,
            },
        ),
        "loss": _compact(LOSS, vars(point.loss)),
        "noise": _compact(NOISE, {"recording": point.noise.recording} if point.noise.recording else vars(point.noise)),
        "core": core,
        "affected": point.affected,
        "ranks_per_node": point.ranks_per_node,
        "places": _compact(PLACES, vars(point.places)),
    }
    return {name: WHOLE[name].write(value) for name, value in whole.items()} | tables


def _write_network(network: Network) -> dict[str, Any]:
    """Returns the network as JSON. The name of a run replaces the protocols that it measured."""
    across = (
        {"run": network.name}
        if network.name
        else _write_protocol(network.across[0]) | {"eager": network.eager, "receive": network.receive}
    )
    near = {place: getattr(network, place) for place in INSIDE}
    return across | {
        place: _write_protocol(protocols[0]) for place, protocols in near.items() if protocols and len(protocols) == 1
    }


def _write_protocol(protocol: Protocol) -> dict[str, Any]:
    return _compact(NETWORK, {name: getattr(protocol, letter) for name, letter in LETTERS.items() if letter != "S"})


def _compact(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves out what is not given: None, an empty text, a number of nothing."""
    given = {
        name: value
        for name, value in values.items()
        if value not in (None, "") and (value or schema[name] is not COUNT)
    }
    return {name: schema[name].write(value) for name, value in given.items()}
