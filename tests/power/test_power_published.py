"""The prototype's power beside a run's: on the page, in the comparison with a published system, and against another run."""

from dataclasses import replace

import numpy as np
import pytest

import power_fixture
from side_fixture import against, beside
from steelyard.compare import published_figures, published_power
from steelyard.measure import published
from steelyard.measure.published.wording import STATES
from steelyard.model import Evaluation, Value
from steelyard.model.sensor import Power, Trace
from steelyard.power.pages.power import published_rows
from steelyard.show.report import render

SYSTEM = "Mont-Blanc node"


@pytest.fixture(scope="module")
def made() -> Evaluation:
    return power_fixture.made()


def lines(evaluation: Evaluation) -> dict[tuple[str, str], published_figures.Line]:
    of_power = [line for line in published_figures.compare(evaluation, SYSTEM).lines if "power" in line.metric]
    states = {words: state for state, words in STATES.items()}
    return {(line.metric, states[line.conditions.split(",")[0]]): line for line in of_power}


def test_each_printed_state_has_ours_beside_it(made: Evaluation) -> None:
    found = lines(made)
    for state, watts in (("1 cpu", 7.8), ("2 cpu", 9.5), ("gpu", 8.8), ("gpu+1 cpu", 11.0)):
        line = found["power", state]
        assert line.published == watts
        # The run was made after these numbers, for the stencil.
        assert line.ours
        assert line.ours.value == pytest.approx(watts, rel=0.01)
        assert line.ratio == pytest.approx(1.0, rel=0.01)
    assert "one core for the GPU" in found["power", "gpu+1 cpu"].remark
    # These belong to no single case. The page compares them.
    for other in (
        ("power", "idle"),
        ("highest power of all kernels", "2 cpu"),
        ("highest power of all kernels", "gpu+1 cpu"),
    ):
        assert (found[other].ours, "The page Power shows yours" in found[other].reason) == (None, True)
    notes = " ".join(published_figures.compare(made, SYSTEM).notes)
    assert notes.count("stated in the text on figure 7 and not read from its curves") == 1


def test_the_printed_numbers_are_those_of_the_source() -> None:
    told = {(e.metric, e.parameters["state"]): e.value for e in published.select("power")}
    assert told == {
        ("power", "idle"): 5.3, ("power", "1 cpu"): 7.8, ("power", "2 cpu"): 9.5, ("power", "gpu"): 8.8,
        ("power", "gpu+1 cpu"): 11.0, ("power_max", "2 cpu"): 14.0, ("power_max", "gpu+1 cpu"): 13.7,
    }  # fmt: skip
    assert all("in the text on figure 7" in e.note for e in published.select("power"))


def test_a_modelled_power_never_stands_beside_a_printed_one(made: Evaluation) -> None:
    guess = replace(power_fixture.RAIL, modelled=True)
    guessed = power_fixture.evaluated(power_fixture.results(), sensor=guess)
    assert all(line.ours is None for line in lines(guessed).values())
    assert published_rows.compare_published(guessed) is None
    assert "Comparison with the Mont-Blanc node" not in render(guessed)


def test_a_run_with_other_threads_says_so_and_one_without_the_stencil_has_the_idle_machine_only(
    made: Evaluation,
) -> None:
    here = replace(made.run.machine, cpus=(0, 1, 2, 3))
    four = [
        replace(r, parameters={**r.parameters, "threads": 4}) if r.parameters["threads"] == 2 else r
        for r in made.results
    ]
    other = replace(made, results=tuple(four), run=replace(made.run, machine=here))
    assert lines(other)["power", "2 cpu"].ours
    drawn = {e.parameters["state"]: published_power.find_ours(other, e) for e in published.select("power", "power")}
    assert drawn["2 cpu"].remark == "with 4 threads instead of '2 cpu'"
    without = replace(made, results=tuple(r for r in made.results if r.kernel != "stencil"))
    assert lines(without)["power", "1 cpu"].ours is None
    assert published_power.find_ours(without, published.select("power")[0]).value
    assert published_power.find_ours(replace(made, power=None), published.select("power")[0]).value is None


def test_the_page_has_the_table_with_its_source(made: Evaluation) -> None:
    found = published_rows.compare_published(made)
    assert found
    assert [row.state for row in found.rows][:3] == ["idle", "3D stencil on one core", "3D stencil on both cores"]
    assert [row.printed for row in found.rows][:3] == ["5.30 W", "7.80 W", "9.50 W"]
    text = render(made)
    assert "Comparison with the Mont-Blanc node" in text
    assert "not from its curves" in text
    assert published.SOURCES["003"] in text


def test_the_peak_of_a_published_gpu_does_not_stand_beside_our_processors(made: Evaluation) -> None:
    peaks = [
        line
        for line in published_figures.compare(made, SYSTEM).lines
        if line.metric == "peak speed in double precision"
    ]
    assert {line.conditions: line.ours is not None for line in peaks} == {"CPU": True, "GPU": False}


# --------------------------------------------------------------------------- against another run (figure 6b)


def there(sensor: bool = True, share: float = 2.0) -> Evaluation:
    """The same kernels on another system, at so many times the power."""
    kernels = {name: tuple((s, share * w) for s, w in modes) for name, modes in power_fixture.KERNELS.items()}
    found = power_fixture.evaluated(power_fixture.results(kernels), kernels)
    machine = replace(found.run.machine, system="other")
    return replace(found, run=replace(found.run, id="there", machine=machine), power=found.power if sensor else None)


def test_the_energy_of_each_mode_stands_against_another_run(made: Evaluation) -> None:
    page = against(made, there())
    (part,) = page.energies
    assert part.figure.title == "Energy of an iteration (node) divided by the energy on other"
    ratios = [float(cell.ratio) for row in part.rows for cell in row.cells if cell]
    assert len(ratios) == 20
    assert ratios == pytest.approx([0.5] * 20, rel=0.02)
    text = render(made, beside(made, there()))
    assert 'id="node-against-energy"' in text


def test_without_its_energy_there_are_the_times_alone(made: Evaluation) -> None:
    plain = there()
    none = [replace(r, metrics={"time": r.metrics["time"]}) for r in plain.results]
    page = against(made, replace(plain, results=tuple(none)))
    assert page.energies == ()
    assert page.parts


def test_a_modelled_energy_is_not_set_against_a_measured_one(made: Evaluation) -> None:
    trace = made.power.traces[power_fixture.RAIL.name] if made.power else None
    assert trace
    guess = replace(power_fixture.RAIL, modelled=True)
    other = replace(there(), power=Power({guess.name: Trace(guess, trace.at, np.asarray(trace.value))}))
    assert against(made, other).energies == ()


def test_energies_of_different_parts_are_not_set_against_each_other(made: Evaluation) -> None:
    other = there()
    parts = [
        replace(r, metrics={n: replace(v, scope=("processors",) if v.scope else ()) for n, v in r.metrics.items()})
        for r in other.results
    ]
    page = against(made, replace(other, results=tuple(parts)))
    assert page.energies == ()
    assert page.parts
    assert (
        "The energies are not compared: here they are those of the node, on other those of the processors."
        in page.left_out
    )


def test_a_value_without_watts_is_no_power(made: Evaluation) -> None:
    """A metric of that name from a benchmark of another's own is refused by its unit."""
    odd = [replace(r, metrics={**r.metrics, "power": Value(1.0, "dBm", 0.9, 1.1, "lower")}) for r in made.results]
    assert lines(replace(made, results=tuple(odd)))["power", "1 cpu"].ours is None
