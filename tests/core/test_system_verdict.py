"""The verdict on systems: the seeds' own conclusions, and what holds for every sentence of every fixture."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import test_roofline as roofline

import report_fixture
from builders import evaluation, gather, machine, message, result, triad
from steelyard.compare.published_side import find_side
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.compare.standing import describe, find_standing
from steelyard.compare.verdict import Verdict, conclude
from steelyard.compare.verdict.changes import CHANGES
from steelyard.compare.verdict.programs import read_programs
from steelyard.compare.verdict.subject import COARSE, COMPUTE, COURSES, FINE, MEMORY, RANDOM, READERS, Sentence
from steelyard.errors import UsageError
from steelyard.judge import findings
from steelyard.measure.published.system_library import list_shipped
from steelyard.model import Evaluation, Host, Limit, Result, Setting, Value
from steelyard.model.figure import Series
from steelyard.show import report
from steelyard.show.command_line import cli
from steelyard.show.report import published_lines
from steelyard.show.report.pages import verdict as page

SYSTEMS = [system.name for system in list_shipped()]
CELERON = "Celeron educational cluster"
# The speeds of 1 to 8 nodes as printed, in Mflop/s.
SPEEDS = (155, 316, 472, 586, 738, 835, 967, 1086)
HOSTS = [f"node{n}" for n in range(8)]


def printed(name: str) -> Side:
    side = find_side(name)
    assert side
    return side


def of_run(run: Evaluation) -> Side:
    return Side(name=run.run.id, kind="run", runs=(reduce_run(run),))


def of_another_machine(run: Evaluation) -> Side:
    side = of_run(run)
    return replace(side, runs=(replace(side.runs[0], facts={"machine": {"processor": run.run.id}}),))


def celeron() -> Evaluation:
    """The results that a run on the cluster of eight Celeron servers would have, with its printed numbers."""

    def valued(result: Result, **values: Value) -> Result:
        return replace(result, metrics=values)

    def speed(count: int) -> Result:
        one = message(1e-3, 0, benchmark="cluster.flops", kernel="task", hosts=HOSTS[:count], ranks=count)
        return valued(one, flops=Value(SPEEDS[count - 1] * 1e6, "flop/s", None, None, "higher"))

    def exchange(kernel: str, size: int, **more: Any) -> Result:
        return message(1e-3, size, benchmark=f"network.{kernel}", kernel=kernel, hosts=HOSTS, ranks=8, **more)

    results = [speed(count) for count in range(1, 9)]
    for partner in range(1, 8):
        empty = exchange("transfer", 0, direction="one-way", partner=partner)
        results.append(valued(empty, latency=Value(1e-4 * (1 + 0.01 * partner), "s", None, None, "lower")))
    pair = exchange("transfer", 32768, direction="two-way", partner=1)
    chaos = exchange("nettest", 32768, direction="two-way", topology="chaos")
    results.append(valued(pair, bandwidth=Value(8.2e6, "B/s", None, None, "higher")))
    results.append(valued(chaos, throughput=Value(30.97e6, "B/s", None, None, "higher")))
    hosts = tuple(Host(name, 1) for name in HOSTS)
    return evaluation(results, machine(cores=1, hosts=hosts))


def balanced() -> Evaluation:
    """A node whose threads share the memory, with a finding that names a change."""
    results = [triad(rate, threads=n) for n, rate in ((1, 10e9), (2, 18e9), (4, 18.5e9))]
    results += [gather(seconds, threads=n) for n, seconds in ((1, 1e-7), (4, 1e-7))]
    return findings.judge(evaluation(results, machine(limits={"memory_bandwidth": Limit(40e9, "B/s", "given")})))


def sentences(verdict: Verdict) -> Iterator[Sentence]:
    for reader in READERS:
        for side in verdict.sides:
            yield from side.sentences[reader]
        yield from verdict.choices.get(reader, ())
    yield from verdict.notes


def texts(verdict: Verdict) -> str:
    return " ".join(sentence.text for sentence in sentences(verdict))


@pytest.mark.parametrize("side", [printed(CELERON), of_run(celeron())], ids=["printed", "run"])
def test_seed_001_is_for_courses_and_not_for_fine_grained_programs(side: Side) -> None:
    verdict = conclude([side])
    (one,) = verdict.sides
    assert COURSES in one.good
    assert COARSE in one.good
    assert FINE in one.weak
    text = texts(verdict)
    assert "8 nodes reach 0.97 of the 2 cores of a Core 2 Duo E4600 (1.086 Gflop/s against 1.118 Gflop/s)" in text
    assert "8 nodes reach 0.88 of 8 times the speed of one" in text
    assert re.search(r"differs by (less than )?(7|6|5\.8)(\.\d)? % between the nodes: no node and no link", text)
    assert "all nodes together exchange 31.0 MB/s, 3.8 times the 8.20 MB/s of one pair" in text


def test_seed_002_states_its_limits_and_the_cost_of_remote_memory() -> None:
    verdict = conclude([printed("PowerEdge R730xd 2x E5-2697 v3")])
    text = texts(verdict)
    assert "Triad reaches 116 GB/s, 85 % of the limit of 136 GB/s: its memory is set up well." in text
    assert "it gives 28.0 GB/s, the memory of another socket 13.0 GB/s" in text
    readings = verdict.sides[0].readings
    limits = {"triad": 136e9, "socket": 68e9, "local": 34e9, "remote": 17e9}
    assert {n: r.limit.value for n, r in readings.items() if r.limit} == limits


def test_threads_that_hide_the_latency_are_good_for_random_accesses() -> None:
    (one,) = conclude([printed("4x AMD 8350 Barcelona")]).sides
    assert RANDOM in one.good
    (node,) = conclude([of_run(balanced())]).sides
    assert RANDOM not in node.good


def test_the_fewest_threads_that_fill_the_memory_are_named() -> None:
    assert "Load 2 of 4 cores with a memory-bound program: 2 threads reach 0.97 times" in texts(
        conclude([of_run(balanced())])
    )


def test_a_finding_names_the_first_change_and_its_gain() -> None:
    run = balanced()
    assert "Triad could be up to 2.2 times as fast" in texts(conclude([of_run(run)], run))
    assert "could be" not in texts(conclude([of_run(run)]))


def test_a_finding_on_loops_of_steelyard_alone_is_no_change() -> None:
    seen = roofline.SPEAKS["roof"]()
    (low,) = [replace(f, effect=7.7, reach="program") for f in findings.load_rule("roof").find(seen)]
    assert low.level == "notice"
    run = replace(seen, findings=(low,))
    assert "7.7 times" not in texts(conclude([of_run(run)], run))
    assert "7.7 times" in texts(conclude([of_run(run)], replace(run, findings=(replace(low, rule="vectors"),))))


@pytest.mark.wings
def test_each_change_belongs_to_a_rule_of_the_findings() -> None:
    assert set(CHANGES) <= set(findings.list_rules())


@pytest.mark.parametrize(
    ("hypervisor", "cores", "words"),
    [
        ("KVM", 16, r"^Good per core for memory-bound .* of 18.3 GB/s exceeds all \d+ "),
        ("none", 16, r"Its Triad bandwidth of 293 GB/s exceeds"),
        ("KVM", 2, ""),
        ("none", 2, "none of"),
    ],
)
def test_a_virtual_machine_is_ranked_per_core(hypervisor: str, cores: int, words: str) -> None:
    """A part of a large machine has little bandwidth; two cores have much each, beside which no published system counts."""
    system = machine(cores=cores)
    settings = (*system.settings, Setting("hypervisor", hypervisor, "test"))
    run = evaluation([triad(18.3e9 * cores, threads=cores)], replace(system, settings=settings))
    (side,) = conclude([of_run(run)]).sides
    text = next((sentence.text for sentence in side.sentences["buyer"] if "reference systems" in sentence.text), "")
    assert re.search(words, text, re.IGNORECASE), text
    assert bool(text) == bool(words)


@pytest.mark.parametrize(("cores", "bandwidth"), [(2, 5e9), (64, 3e11), (96, 1.2e11), (96, 5e11)])
@pytest.mark.parametrize("hypervisor", ["none", "KVM"])
@pytest.mark.parametrize("processor", ["Example processor", "AMD EPYC 9654 96-Core Processor"])
def test_the_buyer_reads_what_the_first_screen_says(
    cores: int, bandwidth: float, hypervisor: str, processor: str
) -> None:
    """No work is good for a machine whose value is poor, and the reason stands in both."""
    system = machine(cores=cores, processor=processor)
    system = replace(system, settings=(*system.settings, Setting("hypervisor", hypervisor, "test")))
    run = evaluation([triad(bandwidth, threads=cores)], system)
    (side,) = conclude([of_run(run)]).sides
    said = " ".join(sentence.text for sentence in side.sentences["buyer"])
    reading = side.readings["triad"]
    answer = find_standing(reading, describe(system))
    poor = answer is not None and answer.call == "poor"
    assert poor is ("Find out first why its Triad bandwidth" in said)
    assert not (poor and MEMORY in side.good)
    assert not (answer and answer.call == "good" and MEMORY in side.weak)
    assert not poor or (answer and answer.reason in said)


def test_a_published_system_says_that_only_a_run_names_causes() -> None:
    assert "Only a run on the system can say what to change: " in texts(conclude([printed(CELERON)]))


@cache
def every_verdict(step: int) -> tuple[Verdict, ...]:
    """The verdicts of three runs, of each `step`-th published system, of such pairs, and of all systems together."""
    return tuple(_conclude_all(step))


def _conclude_all(step: int) -> Iterator[Verdict]:
    for run in (celeron(), balanced(), report_fixture.evaluation()):
        yield conclude([of_run(run)], run)
    for name in SYSTEMS[::step]:
        yield conclude([printed(name)])
    for a, b in list(pairwise(SYSTEMS))[::step]:
        yield conclude([printed(a), printed(b)])
    yield conclude([printed(name) for name in SYSTEMS])


STEPS = pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.long)])


@STEPS
def test_each_sentence_is_short_and_has_a_number_and_evidence(step: int) -> None:
    for verdict in every_verdict(step):
        for sentence in sentences(verdict):
            assert len(sentence.text.split()) <= 25 + _names(sentence.text), sentence.text
            assert re.search(r"\d", sentence.text), sentence.text
            assert sentence.evidence


def _names(text: str) -> int:
    """Returns the words by which the names of systems, with their years, are longer than one word."""
    return sum(text.count(name) * (len(name.split()) - 1) for name in SYSTEMS) + len(re.findall(r"\(\d{4}\)", text))


@STEPS
def test_no_two_sentences_of_a_page_contradict_each_other(step: int) -> None:
    for verdict in every_verdict(step):
        for side in verdict.sides:
            assert not set(side.good) & set(side.weak)
        for reader in READERS:
            chosen = [s for s in verdict.choices.get(reader, ()) if s.good]
            works = [work for sentence in chosen for work in sentence.good]
            assert len(works) == len(set(works))
            for sentence in chosen:
                weak = [s.name for s in verdict.sides if set(sentence.good) & set(s.weak)]
                assert not any(sentence.text.startswith(f"For {sentence.good[0]} choose {name}:") for name in weak)


def test_each_sentence_links_to_an_anchor_of_the_report() -> None:
    run = report_fixture.evaluation()
    html = report.render(run)
    made = page.make_page([of_run(run)], run)
    anchors = {link.anchor for p in made.paragraphs for line in p.lines for link in line.links}
    assert anchors
    for anchor in anchors:
        assert f'id="{anchor}"' in html, anchor


# For each pair of systems, the kind of work and the system that is right for it by the printed figures.
PAIRS = (
    (MEMORY, "Piz Daint, multicore node", "Piz Daint, GPU node"),
    (MEMORY, "Xeon Phi KNL, 64 threads", "POWER8, 20 threads"),
    (MEMORY, "PowerEdge R730xd 2x E5-2697 v3", "2x Xeon E5-2670"),
    (MEMORY, "PowerEdge R730xd 2x E5-2697 v3", "Mont-Blanc node"),
    (COMPUTE, "Fugaku", "Summit"),
    (COMPUTE, "Raspberry Pi 5", "Raspberry Pi 4"),
    (RANDOM, "2x AMD 2382 Shanghai", "4x AMD 8350 Barcelona"),
    (FINE, "Piz Daint, multicore node", "AWS c5n.18xlarge"),
    (FINE, "x86-64 server with 1 GbE", "Mont-Blanc system"),
    ("much work per watt", "Mac mini M4", "Raspberry Pi 5"),
)


@pytest.mark.parametrize(("work", "right", "other"), PAIRS)
@pytest.mark.parametrize("turned", [False, True])
def test_the_page_of_a_pair_names_the_right_system_for_a_work(work: str, right: str, other: str, turned: bool) -> None:
    names = (other, right) if turned else (right, other)
    made = page.make_page([printed(name) for name in names], None)
    choices = [line.text for p in made.paragraphs for line in p.choices if work in line.text]
    (choice,) = choices
    assert re.match(rf"(For|If you must run) {work},? choose {re.escape(right)}: ", choice)


def test_systems_that_do_not_differ_certainly_give_no_choice() -> None:
    text = texts(conclude([printed("Mont-Blanc system"), printed("MareNostrum III")]))
    assert "No choice for whole programs: Mont-Blanc system and MareNostrum III may be equal" in text


def test_only_a_cluster_is_for_courses_on_message_passing() -> None:
    text = texts(conclude([printed(CELERON), printed("Core 2 Duo E4600")]))
    assert f"For {COURSES} choose {CELERON}: only its nodes were measured together (efficiency 87.6 %)." in text
    assert "may be equal (1.12 Gflop/s and 1.09 Gflop/s)" in text
    assert "No choice for long messages: only 1 of 2 systems has a value." in text


def test_a_damaged_file_of_the_user_does_not_stop_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "steelyard" / "systems"
    folder.mkdir(parents=True)
    (folder / "broken.toml").write_text("name = ", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "reach 0.97 of the 2 cores of a Core 2 Duo E4600" in texts(conclude([of_run(celeron())]))
    (system,) = published_lines.systems([Series(f"{CELERON} (gcc)", (1.0,), (2.0,), published=True)])
    assert (system.name, system.lines[0].label) == (CELERON, "gcc")


def test_the_geometric_mean_of_the_runs_stands_for_a_group() -> None:
    runs = tuple(reduce_run(evaluation([triad(rate)])) for rate in (10e9, 30e9, 20e9))
    (one,) = conclude([Side(name="group", kind="group", runs=runs)]).sides
    assert one.readings["triad"].number == pytest.approx(6000 ** (1 / 3) * 1e9)


def test_the_choice_of_a_cluster_names_its_nodes() -> None:
    text = texts(conclude([printed("Fugaku"), printed("MacBook Neo")]))
    assert "choose Fugaku: 442 Pflop/s (158,976 nodes) against 57.0 Gflop/s, a factor of 7.75 million." in text


def test_systems_of_the_same_node_count_once_among_data_sheets() -> None:
    """Four systems of Mont-Blanc's node had made Barcelona's peak of 2008 exceed half of the data sheets."""
    (judged,) = conclude([printed("4x AMD 8350 Barcelona")]).sides
    ranks = [one.text for one in judged.sentences["buyer"] if "peak" in one.text]
    assert ranks[0].startswith("Weak for compute-bound programs: its arithmetic peak (data sheet)")
    assert "of 5 reference systems" in ranks[0]


def test_two_runs_with_overlapping_ranges_give_no_choice() -> None:
    runs = [evaluation([triad(rate)], id=name) for name, rate in (("a", 10e9), ("b", 10.1e9), ("c", 20e9))]
    sides = list(map(of_another_machine, runs))
    text = texts(conclude(sides))
    assert "memory-bound programs, choose c: 20.0 GB/s against 10.1 GB/s of b, a factor of 2.0." in text
    assert "No choice for memory-bound programs: b and a may be equal" in texts(conclude(sides[:2]))
    alike = conclude(list(map(of_run, runs))).choices
    assert [s.text for of in alike.values() for s in of] == [
        "No choice: all 3 systems have the same hardware. See the page Comparison for what differs."
    ]


def test_the_report_of_a_single_published_system_has_its_verdict(tmp_path: Path) -> None:
    output = tmp_path / "celeron.html"
    cli.run_words(["report", CELERON, "--runs", str(tmp_path), "--output", str(output)])
    assert "Do not run fine-grained programs" in output.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="There is no run 'nowhere'"):
        cli.run_words(["report", "nowhere", "--runs", str(tmp_path)])


def test_the_mean_of_common_programs_has_a_range_if_all_its_times_have_one() -> None:
    sides = [
        of_another_machine(evaluation([solved(seconds), solved(seconds, "cg")], id=n))
        for n, seconds in (("a", 1.0), ("b", 1.05))
    ]
    mean = read_programs(sides)[0]["program_time"]
    assert (mean.number, mean.condition) == (pytest.approx(1.0), "geometric mean of 2 programs")
    assert (mean.value.low, mean.value.high) == (pytest.approx(0.99), pytest.approx(1.01))
    assert "For whole programs choose a: 1.00 s against 1.05 s" in texts(conclude(sides))


def solved(seconds: float, name: str = "ep") -> Result:
    time = Value(seconds, "s", 0.99 * seconds, 1.01 * seconds, "lower")
    return result(f"application.npb_{name}", name, {"threads": 2, "class": "A"}, seconds, {}, metrics={"time": time})


def test_a_page_of_many_sides_has_a_row_for_each() -> None:
    made = page.make_page([printed(name) for name in SYSTEMS], None)
    assert not made.few
    assert len(made.sides) == len(SYSTEMS)
    assert {len(side.cells) for side in made.sides} == {len(made.rows)}
    assert sum(len(p.lines) for p in made.paragraphs) == 1


def test_a_run_without_results_has_no_verdict() -> None:
    assert page.make_page([of_run(report_fixture.empty())], report_fixture.empty()) is None


def test_the_page_of_a_run_stays_within_25_lines() -> None:
    for run in (celeron(), balanced(), report_fixture.evaluation()):
        made = page.make_page([of_run(run)], run)
        assert sum(len(p.lines) for p in made.paragraphs) <= 22
