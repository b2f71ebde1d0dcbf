"""Reads the file of one system (TOML): the figures that someone printed, each with the case of Steelyard that it belongs to."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError, nearest
from steelyard.measure.published import MOST, SI
from steelyard.measure.published.our_case import AS_PRINTED, MACHINE, OurCase
from steelyard.measure.published.system import Figure, System
from steelyard.model.settings_file import Place, SettingsFile, read_settings

KINDS = ("node", "cluster")
KEYS = {
    "name": "the name in comparisons: a text",
    "kind": "'node' (one machine) or 'cluster'",
    "year": "the year of the system or of its figures: a whole number such as 2021",
    "cores": "the cores of a node: a whole number such as 64",
    "sockets": "the processors of a node: a whole number such as 2",
    "models": "the names by which machines call this processor, such as ['EPYC 9654']: a list of texts",
    "devices": "the names by which drivers call its accelerators, such as ['H100 PCIe']: a list of texts",
    "about": "processors, memory, network: a text",
    "source": "who printed the figures and where: a text",
    "figures": "one table [[figures]] for each figure",
}
FIGURE_KEYS = {
    "title": "what was measured, such as 'STREAM Triad': a text",
    "value": "a number above 0",
    "unit": f"one of {', '.join(SI)}",
    "benchmark": f"the benchmark that measures it, such as 'memory.stream', or '{MACHINE}' for a data sheet",
    "kernel": "the kernel of the benchmark: a text",
    "metric": "the metric of the benchmark: a text",
    "parameters": "parameters of the case, such as {threads = 16, stores = 'streaming'}",
    "nodes": "the number of nodes that the value is a sum of, if the case is one node: a whole number",
    "statistic": "how the value was made, such as 'best of 10': a text",
    "condition": "everything else that matters: a text",
    "place": "the table or page of the source: a text",
    "reason": "instead of benchmark, kernel and metric: why no benchmark measures this",
}
_NEEDED = ("title", "value", "unit")
_OF_CASE = ("benchmark", "kernel", "metric")


def load_system(path: Path) -> System:
    """Reads the file of one system. UsageError names the line, the key, and what is expected there."""
    file = read_settings(path, "The file of a system")
    content = file.content
    file.expect_keys((), content, KEYS)
    for key in ("name", "kind", "source", "figures"):
        if key not in content:
            raise file.mistake((), f"the key '{key}' is missing. Add {KEYS[key]}.")
    kind, year, figures = content["kind"], content.get("year"), content["figures"]
    if kind not in KINDS:
        raise file.mistake(("kind",), f"'{kind}' is unknown. Write {KEYS['kind']}.")
    if year is not None and (isinstance(year, bool) or not isinstance(year, int) or not 1940 <= year <= 2100):
        raise file.mistake(("year",), f"'{year}' is no year. Write {KEYS['year']}.")
    if not isinstance(figures, list) or not figures or not all(isinstance(f, dict) for f in figures):
        raise file.mistake(("figures",), f"the figures cannot be read. Write {KEYS['figures']}.")
    return System(
        name=_text(file, ("name",), content["name"], KEYS),
        kind=kind,
        year=year,
        about=_text(file, ("about",), content.get("about", ""), KEYS, empty=True),
        source=_text(file, ("source",), content["source"], KEYS),
        figures=tuple(_figure(file, ("figures", i), table) for i, table in enumerate(figures)),
        path=str(path),
        cores=_count(file, content, "cores"),
        sockets=_count(file, content, "sockets"),
        models=_texts(file, content, "models"),
        devices=_texts(file, content, "devices"),
    )


def _texts(file: SettingsFile, content: Mapping[str, Any], key: str) -> tuple[str, ...]:
    words = content.get(key, [])
    if not isinstance(words, list):
        raise file.mistake((key,), f"'{words}' is no list. Write {KEYS[key]}.")
    return tuple(_text(file, (key,), word, KEYS) for word in words)


def _count(file: SettingsFile, content: Mapping[str, Any], key: str) -> int | None:
    number = content.get(key)
    if number is not None and (isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1_000_000):
        raise file.mistake((key,), f"'{number}' is no number of {key}. Write {KEYS[key]}.")
    return number


def _figure(file: SettingsFile, place: Place, table: Mapping[str, Any]) -> Figure:
    file.expect_keys(place, table, FIGURE_KEYS)
    for key in (*_NEEDED, *(() if "reason" in table else _OF_CASE)):
        if key not in table:
            raise file.mistake(place, f"the key '{key}' is missing. Add {FIGURE_KEYS[key]}.")
    texts = {
        key: _text(file, (*place, key), value, FIGURE_KEYS, empty=key in ("condition", "place"))
        for key, value in table.items()
        if key not in ("value", "parameters", "nodes")
    }
    if texts["unit"] not in SI:
        raise file.mistake((*place, "unit"), f"'{texts['unit']}' is unknown. Write {FIGURE_KEYS['unit']}.")
    if "reason" in texts and any(key in table for key in _OF_CASE):
        raise file.mistake((*place, "reason"), "a figure has either a reason or a benchmark. Remove one of them.")
    factor, unit = SI[texts["unit"]]
    value = _number(file, (*place, "value"), table["value"])
    return Figure(
        topic="",
        title=texts["title"],
        printed=f"{table['value']:,} {texts['unit']}",
        value=value * factor,
        unit=unit,
        cases=() if "reason" in texts else (_case(file, place, table, texts),),
        reason=texts.get("reason", ""),
        conditions=texts.get("condition", ""),
        place=texts.get("place", ""),
        note="",
    )


def _case(file: SettingsFile, place: Place, table: Mapping[str, Any], texts: Mapping[str, str]) -> OurCase:
    parameters = table.get("parameters", {})
    if not isinstance(parameters, dict) or not all(isinstance(v, str | int | float) for v in parameters.values()):
        raise file.mistake((*place, "parameters"), f"this is no table of values. Write {FIGURE_KEYS['parameters']}.")
    nodes = table.get("nodes", 1)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= 1e9:
        raise file.mistake((*place, "nodes"), f"'{nodes}' is not possible. Write {FIGURE_KEYS['nodes']}.")
    return OurCase(
        **{key: texts[key] for key in _OF_CASE},
        parameters=parameters,
        share=1 / nodes,
        statistic=texts.get("statistic", AS_PRINTED),
        note=f"one of {nodes:,} nodes" if nodes > 1 else "",
    )


def _text(file: SettingsFile, place: Place, value: object, keys: Mapping[str, str], empty: bool = False) -> str:
    if not isinstance(value, str) or not (value.strip() or empty):
        raise file.mistake(place, f"'{value}' is no text. Write {keys[str(place[-1])]}.")
    return value


def _number(file: SettingsFile, place: Place, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MOST:
        raise file.mistake(place, f"'{value}' is not possible. Write {FIGURE_KEYS['value']}.")
    return float(value)


def expect_known(system: System, benchmarks: Collection[str]) -> None:
    """Raises UsageError if a figure of a user's file names a benchmark that does not exist. Programs of a user are accepted."""
    for number, figure in enumerate(system.figures, 1):
        for case in figure.cases:
            if (
                case.benchmark not in benchmarks
                and case.benchmark != MACHINE
                and not case.benchmark.startswith("application.")
            ):
                raise UsageError(
                    f"'{system.path}', figure {number} ('{figure.title}'): the benchmark '{case.benchmark}' is unknown. "
                    f"{nearest(case.benchmark, benchmarks)}"
                )
