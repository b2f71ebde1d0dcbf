"""The condition of a machine: dedicated or shared, stated once, and what it explains."""

from dataclasses import replace

import pytest

import builders
import report_fixture
from steelyard.model import Condition, Had
from steelyard.show.report import condition as words
from steelyard.show.report import screen, sentences, values
from steelyard.show.report.pages import overview
from steelyard.statistics.validity.condition import find_condition

FULL = {"issued": 1.0, "stream": 0.95}


def records(count: int = 20) -> list[builders.Record]:
    return [record for result in report_fixture.evaluation().results for record in result.records][:count]


def test_a_machine_at_full_pace_is_dedicated_and_explains_nothing() -> None:
    found = find_condition(records(), [FULL] * 20)
    assert (found.shared, found.causes) == (False, ())
    (sentence, *_) = words.describe(found, {})
    assert sentence == "The machine had its full speed: its cores in 100 % and its memory in 100 % of the launches."


def test_a_machine_whose_cores_were_often_slower_is_shared() -> None:
    found = find_condition(records(), [FULL] * 12 + [{"issued": 0.52, "stream": 0.9}] * 8)
    assert found.shared
    assert {"shared core", "shared memory", "slow messages", "wide interval"} <= {*found.causes}
    assert found.had["issued"] == Had(median=1.0, low=0.52, high=1.0, full=0.6)
    assert found.had["stream"].low == 1.0  # readings of the memory scatter, also where nobody else uses it
    (sentence,) = words.describe(found, {})
    assert sentence == (
        "The machine was slower than at best. Full speed: its cores in 60 % of the launches (median 100 %, slowest tenth "
        "below 52 %); its memory in 100 %."
    )


def test_a_clock_that_drops_from_heat_makes_no_shared_machine() -> None:
    found = find_condition(records(), [{"core_clock": 0.7, **FULL}] * 20)
    assert (found.shared, found.causes) == (False, ())


def test_a_value_has_the_verdict_of_its_result_on_every_machine() -> None:
    (result, *_) = report_fixture.evaluation().results
    disturbed = replace(result, verdict=report_fixture.DISTURBED)
    shown = values.shown(disturbed, next(iter(disturbed.metrics)))
    assert shown is not None
    assert shown.level == "DISTURBED"
    assert shown.marked.endswith("DISTURBED")


def test_a_run_with_disturbed_results_was_slowed_by_something() -> None:
    full = find_condition(records(), [FULL] * 20)
    (sentence,) = words.describe(full, {"DISTURBED": 3})
    assert sentence == (
        "The machine had its full speed: its cores in 100 % and its memory in 100 % of the launches, but 3 results are DISTURBED."
    )


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_run_without_a_valid_result_says_nothing_on_the_speed(share: float) -> None:
    made = report_fixture.evaluation()
    wrong = tuple(replace(result, verdict=report_fixture.INVALID) for result in made.results)
    condition = find_condition(records(), [{"issued": share}] * 20)
    invalid = replace(made, results=wrong, condition=condition)
    on_screen = " ".join(" ".join(text.plain for text in screen.screen(invalid, 80, None)).split())
    for text in (on_screen, overview.data(invalid).trust):
        assert f"All {len(wrong)} results are INVALID, so the speed is unknown." in text
        assert not any(word in text for word in ("full speed", "Full speed", "slower than", "known to"))
    one = replace(invalid, results=wrong[:1])
    assert sentences.trust(one) == "The only result is INVALID, so the speed is unknown."


def test_how_well_results_are_known_is_counted_by_the_range_of_another_run() -> None:
    (result, *_) = report_fixture.evaluation().results
    (name, value), *_ = result.metrics.items()
    ranges = [(100.0, 119.0), (100.0, 150.0), (100.0, 300.0), None]
    known = words.known([replace(result, metrics={name: replace(value, now=span)}) for span in ranges])
    assert known == {"10 %": 1, "25 %": 1, "worse": 1, "unknown": 1}
    assert words.describe_known(known) == "4 cases: 1 known to ± 10 %, 1 to ± 25 %, 2 less well."


def test_other_load_is_named_beside_the_pace() -> None:
    shared = Condition(shared=True, had={"issued": Had(median=0.6, low=0.5, high=0.9, full=0.1)}, load=0.3, causes=())
    assert words.describe(shared, {})[1] == "Other programs used the measured processors in 30 % of the launches."


def test_an_interval_that_says_nothing_is_replaced_by_the_launches() -> None:
    wide = builders.triad(2e10, launches=2)
    value = replace(builders.bandwidth(2e10), low=1e9, high=3e11)
    launches = {"bandwidth": (1.9e10, 2.1e10)}
    shown = values.shown(replace(wide, metrics={"bandwidth": value}, launches=launches), "bandwidth")
    assert shown is not None
    assert shown.interval == ""
    assert shown.range.startswith("2 launches: ")
    assert values.interval(value) == ""
    assert values.interval(builders.bandwidth(2e10)) == "19.8 – 20.2 GB/s"
