"""A look at the machine before a run: how much of the time it is its own, what a user is told, and waiting for quiet."""

import time

import pytest

import builders
from steelyard.measure.records.best_pace import FORMAT
from steelyard.measure.run import quiet
from steelyard.model import Shown
from steelyard.model.proofs import Proofs

KNOWN = Shown({"issued gcc": 4.0, "stream gcc": 3e10, "chase gcc": 1e-7}, 3, "2026-01-01", rule=FORMAT)


class Answers:
    """A program whose looks were written by hand."""

    def __init__(self, **columns):
        self.columns, self.asked = columns, ""

    def ask(self, line, seconds):
        self.asked = line
        return {"look": self.columns}

    def close(self):
        pass


def look(known=KNOWN, **columns):
    return quiet.look_at(Answers(**columns), builders.machine(), "gcc", known, 1.5, lambda: None)


def test_each_processor_is_looked_at_in_turn():
    program = Answers(issued=[4.0])
    quiet.look_at(program, builders.machine(cores=4), "gcc", KNOWN, 1.5, lambda: None)
    assert program.asked == "look=1.5 threads=4 cpus=0,1,2,3"


def test_a_look_at_many_processors_is_long_enough_to_read_each_twice():
    program = Answers(issued=[4.0])
    quiet.look_at(program, builders.machine(cores=400), "gcc", KNOWN, 1.5, lambda: None)
    assert program.asked.startswith("look=6 threads=400 ")


def test_the_share_of_readings_that_are_within_all_bounds():
    seen = look(issued=[4.0, 4.0, 2.0, 4.0], stream=[3e10, 3e10, 3e10, 1e10], chase=[1e-7, 1e-7, 1e-7, 1e-7])
    assert (seen.share, seen.quiet, seen.never) == (0.5, False, False)


def test_a_machine_that_was_always_shared_is_known_by_what_it_showed_earlier():
    assert look(issued=[2.0] * 20).never
    assert look(known=Shown(), issued=[2.0] * 20).quiet  # nothing better is known of it


def test_a_machine_with_several_nodes_and_kinds_of_cores_is_known_by_the_best_of_them():
    paces = {"issued gcc kind0": 5.0, "issued gcc kind1": 4.0, "chase gcc node0": 9e-8, "chase gcc node1": 1.4e-7}
    known = Shown({**paces, "issued gcc-13": 9.0}, 3, "2026-01-01", rule=FORMAT)
    machine = builders.machine(nodes=2, cores=4, core_kinds=((0, 1), (2, 3)), fma_width=None)

    def looked(**columns):
        return quiet.look_at(Answers(**columns), machine, "gcc", known, 1.5, lambda: None)

    assert looked(issued=[5.0, 5.0, 4.0, 4.0] * 9, chase=[9e-8, 9e-8, 1.4e-7, 1.4e-7] * 9).quiet
    assert looked(issued=[3.0] * 36).never
    assert looked(chase=[1.8e-7] * 36).never


def test_on_a_machine_seen_for_the_first_time_the_best_of_the_look_itself_counts():
    assert look(known=Shown(), issued=[4.0] * 5 + [2.0] * 15).share == 0.25


@pytest.mark.parametrize("columns", [{}, {"issued": [None, None]}])
def test_where_no_pace_can_be_read_nothing_is_held_against_the_machine(columns):
    assert look(**columns).quiet


def of_share(share):
    return quiet.Look(share, Proofs(processors=2, others=2 * (1 - share)))


def looks(*shares):
    """Looks one after the other; the last one again and again."""
    left = list(shares)
    return lambda seconds: of_share(left.pop(0) if len(left) > 1 else left[0])


def prepared(look, wait=0.0):
    said = []
    return quiet.prepare(look, wait, 180.0, said.append), said


def test_a_quiet_machine_is_not_talked_about():
    assert prepared(looks(0.97)) == (of_share(0.97), [])


def test_a_first_look_at_a_bad_moment_is_looked_at_again():
    assert prepared(looks(0.3, 0.95))[1] == []


def test_a_short_run_is_looked_at_shortly_unless_it_is_to_wait():
    def lengths(usual, wait):
        asked = []
        quiet.prepare(lambda seconds: asked.append(seconds) or of_share(0.5), wait, usual, lambda said: None)
        return asked[:2]

    assert lengths(180.0, 0.0) == [quiet.LOOK, quiet.LONGER]
    assert lengths(4.0, 0.0) == pytest.approx([0.2, 0.2])
    assert lengths(4.0, 0.01) == [quiet.LOOK, quiet.LONGER]


def test_the_condition_of_a_shared_machine_is_said_before_the_run():
    seen, said = prepared(looks(0.4))
    assert not seen.never
    assert said == [
        "Other processes of this machine used 1.2 of 2 processors. The machine is slower or in use 60 % of the time. "
        "Cases wait for other times."
    ]


def test_a_machine_that_is_never_quiet_is_told_so_with_the_way_to_wait():
    seen, said = prepared(looks(0.02))
    assert seen.never
    assert "The machine is slower or in use 98 % of the time. The results show the speed that is left" in said[0]
    assert said[0].endswith("--wait 30m.")


def test_waiting_ends_when_the_machine_is_quiet_or_the_time_is_over(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    seen, said = prepared(looks(0.0, 0.0, 0.1, 0.95), wait=1800.0)
    assert seen.quiet
    assert said[0] == "Waiting for a quiet machine (0 % of the time now), at most 30 min more …"
    clock = iter(range(0, 100000, 600))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    seen, said = prepared(looks(0.0), wait=1800.0)
    assert seen.never
    assert "--wait" not in said[-1]
