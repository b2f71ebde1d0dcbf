"""The core and the caches of each processor, as a search of the whole machine finds them."""

from dataclasses import replace
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import machine
from steelyard.measure.machine.places import Places
from steelyard.measure.plan import EFFORTS, catalogue, make, possible
from steelyard.model import Cache, Machine, Parameters


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_places_are_those_that_a_search_finds(nodes: int, cores: int, smt: bool) -> None:
    made = machine(nodes=nodes, cores=nodes * cores)
    number = len(made.cpus)
    if smt:
        made = replace(made, cores=tuple(replace(c, cpus=(*c.cpus, c.cpus[0] + number)) for c in made.cores))
    odd = Cache(2, "instruction", 1 << 20, 64, made.cpus)  # processors share no data in it
    made = replace(made, caches=(*made.caches, odd))
    places = Places(made)
    for a, b in combinations_with_replacement(range(2 * number), 2):
        for level in range(5):
            shared = any(c.level == level and c.kind != "instruction" and {a, b} <= set(c.cpus) for c in made.caches)
            assert places.share_cache(level, a, b) == shared
        assert places.core.get(a) == next((core for core in made.cores if a in core.cpus), None)
    assert places.last_level == 3


def test_each_placement_of_a_plan_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[object, ...]] = []
    of = possible.cpus_of

    def count(here: Machine, parameters: Parameters) -> tuple[int, ...] | None:
        tried.append(tuple(parameters.get(name) for name in possible.PLACED))
        return of(here, parameters)

    monkeypatch.setattr(possible, "cpus_of", count)
    make(catalogue.find(), machine(nodes=2, cores=32), EFFORTS["quick"], {}, ["gcc"], mpis=["openmpi"])
    assert len(tried) == len(set(tried)) > 10
