"""Numbers in the names of files and folders: those of settings that someone counted, and of campaigns with repetitions inside."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log
from statistics import median

from steelyard.importing.file_places import Kind, Place
from steelyard.importing.name_facts import FEWEST, are_jobs, counts_repetitions

MANY, LARGE = 10, 1.5  # cases, and the factor between two settings in half of them
_COUNTER = re.compile(r"(?<!\d)\d{1,3}$")


def differ_throughout(places: Sequence[Place], kind: Kind, at: int = -1) -> bool:
    """Returns whether files with names that differ in one last number only differ by a large factor in most of many cases.

    They hold settings that someone counted, not repetitions. `at` is the index of the folder with the number; -1: the file.
    """
    logs: dict[tuple[object, object], dict[str, float]] = defaultdict(dict)
    for place in places:
        if number := _COUNTER.search(place.names[at] if at < len(place.names) - 1 else ""):
            series = (
                *place.names[:at],
                place.names[at][: number.start()],
                at,
                *(place.names[at + 1 :] if at >= 0 else ()),
            )
            for value in place.values[kind]:
                if value.value > 0:
                    logs[series, value.case].setdefault(number[0], log(value.value))
    factors: dict[object, list[float]] = defaultdict(list)
    for (files, _), of_case in logs.items():
        first, *others = of_case.items()
        for counted, logarithm in others:
            factors[files, first[0], counted].append(logarithm - first[1])
    return any(len(found) >= MANY and abs(median(found)) > log(LARGE) for found in factors.values())


def find_campaigns(places: Sequence[Place], kind: Kind) -> tuple[int, Sequence[str | None]] | None:
    """Returns a folder with names such as run1 that are settings, and its name for each file; None without such a folder.

    Only the innermost numbers count repetitions: below each name files repeat each other themselves, or the folders differ.
    """
    for at in range(max(len(place.names) for place in places) - 1):
        beside: dict[tuple[str, ...], dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
        for place in (place for place in places if len(place.names) > at + 1):
            beside[(*place.names[:at], re.sub(r"\d+", "#", place.names[at]))][place.names[at]].append(place)
        above = [below for below in beside.values() if _are_campaigns(below, kind, at)]
        names = {id(place): name for below in above for name, members in below.items() for place in members}
        if names:
            return at, [names.get(id(place)) for place in places]
    return None


def _are_campaigns(below: Mapping[str, Sequence[Place]], kind: Kind, at: int) -> bool:
    """Returns whether folders that seem to count hold the same cases, and repetitions or folders of their own."""
    cases = [{case for place in members for case in place.cases[kind]} for members in below.values()]
    if len(below) < 2 or not counts_repetitions([*below]) or sum(map(len, cases)) == len(set[int]().union(*cases)):
        return False
    depths = [{len(place.names) for place in members} for members in below.values()]
    nested = (_have_counters(members, kind, at + 1) for members in below.values())
    return any(one.isdisjoint(depths[0]) for one in depths) or any(nested)


def _have_counters(places: Sequence[Place], kind: Kind, begin: int) -> bool:
    """Returns whether at least three files of one case differ only in a number that counts, from this folder on."""
    series: dict[object, dict[str, Place]] = defaultdict(dict)  # each by word and number
    for place in places:
        row = [fact for level in place.levels[begin:] for fact in level]
        for at, fact in enumerate(row):
            if fact.meaning == "number":
                word = str(row[at - 1].value) if at and row[at - 1].meaning == "word" else ""
                series[at, (*row[:at], *row[at + 1 :])][f"{word}{fact.value}"] = place
    for found in (found for found in series.values() if len(found) >= FEWEST):
        cases = [place.cases[kind] for place in found.values()]
        repeated = sum(map(len, cases)) > len(frozenset[int]().union(*cases))
        if repeated and (counts_repetitions([*found]) or are_jobs([re.sub(r"\D", "", name) for name in found])):
            return True
    return False
