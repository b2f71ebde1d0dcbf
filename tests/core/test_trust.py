"""How far a verdict may be trusted, and what is said and chosen where results bear a lesser one."""

import pytest

from builders import evaluation, triad
from steelyard.compare import published_figures
from steelyard.measure import published
from steelyard.measure.benchmarks.figures import cell
from steelyard.model import Level
from steelyard.show.report import headline, side_by_side
from steelyard.show.report.verdict_marks import COLOURS, LAMPS, MEANINGS, SIGNS
from steelyard.statistics.results import cases
from steelyard.statistics.validity import trust


def test_every_level_has_its_own_sign_colour_and_meaning() -> None:
    for of in (SIGNS, COLOURS, LAMPS, MEANINGS):
        assert tuple(of) == trust.ORDER
        assert len(set(of.values())) == len(trust.ORDER)


def test_what_cannot_be_relied_on_has_a_word_and_a_caution() -> None:
    for level in trust.ORDER:
        told = trust.write_if_doubtful(level), trust.caution(level)
        assert all(told) if trust.doubtful(level) else not any(told)
    assert [level for level in trust.ORDER if trust.doubtful(level)] == ["UNSETTLED", "DISTURBED"]


def test_of_several_verdicts_the_least_counts_and_of_several_results_the_most_trusted() -> None:
    clean, foreign, unsettled, disturbed, invalid = (triad(1e10, level=level) for level in trust.ORDER)
    assert trust.worst(()) == "CLEAN"
    assert trust.worst(("UNSETTLED", "DISTURBED", "CLEAN")) == "DISTURBED"
    assert trust.select_most_trusted([disturbed, unsettled, invalid]) == [unsettled]
    assert trust.select_most_trusted([disturbed, unsettled, clean, clean]) == [clean, clean]
    assert trust.select_most_trusted([unsettled, foreign]) == [foreign]
    assert trust.select_most_trusted([]) == []
    assert cases.doubt(clean, unsettled, invalid) == "UNSETTLED", "an invalid one has no value to rest on"
    assert cases.caution(clean) == ""
    assert cases.caution(unsettled, disturbed) == " (Disturbed: take this with care.)"


@pytest.mark.parametrize("level", ["UNSETTLED", "DISTURBED"])
def test_a_value_in_a_table_of_a_figure_or_beside_a_published_one_bears_the_word(level: Level) -> None:
    assert cell(triad(1e10, level=level), "bandwidth") == f"10.0 GB/s {level}"
    seen = evaluation([triad(1e10, threads=4, level=level)])
    for system in dict.fromkeys(entry.system for entry in published.shipped()):
        found = published_figures.compare(seen, system)
        ours = [line for line in found.lines if line.ours is not None]
        if ours:
            assert {line.level for line in ours} == {level}
            shown = "\n".join(line.plain for line in side_by_side.published(found, 80))
            assert f"{SIGNS[level]} {level} " in shown
            return
    pytest.fail("no published system has a Triad")


@pytest.mark.parametrize("levels", [("DISTURBED", "CLEAN"), ("CLEAN", "DISTURBED"), ("UNSETTLED", "CLEAN")])
def test_a_main_figure_keeps_its_conditions_whatever_the_verdicts(levels: tuple[Level, Level]) -> None:
    def chosen(*rates: float) -> str:
        made = zip(rates, ("gcc", "clang"), levels, strict=True)
        results = [triad(rate, threads=4, toolchain=name, level=level) for rate, name, level in made]
        (figure,) = headline.headlines(evaluation(results))
        return str(figure.result.parameters["toolchain"])

    assert chosen(1.0e10, 1.05e10) == chosen(1.05e10, 1.0e10) == "clang"  # equally good: the first by its name
    assert chosen(1.5e10, 1.0e10) == "gcc"
