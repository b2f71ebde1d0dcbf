"""The words for the benchmarks, metrics and conditions of the published numbers, whose data have short keys (wording.toml)."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from steelyard.measure.published import BESIDE, Published, theoretical
from steelyard.measure.published.our_case import AS_PRINTED, DATA_SHEET, MACHINE, NODE, PLACEMENTS, UNIT, OurCase
from steelyard.model import Scalar
from steelyard.model.units import binary_size, percent, quantity
from steelyard.model.words import in_words, plural

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TOPICS: Mapping[str, str] = _WORDS["topics"]
TITLES: Mapping[str, str] = _WORDS["titles"]
STATES: Mapping[str, str] = _WORDS["states"]
_CONDITIONS: Mapping[str, str | Mapping[str, str]] = {**_WORDS["conditions"], "placement": PLACEMENTS, "state": STATES}
_COUNTED: Mapping[str, str] = _WORDS["counted"]
_SIZES = {"message_bytes": "messages of {}", "message_bytes_below": "messages below {}"}
# Words for the parameters of our own cases where `in_words` has none.
_OURS = {
    ("threads", "all"): "all threads",
    ("precision", "single"): "single precision",
    ("precision", "double"): "double precision",
    ("buffers", "reused"): "reused buffers",
    ("between", "hosts"): "between hosts",
    ("transport", "tcp"): "TCP",
    ("direction", "two-way"): "two-way",
}


def describe_conditions(entry: Published) -> str:
    """Returns the conditions of a number in words, with the limit that was printed beside it."""
    words = [_describe_condition(name, value) for name, value in entry.parameters.items() if name not in BESIDE]
    if limit := theoretical(entry):
        words.append(f"limit {quantity(limit, entry.unit)}, {percent(entry.value / limit)} reached")
    return ", ".join(words)


def _describe_condition(name: str, value: Scalar) -> str:
    if name in _COUNTED:
        return plural(value, _COUNTED[name]) if isinstance(value, int) else f"{value} {_COUNTED[name]}s"
    if name in _SIZES and isinstance(value, int):
        return _SIZES[name].format(binary_size(value))
    words, text = _CONDITIONS.get(name, f"{name.replace('_', ' ')} {{}}"), str(value)
    if isinstance(words, str):
        return words.format(PLACEMENTS.get(text, text))
    return words.get(text, text)


def describe_case(case: OurCase) -> str:
    """Returns a case in words: 'memory.stream triad bandwidth (all threads, pinned compact), one of 8 nodes'."""
    if case.benchmark == MACHINE:
        words = f"{DATA_SHEET}, {TITLES.get(case.metric, case.metric)} of a {case.parameters.get(UNIT, NODE)}"
    else:
        words = f"{case.benchmark} {case.kernel} {case.metric.replace('_', ' ')}"
        if where := ", ".join(_describe_parameter(name, value) for name, value in case.parameters.items()):
            words += f" ({where})"
    statistic = "" if case.statistic == AS_PRINTED else case.statistic
    return ", ".join(filter(None, (words, statistic, case.note)))


def _describe_parameter(name: str, value: Scalar) -> str:
    if name in _COUNTED and isinstance(value, int):
        return plural(value, _COUNTED[name])
    if name == "message_bytes" and isinstance(value, int):
        return f"messages of {binary_size(value)}"
    return _OURS.get((name, str(value))) or in_words(name, value)
