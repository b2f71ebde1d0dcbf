"""The figures of a benchmark that was measured with several variants: one figure, with a line for each variant."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from steelyard.model import Benchmark, Machine, Result
from steelyard.model.figure import Band, Figure, Mark, Point, Series
from steelyard.show.report.names import slug
from steelyard.statistics.results.variants import by_variant

Labelled = TypeVar("Labelled", Mark, Band, Point)


def figures(benchmark: Benchmark, results: Sequence[Result], machine: Machine) -> tuple[Figure, ...]:
    """Returns the benchmark's figures. All variants have lines or bars in one figure; each has its own map or table."""
    groups = by_variant(results)
    made = {name: benchmark.figures(members, machine) for name, members in groups.items()}
    if len(made) < 2:
        return tuple(figure for drawn in made.values() for figure in drawn)
    alike: dict[str, dict[str, Figure]] = {}
    for variant, drawn in made.items():
        for figure in drawn:
            alike.setdefault(figure.name, {})[variant] = figure
    return tuple(figure for of_each in alike.values() for figure in _join_variants(of_each))


def _join_variants(of_each: dict[str, Figure]) -> list[Figure]:
    """Returns one figure of those of the variants, or each with the name of its variant."""
    first, count = next(iter(of_each.values())), len(of_each)
    if first.kind not in ("lines", "bars"):
        return [
            replace(figure, name=f"{figure.name}-{slug(variant)}", title=f"{figure.title}: {variant}")
            for variant, figure in of_each.items()
        ]
    return [
        replace(
            first,
            series=_series(of_each),
            marks=_join_parts([(variant, mark) for variant, f in of_each.items() for mark in f.marks], count),
            bands=_join_parts([(variant, band) for variant, f in of_each.items() for band in f.bands], count),
            points=_join_parts([(variant, point) for variant, f in of_each.items() for point in f.points], count),
        )
    ]


def _series(of_each: dict[str, Figure]) -> tuple[Series, ...]:
    """Returns the lines of all variants. The name of a variant's only line is that of the variant."""
    measured = {variant: [s for s in figure.series if not s.published] for variant, figure in of_each.items()}
    single = all(len(lines) <= 1 for lines in measured.values())
    named = [
        replace(line, name=variant if single or not line.name else f"{line.name}, {variant}")
        for variant, lines in measured.items()
        for line in lines
    ]
    published = {s.name: s for figure in of_each.values() for s in figure.series if s.published}
    return (*named, *published.values())


def _join_parts(parts: Iterable[tuple[str, Labelled]], count: int) -> tuple[Labelled, ...]:
    """Returns each part once if all variants have it, else with the name of its variant."""
    variants: dict[Labelled, list[str]] = {}
    for variant, part in parts:
        variants.setdefault(part, []).append(variant)
    return tuple(
        part if len(names) == count else replace(part, label=f"{part.label}, {', '.join(names)}")
        for part, names in variants.items()
    )
