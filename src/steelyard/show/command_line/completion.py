"""Words that a shell offers on the TAB key: benchmarks, groups, parameters and their values, runs, published systems."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from steelyard.errors import SteelyardError, UsageError


def complete_benchmark(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yields the names of groups and benchmarks, with their titles."""
    from steelyard.measure.plan import catalogue

    benchmarks = catalogue.find()
    for group in sorted({name.split(".")[0] for name in benchmarks}):
        yield from _offer(incomplete, group, f"all benchmarks of {group}")
    for name, benchmark in benchmarks.items():
        yield from _offer(incomplete, name, benchmark.title)


def complete_setting(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yields NAME= for each parameter of the chosen benchmarks; after the sign NAME=VALUE for the values of the quick preset."""
    from steelyard.measure import machine
    from steelyard.measure.plan import EFFORTS, catalogue
    from steelyard.measure.plan.catalogue import parameter_values

    try:
        chosen = catalogue.choose(catalogue.find(), context.params.get("only") or ())
    except UsageError:
        return
    here, name = machine.describe(), incomplete.partition("=")[0]
    words: dict[str, None] = {}
    for benchmark in chosen.values():
        for parameter, values in parameter_values(benchmark, here, EFFORTS["quick"]).items():
            shown = [f"{parameter}={value}" for value in values] if "=" in incomplete else [f"{parameter}="]
            words.update(dict.fromkeys(shown if "=" not in incomplete or parameter == name else ()))
    yield from (word for word in words if word.startswith(incomplete))


def complete_run(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yields the ids of the runs, the newest first, with their systems."""
    from steelyard.measure import records

    for path in reversed(records.all_runs(Path(context.params.get("runs") or "runs"))):
        try:
            yield from _offer(incomplete, path.name, records.head(path).machine.system)
        except SteelyardError:
            continue


def complete_side(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yields the runs, then the published systems."""
    yield from complete_run(context, incomplete)
    yield from complete_system(incomplete)


def complete_system(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yields the published systems with their kinds; nothing if a file of the user cannot be read."""
    from steelyard.measure.published.system_library import list_systems

    try:
        systems = list_systems()
    except SteelyardError:
        return
    for system in systems:
        yield from _offer(incomplete, system.name, f"published {system.kind}")


def _offer(incomplete: str, word: str, text: Any) -> Iterator[tuple[str, str]]:
    if word.startswith(incomplete):
        yield word, str(text)
