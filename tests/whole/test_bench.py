"""The pure parts of the comparisons with other tools: recorded outputs, pairing by round, APT's sources."""

import itertools
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import builders
from folders import ROOT
from steelyard.errors import MachineFailed
from steelyard.measure.records import RunFolder
from steelyard.model import Cache, Machine

sys.path.insert(0, str(ROOT / "bench"))

import contenders
import device_peers
import elements
import hpcc
import imb
import lammps
import messages
import nodes
import overhead
import pace
import peers
import ratios
import sweeps
from contenders import Contender, Rates
from hpcc import Source
from imb import Row
from pace import Around, Load
from ratios import Measurement, Range, Ratio
from sweeps import Point, Sweep

import applications

# Recorded on two virtual processors beside other work, so the rates are low.
HPCC_REPORT = """\
-------------------------------------------------------------
This system uses 8 bytes per DOUBLE PRECISION word.
-------------------------------------------------------------
Array size = 20000000, Offset = 0
Total memory required = 0.4470 GiB.
Each test is run 10 times.
-------------------------------------------------------------
Function      Rate (GB/s)   Avg time     Min time     Max time
Copy:          30.1275       0.0372       0.0011       0.2586
Triad:         10.4488       0.0709       0.0459       0.0909
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
"""
LIKWID_OUTPUT = """\
Allocate: Process running on hwthread 0 (Domain N) - Vector length 4000000/32000000 Offset 0 Alignment 512
--------------------------------------------------------------------------------
LIKWID MICRO BENCHMARK
Test: stream_mem_avx
--------------------------------------------------------------------------------
Group: 0 Thread 0 Global Thread 0 running on hwthread 0 - Vector length 2000000 Offset 0
Group: 0 Thread 1 Global Thread 1 running on hwthread 1 - Vector length 2000000 Offset 2000000
--------------------------------------------------------------------------------
Time:\t\t\t2.295764e-01 sec
Size (Byte):\t\t96000000
MFlops/s:\t\t696.94
Data volume (Byte):\t1920000000
MByte/s:\t\t8363.23
"""
LIKWID_LISTING = """\
store_mem_avx - Double-precision store, uses AVX and non-temporal stores
stream - Double-precision stream triad A(i) = B(i)*c + C(i), only scalar operations
stream_avx512_fma - Double-precision stream triad A(i) = B(i)*c + C(i), optimized for AVX-
stream_avx_fma - Double-precision stream triad A(i) = B(i)*c + C(i), optimized for AVX FMAs
stream_mem - Double-precision stream triad A(i) = B(i)*c + C(i), uses SSE and non-temporal stores
stream_mem_avx512 - Double-precision stream triad A(i) = B(i)*c + C(i), uses AVX-
stream_mem_sse - Double-precision stream triad A(i) = B(i)*c + C(i), uses SSE and non-temporal stores
stream_sp_avx - Single-precision stream triad A(i) = B(i)*c + C(i), optimized for AVX
stream_sse - Double-precision stream triad A(i) = B(i)*c + C(i), optimized for SSE
"""
ALONE = Load(0.01, 0.0)
BEST = {"core": 10e9, "stream": 20e9, "chase": 10e6}


def paced(core: float = 1.0, stream: float = 1.0, chase: float = 1.0, load: Load = ALONE) -> Around:
    """Around a measurement before which the pace was the best, and after it these shares of that."""
    shares = {"core": core, "stream": stream, "chase": chase}
    return Around(load, BEST, {kind: share * BEST[kind] for kind, share in shares.items()}, BEST)


QUIET = paced()
NOISY = paced(load=Load(0.8, 0.0))
SHARED = paced(core=0.6)


class Told:
    """A kernel program that tells the same look again and again."""

    def __init__(self, **look: list[float | None]) -> None:
        self.look, self.asked = look, list[str]()

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        self.asked.append(line)
        if not self.look:
            raise MachineFailed("it has gone")
        return {"look": self.look} if line.startswith("look=") else {"samples": [60e-9, 60e-9, 300e-9]}

    def close(self) -> None:
        pass


def watch(**look: list[float | None]) -> pace.Watch:
    return pace.Watch(Told(**look), (0, 1))


def once(
    number: int,
    name: str,
    rates: Rates | None,
    around: Around = QUIET,
    *,
    stores: str = "ordinary",
    error: str = "",
) -> Measurement:
    return Measurement(number, name, stores, 1, rates, around, True, 2.0, error)


# --------------------------------------------------------------------------- what they print


def test_hpcc_counts_in_powers_of_ten_and_its_mean_follows_from_its_average_time() -> None:
    rates = contenders.hpcc_rates(HPCC_REPORT, 20_000_000)
    assert rates.best == pytest.approx(10.4488e9)
    # The rate is that of the least time only if GB are 10^9 bytes.
    assert rates.best == pytest.approx(24 * 20_000_000 / 0.0459, rel=0.002)
    assert rates.mean == pytest.approx(24 * 20_000_000 / 0.0709)
    assert rates.median is None


def test_a_report_of_hpcc_that_did_not_validate_or_has_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="did not validate"):
        contenders.hpcc_rates(HPCC_REPORT.replace("Solution Validates", "Failed Validation"), 20_000_000)
    with pytest.raises(ValueError, match="20000000 elements, and 10000000 were asked for"):
        contenders.hpcc_rates(HPCC_REPORT, 10_000_000)


def test_likwid_reports_a_mean_in_powers_of_ten() -> None:
    rates = contenders.likwid_rates(LIKWID_OUTPUT, (0, 1))
    assert rates == Rates(mean=8363.23e6)
    assert rates.mean == pytest.approx(1_920_000_000 / 2.295764e-01, rel=1e-4)


def test_likwid_on_other_processors_than_ours_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ran on the processors \[0, 1\], and was given \[0, 2\]"):
        contenders.likwid_rates(LIKWID_OUTPUT, (2, 0))


def test_only_the_double_precision_triads_that_the_processor_can_run_are_taken() -> None:
    flags = contenders.processor_flags("processor\t: 0\nflags\t\t: fpu sse2 avx fma\nbugs\t: none\n")
    chosen = contenders.likwid_kernels(LIKWID_LISTING, flags)
    assert chosen == ["stream", "stream_avx_fma", "stream_mem", "stream_mem_sse", "stream_sse"]
    assert "stream_mem_avx512" in contenders.likwid_kernels(LIKWID_LISTING, flags | {"avx512f"})


def test_the_kind_of_stores_follows_from_the_name_of_a_likwid_kernel() -> None:
    assert contenders.likwid_stores("stream_mem_avx_fma") == "streaming"
    assert contenders.likwid_stores("stream_avx512_fma") == "ordinary"


def test_our_best_is_that_of_ten_samples_without_the_first() -> None:
    samples = [0.5, *[1.0] * 8, 0.8, 0.4, 0.4]  # the first and those after the tenth must not count as best
    rates = contenders.our_rates({"samples": samples, "work": {"bytes": 24.0}, "check": {"passed": True}})
    assert rates.best == pytest.approx(24 / 0.8)
    assert rates.median == pytest.approx(24.0)
    assert rates.mean == pytest.approx(24 * len(samples) / sum(samples))


def test_a_failed_check_of_ours_gives_no_rate() -> None:
    answer = {
        "samples": [1.0] * 10,
        "work": {"bytes": 24.0},
        "check": {"passed": False, "detail": "off by 3"},
    }
    with pytest.raises(ValueError, match="off by 3"):
        contenders.our_rates(answer)


def test_more_elements_than_hpcc_can_count_leave_it_out(here: Machine) -> None:
    with pytest.raises(hpcc.MissingError, match="at most 2147483647 elements"):
        contenders.hpcc(Path("hpcc_stream"), here, 1, 1 << 31)


# --------------------------------------------------------------------------- the machine's pace


@pytest.mark.parametrize(
    ("around", "full"),
    [
        (paced(), True),
        (paced(core=0.96, stream=0.76, chase=0.93), True),
        (paced(core=0.94), False),
        (paced(stream=0.66), False),
        (paced(chase=0.87), False),
        (NOISY, False),
        (paced(load=Load(0.0, 0.02)), False),
        (Around(Load(None, None)), True),  # what could not be read is not held against it
    ],
)
def test_a_measurement_is_set_aside_beside_less_than_the_machines_pace_or_other_load(
    around: Around, full: bool
) -> None:
    assert around.full is full
    assert bool(pace.note(around)) is not full
    turned = replace(around, before=around.after, after=around.before)
    assert turned.full is full


def test_every_measurement_is_judged_by_the_best_of_the_whole_series() -> None:
    slow = {kind: 0.8 * rate for kind, rate in BEST.items()}
    early, late = Around(QUIET.load, slow, slow, slow), Around(QUIET.load, BEST, BEST, BEST)
    assert early.full  # as far as was known then
    series = pace.judged([once(1, "a", None, early), once(2, "a", None, late), once(3, "a", None, Around(QUIET.load))])
    assert [m.around.full for m in series] == [False, True, True]
    assert series[0].around.shares == pytest.approx({"core": 0.8, "stream": 0.8, "chase": 0.8})


def test_the_pace_is_that_of_the_slowest_processor_and_the_best_no_reading_gone_wrong() -> None:
    look = {
        "cpu": [0, 1, 0, 1, 0, 1],
        "core_clock": [3e9, 3e9, 3e9, 3e9, 3e9, 9e9],
        "issued": [4.0, 2.0, 4.0, 2.0, 4.0, 4.0],
        "stream": [2e10, 1e10, 2e10, None, 2e10, 1e10],
        "chase": [1e-7, 2e-7] * 3,
    }
    around = watch(**look).measure(lambda: 1, (0, 1)).around
    assert around.before["core"] == pytest.approx(12e9)  # of processor 0: the other one's mean is 16e9
    assert around.before["stream"] == pytest.approx(1e10)
    assert around.before["chase"] == pytest.approx(5e6)
    assert around.best["core"] == pytest.approx(12e9)  # the third best: 36e9 was read twice, before and after
    assert around.best["chase"] == pytest.approx(1e7)


def test_only_the_processors_that_are_used_are_looked_at() -> None:
    told = Told(cpu=[1], core_clock=[3e9], issued=[4.0], stream=[2e10], chase=[1e-7])
    found = pace.Watch(told, tuple(range(128))).measure(lambda: 1, (1,))
    assert told.asked == ["look=0.1 threads=1 cpus=1"] * 2
    assert found.value == 1
    pace.Watch(told, tuple(range(128))).measure(lambda: 1)
    assert told.asked[-1].startswith("look=6.4 threads=128 cpus=0,1,2,")


def test_how_near_two_processors_are_counts_where_they_talk_to_each_other() -> None:
    found = watch(cpu=[0, 1], core_clock=[3e9, 3e9], issued=[4.0, 4.0]).measure(lambda: 1, (0, 1), line=True).around
    assert found.before["line"] == found.after["line"] == pytest.approx(1 / 30e-9)  # one way
    assert found.shares == pytest.approx({"core": 1.0, "line": 1.0})
    far = replace(found, after={"line": 1 / 61e-9})
    assert far.slow == ["line"]
    assert "line at 0.49 of the best" in pace.note(far)
    assert pace.table([("ours", far)])[0] == ["pace, of the best", "core", "line", "at full pace"]


def test_a_watch_whose_program_has_gone_lets_the_series_go_on() -> None:
    found = watch().measure(lambda: 1)
    assert (found.value, found.around.before, found.around.shares) == (1, {}, {})
    assert pace.summary([found.around]).endswith(" The pace beside 1 is unknown.")


def test_how_many_measurements_are_set_aside_is_told_with_the_causes() -> None:
    series = [QUIET, SHARED, paced(core=0.5, chase=0.5), NOISY]
    assert pace.summary(series) == (
        "3 of 4 measurements are set aside: core below 0.95 of the best in 2, chase below 0.92 of the best in 1, "
        "other load or steal in 1."
    )
    assert pace.summary([QUIET]) == "All 1 measurements were at the machine's full pace."


def test_the_table_of_paces_has_the_median_and_the_worst_share_of_each_side() -> None:
    head, *rows = pace.table([("ours", paced(core=c)) for c in (0.6, 0.95, 1.0)] + [("imb", Around(QUIET.load))])
    assert head == ["pace, of the best", "core", "stream", "chase", "at full pace"]
    assert rows == [
        ["imb", "unknown", "unknown", "unknown", "1 of 1"],
        ["ours", "0.95, worst 0.60", "1.00, worst 1.00", "1.00, worst 1.00", "2 of 3"],
    ]
    told = ratios.paces([("ours", SHARED)])
    assert "10.0·10⁹ additions a second from a core, a read of the memory at 20.0 GB/s, 100 ns an access" in told


ROUNDS = st.dictionaries(st.integers(1, 9), st.tuples(st.floats(0.1, 10), st.booleans()))


@given(ROUNDS, ROUNDS)
def test_the_rounds_at_full_pace_are_those_of_both_sides_and_none_is_lost(above: Any, below: Any) -> None:
    found = ratios.ratio(above, below)
    both = above.keys() & below.keys()
    assert (found.all.count if found.all else 0) == len(both)
    assert (found.full.count if found.full else 0) == sum(above[n][1] and below[n][1] for n in both)
    assert found.best_known == (found.full or found.all)
    assert (" at full pace" in ratios.sentence(found)) == (found.all is not None and not found.whole)
    assert len(ratios.cells(found)) == 3


def test_time_of_children_that_still_run_is_ours() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], stdout=subprocess.DEVNULL) as busy:
        while pace.accounts()[1] - sum(os.times()[:4]) < 0.05:  # what is not in our own account: it comes, or never
            time.sleep(0.01)
        busy.kill()


# --------------------------------------------------------------------------- ratios


def test_a_drift_that_both_share_drops_out_of_the_paired_ratio() -> None:
    drift = [1.0, 1.1, 1.3]
    series = [once(i, contenders.OURS, Rates(best=99 * d, mean=95 * d, median=96 * d)) for i, d in enumerate(drift)]
    series += [once(i, "hpcc", Rates(best=100 * d, mean=90 * d)) for i, d in enumerate(drift)]
    (standing,) = ratios.standings(series)
    assert standing.statistic == "best"
    assert standing.alike.all == Range(*[pytest.approx(0.99)] * 3, count=3)
    assert standing.strict.all == Range(*[pytest.approx(0.96)] * 3, count=3)


def test_a_mean_is_compared_with_a_mean() -> None:
    series = [
        once(1, contenders.OURS, Rates(best=120.0, mean=100.0, median=101.0)),
        once(1, "likwid x", Rates(mean=80.0)),
    ]
    (standing,) = ratios.standings(series)
    assert standing.statistic == "mean"
    assert standing.alike.all == Range(*[pytest.approx(1.25)] * 3, count=1)


def test_rounds_that_only_one_of_both_finished_do_not_count() -> None:
    series = [once(i, contenders.OURS, Rates(best=90.0, mean=90.0, median=90.0)) for i in (1, 2)]
    series += [once(1, "hpcc", None, error="killed"), once(2, "hpcc", Rates(best=100.0))]
    (standing,) = ratios.standings(series)
    assert standing.alike.all == Range(*[pytest.approx(0.9)] * 3, count=1)


def test_the_sentence_names_the_fastest_peer_of_the_same_stores_and_says_when_ours_is_below() -> None:
    own, fast, slow = Rates(best=95.0, mean=95.0, median=95.0), Rates(best=100.0), Rates(mean=50.0)
    series = [once(1, contenders.OURS, own), once(1, "likwid slow", slow), once(1, "hpcc", fast)]
    series += [once(1, contenders.OURS, own, stores="streaming")]
    series += [once(1, "likwid past", Rates(mean=94.0), stores="streaming")]
    ordinary, streaming = ratios.summary(series)
    assert ordinary.startswith("ordinary stores, 1 thread: ours over hpcc (best with best): 0.950 [0.950, 0.950]")
    assert ordinary.endswith("BELOW 0.98")
    assert "likwid past" in streaming
    assert "BELOW" not in streaming


def test_rounds_at_full_pace_decide_where_there_are_some() -> None:
    own = [once(1, contenders.OURS, Rates(best=50.0, mean=50.0, median=50.0), NOISY)]
    own += [once(2, contenders.OURS, Rates(best=99.0, mean=99.0, median=99.0))]
    own += [once(3, contenders.OURS, Rates(best=40.0, mean=40.0, median=40.0), SHARED)]
    (line,) = ratios.summary([*own, *(once(i, "hpcc", Rates(best=100.0)) for i in (1, 2, 3))])
    assert "0.990 [0.990, 0.990] in the 1 of 3 rounds at full pace, 0.500 [0.400, 0.990] in all" in line
    assert "BELOW" not in line


def test_a_low_ratio_from_disturbed_rounds_alone_is_marked_as_such() -> None:
    own = once(1, contenders.OURS, Rates(best=50.0, mean=50.0, median=50.0))
    (line,) = ratios.summary([own, once(1, "hpcc", Rates(best=100.0), SHARED)])
    assert "no round at full pace; 0.500 [0.500, 0.500] in all 1" in line
    assert line.endswith("BELOW 0.98 (disturbed)")


def test_without_a_peer_the_sentence_says_so() -> None:
    (line,) = ratios.summary([once(1, contenders.OURS, Rates(best=1.0, mean=1.0, median=1.0))])
    assert line == "ordinary stores, 1 thread: no ratio, because ours or every peer is missing"


def test_the_table_has_every_contender_the_fastest_first_and_the_failed_last() -> None:
    series = [
        once(1, "broken", None, error="signal 11"),
        once(1, contenders.OURS, Rates(best=2e9, mean=2e9, median=2e9)),
        once(1, "hpcc", Rates(best=3e9), NOISY),
    ]
    head, *rows = ratios.table(series)
    assert [row[2] for row in rows] == ["hpcc", contenders.OURS, "broken"]
    assert [row[3] for row in rows] == ["best", "best", "failed"]
    assert rows[0][6:] == ["no round at full pace", "0 of 1", "0.667 [0.667, 0.667]", "0.667 [0.667, 0.667]"]
    assert all(len(row) == len(head) for row in rows)


def test_columns_are_aligned() -> None:
    assert ratios.layout([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc  d"


# --------------------------------------------------------------------------- the series


def test_every_round_has_every_contender_once_in_an_order_of_its_own() -> None:
    present = [Contender(f"c{i}", "ordinary", 1, lambda: Rates(best=1.0)) for i in range(8)]
    series = peers.carry_out(present, 3, seed=1, wait=lambda: True, watch=watch())
    orders = [[m.name for m in series if m.round == number] for number in (1, 2, 3)]
    assert [sorted(order) for order in orders] == [[c.name for c in present]] * 3
    assert len({tuple(order) for order in orders}) == 3
    assert series[0].name == peers.carry_out(present, 1, seed=1, wait=lambda: True, watch=watch())[0].name


def test_a_contender_that_fails_does_not_stop_the_series() -> None:
    def fail() -> Rates:
        raise ValueError("no Triad\nand more")

    present = [
        Contender("bad", "ordinary", 1, fail),
        Contender("good", "ordinary", 1, lambda: Rates(best=1.0)),
    ]
    series = peers.carry_out(present, 1, seed=1, wait=lambda: False, watch=watch())
    assert {m.name: m.rates for m in series} == {"bad": None, "good": Rates(best=1.0)}
    assert "Failed: bad: ValueError: no Triad" in peers.explanation(series)
    assert not any(m.waited for m in series)


def test_the_load_of_others_leaves_our_own_out() -> None:
    # 10 s: the processors were busy for 12 s, 9 of them for us; 0.5 s were stolen.
    load = pace.load_between((100.0, 5.0, 50.0, 1.0), (110.0, 14.0, 62.0, 1.5))
    assert load.other == pytest.approx(0.3)
    assert load.steal == pytest.approx(0.05 / (os.cpu_count() or 1))
    assert not load.quiet


def test_an_unreadable_account_is_unknown(tmp_path: Path) -> None:
    before = pace.accounts(tmp_path / "missing")
    assert pace.load_between(before, (before[0] + 1, *before[1:])) == Load(None, None)


def test_the_c_compiler_goes_with_the_cpp_compiler(tmp_path: Path) -> None:
    for name in ("gcc-12", "g++-12", "clang++"):
        (tmp_path / name).touch(mode=0o755)
    assert peers.c_compiler(str(tmp_path / "g++-12")) == str(tmp_path / "gcc-12")
    with pytest.raises(hpcc.MissingError, match="no C compiler goes with"):
        peers.c_compiler(str(tmp_path / "clang++"))


# --------------------------------------------------------------------------- APT's sources

DEB822 = """\
Types: deb
# http://snapshot.debian.org/archive/debian/20250520T000000Z
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
Enabled: no
URIs: http://example.org/off
Suites: bookworm
Components: main

Types: deb
URIs: http://example.org/own
Suites: bookworm
Components:
 main
 contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEY=
"""


def test_sources_are_read_from_the_deb822_format() -> None:
    key = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    assert hpcc.parse_deb822(DEB822) == [
        Source("http://deb.debian.org/debian", "bookworm", ("main",), key),
        Source("http://deb.debian.org/debian", "bookworm-updates", ("main",), key),
        Source("http://example.org/own", "bookworm", ("main", "contrib")),
    ]


def test_sources_are_read_from_the_one_line_format() -> None:
    text = (
        "# deb http://example.org/off jammy main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://archive.ubuntu.com/ubuntu/ jammy main universe # mirror\n"
        "deb-src http://archive.ubuntu.com/ubuntu jammy main\n"
    )
    assert hpcc.parse_one_line(text) == [
        Source("http://archive.ubuntu.com/ubuntu/", "jammy", ("main", "universe"), "signed-by=/k.gpg"),
        Source("http://archive.ubuntu.com/ubuntu", "jammy", ("main",)),
    ]


def test_only_the_release_itself_is_asked_for_source_packages_and_once() -> None:
    found = [
        Source("http://deb.debian.org/debian", "bookworm", ("main", "contrib"), "signed-by=/k.gpg"),
        Source("http://deb.debian.org/debian/", "bookworm", ("main",), "signed-by=/k.gpg"),
        Source("http://deb.debian.org/debian", "bookworm-updates", ("main",)),
        Source("https://example.org/apt", "nodistro", ("main",)),
    ]
    lines = [source.line() for source in hpcc.source_list(found, "bookworm")]
    assert lines == ["deb-src [signed-by=/k.gpg] http://deb.debian.org/debian/ bookworm main"]


# --------------------------------------------------------------------------- nodes and applications


def node(number: int, name: str, rate: float | None, around: Around = QUIET) -> nodes.Measurement:
    return nodes.Measurement(number, name, 1, rate, around, "" if rate else "killed")


def test_the_roof_of_a_node_is_the_better_triad_of_the_same_round() -> None:
    series = [node(1, "triad, ordinary stores", 20.0), node(1, "triad, streaming stores", 30.0)]
    series += [node(2, "triad, ordinary stores", 25.0), node(2, "triad, streaming stores", 20.0, SHARED)]
    series += [node(1, "vector", 27.0), node(2, "vector", 25.0), node(3, "vector", 25.0), node(3, "blas", None)]
    (vector,) = [c for c in nodes.contenders(1) if c.name == "vector"]
    found = nodes.standing(series, vector, 1)
    assert found.all == Range(0.95, 0.9, 1.0, 2)
    assert found.full == Range(0.9, 0.9, 0.9, 1)


def test_an_application_is_set_beside_the_scale_of_its_own_round() -> None:
    entry, triad = applications.Entry("cg", "threads", "A", 2), applications.Entry("likwid", "triad", "", 2)
    figure, reference = applications.SCALES["triad"][3][1], applications.REFERENCE["cg", "threads"][1]
    rates = [(1, entry, reference, QUIET), (1, triad, figure, QUIET)]
    rates += [(2, entry, reference, QUIET), (2, triad, 2 * figure, SHARED)]
    series = [applications.Measurement(*m) for m in rates]
    found = applications.standing(series, entry)
    assert found == Ratio(Range(0.75, 0.5, 1.0, 2), Range(1.0, 1.0, 1.0, 1))
    assert applications.standing(series, replace(entry, letter="B")) is None


def test_the_solver_is_set_beside_cg_and_the_roof_of_its_own_round(capsys: pytest.CaptureFixture[str]) -> None:
    rates = [("triad", 20e9, QUIET), ("cg", 10e9, QUIET), ("solver", 15e9, QUIET), ("assembly", None, QUIET)]
    series = [elements.Measurement(1, elements.Entry(name, 2), rate, around) for name, rate, around in rates]
    series += [elements.Measurement(2, elements.Entry("triad", 2), 30e9, SHARED)]
    elements.show(series)
    printed = capsys.readouterr().out
    assert "CG over the roof: 0.500 [0.500, 0.500]" in printed
    assert "the solver over the roof: 0.750 [0.750, 0.750]" in printed
    assert "the solver over CG (wanted 1): 1.500 [1.500, 1.500]" in printed


# --------------------------------------------------------------------------- the tool's own cost


def run_folder(path: Path, seconds: float, finished: bool = True) -> Path:
    """A run of two records, 2 s of sampling each, and one that failed."""
    surroundings = {"processor_seconds": {"elapsed": 2.0}}
    good = builders.result("memory.stream", "triad", {}, 1.0, {}, launches=2, surroundings=surroundings, spread=0)
    bad = builders.result("memory.stream", "triad", {}, 1.0, {}, launches=1, error="killed", level="INVALID")
    run = builders.evaluation([good, bad]).run
    folder = RunFolder.create(path, run.machine, run.plan, {})
    for record in (*good.records, *bad.records):
        folder.append(record)
    if finished:
        folder.finish({})
        os.utime(folder.path / "run.json", (1000.0, 1000.0))
        os.utime(folder.path / "finished.json", (1000.0 + seconds, 1000.0 + seconds))
    folder.close()
    return folder.path


def test_the_share_outside_sampling_follows_from_a_runs_folder(tmp_path: Path) -> None:
    found = overhead.of_run(run_folder(tmp_path, 5.0))
    assert (found.sampling, found.measuring, found.cases, found.unknown) == (4.0, 5.0, 3, 1)
    assert found.timed == pytest.approx(60.0)  # 30 samples of 1 s in both
    assert found.outside == pytest.approx(0.2)
    assert "outside sampling: 20.0 %" in overhead.describe(found)
    assert "1 records failed" in overhead.describe(found)


def test_the_command_counts_whole_where_it_was_timed(tmp_path: Path) -> None:
    assert overhead.of_run(run_folder(tmp_path, 5.0), command=8.0).outside == pytest.approx(0.5)


def test_a_run_that_was_not_finished_has_no_wall_time(tmp_path: Path) -> None:
    with pytest.raises(MachineFailed, match="was not finished"):
        overhead.of_run(run_folder(tmp_path, 5.0, finished=False))


# --------------------------------------------------------------------------- messages

# Recorded on MPICH 5.0.2 beside other work; the sizes between are left out.
PINGPONG = """\
# PingPong

#---------------------------------------------------
# Benchmarking PingPong
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.77         0.00
            8         1000         0.76        10.57
      4194304           10       780.16      5376.18


# All processes entering MPI_Finalize

"""
SENDRECV = """\
# Benchmarking Sendrecv
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8         1000         3.44         3.44         3.44         4.65
      4194304           10       379.67       677.53       528.60     12381.11
"""
words_around = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60).map("# ".__add__)


def swept(at_8: float = 1e-6, width: float = 0.01, sweep: float = 2.0, faults: int = 0, **others: float) -> Sweep:
    """A sweep in which every size takes `at_8`, with an interval of ± `width`; `cached`: the time at 128 KiB."""
    point = Point(at_8, at_8, at_8 * (1 - width), at_8 * (1 + width), 100)
    points = dict.fromkeys(imb.SIZES, point)
    points[sweeps.CACHED] = replace(point, seconds=others.get("cached", at_8))
    return Sweep(points, sweep, sweep + 1, faults, int(faults > 0))


def side(
    number: int, name: str, sweep: Sweep | None, buffers: str = "reused", around: Around = QUIET
) -> sweeps.Measurement:
    why = "" if sweep else "killed"
    return sweeps.Measurement(number, "mpich", "pingpong", name, buffers, sweep, around, True, why)


def standing_of(series: list[sweeps.Measurement], words: str) -> sweeps.Standing:
    (found,) = [s for s in sweeps.standings(series) if s.quantity.startswith(words)]
    return found


def answer(**changes: Any) -> dict[str, Any]:
    """A record of ours for one size: four round trips."""
    surroundings = {"ranks": {"cpus": [0, 1]}, "samples": {"faults": [0, 3, 0, 2]}}
    return {"samples": [2e-6, 4e-6, 2e-6, 8e-6], "surroundings": surroundings, "check": {"passed": True}} | changes


def test_a_line_of_imb_is_a_mean_known_to_half_of_its_last_digit() -> None:
    table = imb.rows(PINGPONG)
    assert list(table) == [0, 8, 4194304]
    assert table[8] == Row(1000, pytest.approx(0.76e-6), pytest.approx(0.005e-6))
    # MB are 10^6 bytes, and the time is that of one way: 4 MiB / 780.16 us.
    assert 4194304 / table[4194304].seconds == pytest.approx(5376.18e6, rel=1e-5)


def test_the_time_of_an_exchange_is_that_of_the_slower_rank() -> None:
    table = imb.rows(SENDRECV)
    assert table[4194304].seconds == pytest.approx(677.53e-6)
    assert 2 * 4194304 / table[4194304].seconds == pytest.approx(12381.11e6, rel=1e-5)


@given(
    st.dictionaries(st.integers(0, 1 << 30), st.tuples(st.integers(1, 10**6), st.integers(0, 10**9)), min_size=1),
    st.sampled_from([0, 2, 4]),
    st.lists(words_around, max_size=3),
)
def test_every_table_that_imb_prints_is_read_back(
    lines: dict[int, tuple[int, int]], digits: int, around: list[str]
) -> None:
    head = f"{'#bytes':>13} {'#repetitions':>12} {'t[usec]':>12} {'Mbytes/sec':>12}"
    body = [f"{size:>13} {n:>12} {t / 10**digits:>12.{digits}f} {0:>12.2f}" for size, (n, t) in lines.items()]
    found = imb.rows("\n".join([*around, head, *body, "", *around]))
    assert list(found) == list(lines)
    for size, (repetitions, took) in lines.items():
        assert found[size].repetitions == repetitions
        assert found[size].seconds == pytest.approx(took / 10**digits * 1e-6)
        assert found[size].resolution == pytest.approx(0.5e-6 / 10**digits)


def test_an_output_of_imb_without_a_table_or_with_two_is_refused() -> None:
    with pytest.raises(ValueError, match="no table: Abort"):
        imb.rows("Abort(1) on node 0\n")
    with pytest.raises(ValueError, match="two tables"):
        imb.rows(PINGPONG + SENDRECV)


def program(folder: Path, text: str) -> imb.Start:
    (folder / "peer").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "peer").chmod(0o755)
    return imb.Start(("env",), dict(os.environ), folder / "peer")


def test_a_peer_that_leaves_a_size_out_or_fails_is_refused_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"left out the sizes \[1, 2, 4, 16,"):
        imb.printed(program(tmp_path, f"cat <<'end'\n{PINGPONG}end"), "PingPong")
    with pytest.raises(MachineFailed, match="exit code 3") as failed:
        imb.printed(program(tmp_path, "echo no memory for $1 >&2; exit 3"), "PingPong")
    assert "no memory for PingPong" in str(failed.value)


def test_a_peers_sweep_lasts_from_the_head_of_its_table_to_the_last_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imb, "time", SimpleNamespace(monotonic=itertools.count().__next__))  # a second a line
    body = "\n".join(f"{size} 10 1.5" for size in imb.SIZES)
    told = imb.printed(program(tmp_path, f"cat <<'end'\nwelcome\n\n#bytes #repetitions t[usec]\n{body}\n\nend"))
    assert list(told.rows) == list(imb.SIZES)
    assert told.sweep == len(imb.SIZES)
    assert told.whole == 1 + 3 + len(imb.SIZES) + 1


def test_the_walk_of_imb_is_through_all_last_level_caches(here: Machine) -> None:
    assert imb.off_cache(105 << 20) == ["-off_cache", "105,64", "-mem", "2.0"]
    assert imb.off_cache(3 << 19) == ["-off_cache", "1.5,64", "-mem", "2.0"]
    # Two buffers of twice the caches each must fit into the memory that IMB allows itself.
    assert float(imb.off_cache(768 << 20)[3]) * 2**30 > 4 * 768 * 2**20
    two = tuple(Cache(3, "unified", 16 << 20, 64, (cpu,)) for cpu in (0, 1))
    inner = (Cache(1, "instruction", 1 << 15, 64, (0,)), Cache(2, "unified", 1 << 20, 64, (0,)))
    assert imb.last_level_caches(replace(here, caches=(*inner, *two))) == 32 << 20


def test_our_median_of_one_way_is_half_of_the_round_trip() -> None:
    sweep = sweeps.our_sweep({8: answer()}, "pingpong", (0, 1), 1.0, 2.0)
    assert (sweep.points[8].seconds, sweep.points[8].mean) == (pytest.approx(1.5e-6), pytest.approx(2e-6))
    assert (sweep.points[8].low, sweep.points[8].reached) == (None, False)  # four samples state no interval
    assert (sweep.faults, sweep.faulty) == (5, 2)
    exchange = sweeps.our_sweep({8: answer()}, "sendrecv", (0, 1), 1.0, 2.0)
    assert exchange.points[8].seconds == pytest.approx(3e-6)


def test_a_failed_check_or_other_processors_give_no_sweep() -> None:
    wrong = answer(check={"passed": False, "detail": "byte 3 is wrong"})
    with pytest.raises(ValueError, match="ours at 8 B: byte 3 is wrong"):
        sweeps.our_sweep({8: wrong}, "pingpong", (0, 1), 1.0, 2.0)
    with pytest.raises(ValueError, match=r"processors \[0, 1\], and was given \[0, 2\]"):
        sweeps.our_sweep({8: answer()}, "pingpong", (0, 2), 1.0, 2.0)


@given(st.floats(1e-8, 1e-2), st.floats(0, 0.5), st.floats(1e-8, 1e-2), st.sampled_from([0.0, 5e-9]))
@example(0.30e-6, 0.01, 0.307e-6, 5e-9)  # just above, as far as two decimals of a microsecond tell
@example(0.30e-6, 0.01, 0.293e-6, 5e-9)
def test_the_peers_figure_lies_above_within_or_below_our_interval_and_its_rounding_is_granted(
    median: float, width: float, mean: float, resolution: float
) -> None:
    own, other = Point(median, median, median * (1 - width), median * (1 + width), 100), Row(1000, mean, resolution)
    said = sweeps.verdict(own, sweeps.their_point(other))
    assert own.low is not None
    assert own.high is not None
    below, above = mean + resolution < own.low, mean - resolution > own.high
    assert said == ("below" if below else "above" if above else "within")


def test_ratios_of_messages_are_paired_by_round() -> None:
    drift = {1: 1.0, 2: 1.5, 3: 3.0}
    series = [side(n, "ours", swept(0.5e-6 * d, sweep=4.0)) for n, d in drift.items()]
    series += [side(n, "imb", swept(1e-6 * d, sweep=1.0)) for n, d in drift.items()]
    at_8, rate = standing_of(series, "time at 8 B, our median"), standing_of(series, "bandwidth at 1 MiB, our median")
    assert at_8.peer == "imb"
    assert at_8.ratio.full == Range(*[pytest.approx(0.5)] * 3, count=3)
    assert rate.ratio.full == Range(*[pytest.approx(2.0)] * 3, count=3)
    assert standing_of(series, "sweep of 24 sizes").ratio.full == Range(4.0, 4.0, 4.0, 3)
    assert standing_of(series, "the same, start to end").ratio.full == Range(2.5, 2.5, 2.5, 3)


def test_a_round_in_which_either_side_was_disturbed_is_set_aside_but_counted() -> None:
    series = [side(n, "ours", swept(), around=SHARED if n == 1 else QUIET) for n in (1, 2, 3)]
    series += [side(n, "imb", swept(2e-6 if n == 3 else 1e-6), around=NOISY if n == 2 else QUIET) for n in (1, 2, 3)]
    found = standing_of(series, "time at 8 B, our median").ratio
    assert found.all.count == 3
    assert found.full == Range(*[pytest.approx(0.5)] * 3, count=1)


def test_fresh_over_reused_needs_both_of_both_in_one_round() -> None:
    own = [side(1, "ours", swept(cached=2e-5)), side(1, "ours", swept(cached=6e-5), "fresh")]
    other = [side(1, "imb", swept(cached=1e-5)), side(1, "imb", swept(cached=4e-5), "fresh", NOISY)]
    found = standing_of([*own, *other], "fresh over reused").ratio
    assert found == Ratio(Range(*[pytest.approx(0.75)] * 3, count=1), None)
    assert standing_of([*own, *other[:1]], "fresh over reused").ratio.all is None
    assert standing_of([*own, other[0], side(1, "imb", None, "fresh")], "fresh over reused").ratio.all is None


def test_a_ratio_at_8_bytes_beyond_what_was_expected_is_marked() -> None:
    (fine,) = sweeps.latencies([side(1, "ours", swept(1.04e-6)), side(1, "loop", swept())])
    assert fine == "mpich: our median at 8 B over the plain loop's mean: 1.040 [1.040, 1.040]"
    (off,) = sweeps.latencies([side(1, "ours", swept(1.06e-6)), side(1, "loop", swept(), around=SHARED)])
    assert off.endswith("no round at full pace; 1.060 [1.060, 1.060] in all 1  <-- NOT WITHIN 0.95 … 1.05 (disturbed)")


def test_only_the_sizes_that_were_asked_for_must_be_in_a_peers_table(tmp_path: Path) -> None:
    body = "#bytes #repetitions t[usec]\n8 100000 0.2512"
    told = imb.printed(program(tmp_path, f"cat <<'end'\n{body}\nend"), "PingPong", "0", "100000", "8", sizes=(8,))
    assert told.rows == {8: Row(100_000, pytest.approx(0.2512e-6), pytest.approx(0.5e-10))}


def test_the_sentence_about_messages_counts_rounds_sizes_and_page_faults() -> None:
    series = [side(n, "ours", swept(width=w)) for n, w in ((1, 0.01), (2, 0.05))]
    series += [side(1, "imb", swept(1.005e-6, 0.0)), side(2, "imb", swept(2e-6, 0.0))]
    series += [side(1, "ours", swept(faults=7), "fresh")]
    line, length = sweeps.summary(series)
    assert length == "mpich, pingpong: our sweep over the peer's: 1.000 [1.000, 1.000]"
    assert line.startswith(
        "mpich, pingpong: at 8 B the mean of imb beside our median's interval: above it 1×, within it 1×"
    )
    assert "12 [0, 24] of our 24 sizes reached ± 2 %" in line
    assert "page faults: 7 in 1 of our 2400 fresh samples" in line


def test_the_table_of_messages_has_every_quantity_and_says_where_a_side_failed() -> None:
    head, *rows = sweeps.table([side(1, "ours", swept()), side(1, "imb", None)])
    assert [row[2] for row in rows] == [q.name for q in sweeps.QUANTITIES]
    assert {row[5] for row in rows} == {"failed"}
    assert rows[0][3:] == ["1.00 µs", "imb", "failed", "none", "", ""]
    assert all(len(row) == len(head) for row in rows)


def test_in_every_round_the_sides_of_a_pair_follow_each_other() -> None:
    present = [
        messages.Contender(mpi, pattern, name, buffers, swept)
        for mpi in ("a", "b")
        for pattern in imb.PATTERNS
        for name in ("ours", "imb")
        for buffers in ("reused", "fresh")
    ]
    series = messages.carry_out(present, 3, seed=1, wait=lambda: True, watch=watch())
    for number in (1, 2, 3):
        pairs = [(m.mpi, m.pattern) for m in series if m.round == number]
        assert len(pairs) == 16
        assert all(len(set(pairs[i : i + 4])) == 1 for i in range(0, 16, 4))
    assert len({tuple(m.side + m.buffers for m in series if m.round == n) for n in (1, 2, 3)}) == 3


def test_a_side_that_fails_does_not_stop_the_others() -> None:
    def fail() -> Sweep:
        raise ValueError("left out the sizes [8]\nand more")

    present = [messages.Contender("a", "pingpong", "imb", "reused", fail)]
    present += [messages.Contender("a", "pingpong", "ours", "reused", swept)]
    series = messages.carry_out(present, 1, seed=1, wait=lambda: False, watch=watch())
    assert {m.side: m.sweep for m in series} == {"imb": None, "ours": swept()}
    assert "Failed: a pingpong imb: ValueError: left out the sizes [8]" in messages.explanation(series)


def test_what_would_have_to_be_installed_is_told_where_that_is_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    with pytest.raises(hpcc.MissingError, match="impi-rt and impi-devel would have to be installed"):
        imb.environment("impi", install=False)
    assert not list(tmp_path.iterdir())


LAMMPS_OUTPUT = """   Step          Temp          E_pair         E_mol          TotEng         Press
       0               0.72 -6.33281199244063                  0  -5.25284574244063 -5.6275123
     100  0.379975180012345  -5.8226924              0 -5.2527474   -2.8289677
Loop time of 1.25 on 1 procs for 100 steps with 32000 atoms
"""


def test_lammps_speed_and_energies_are_read_from_what_it_prints() -> None:
    found = lammps.read(LAMMPS_OUTPUT)
    assert found.rate == 2.56e6
    assert (found.before, found.after) == (-6.33281199244063, -5.8226924)


@pytest.mark.parametrize("gone", ["Loop time", "     100 ", "for 100 steps"])
def test_an_output_of_lammps_that_lacks_something_is_refused(gone: str) -> None:
    with pytest.raises(ValueError, match="no loop time, or not the energies"):
        lammps.read(LAMMPS_OUTPUT.replace(gone, ""))


def test_lammps_gets_a_lattice_whose_particles_have_no_momentum_and_the_temperature(tmp_path: Path) -> None:
    text = lammps.written(tmp_path, 3, 0.72).read_text()
    atoms, velocities = (
        Path(text.split("read_data ")[1].split()[0]).read_text().split("Atoms # atomic")[1].split("Velocities")
    )
    moving = [[float(word) for word in row.split()[1:]] for row in velocities.split("\n") if row]
    assert len(atoms.split("\n\n")[1].splitlines()) == len(moving) == 108
    assert [sum(v) for v in zip(*moving, strict=True)] == pytest.approx([0, 0, 0], abs=1e-12)
    assert sum(x * x for v in moving for x in v) / (3 * 107) == pytest.approx(0.72, rel=1e-12)


# --------------------------------------------------------------------------- devices


def rows_of(
    ours: list[dict[str, float]], theirs: list[dict[str, dict[str, float]]], name: str = ""
) -> dict[str, list[str]]:
    """Of each figure: what its rows end with."""
    found: dict[str, list[str]] = {}
    for row in device_peers.list_rows(ours, theirs, name):
        found.setdefault(row[0], []).append(row[-1])
    return found


def test_a_device_is_compared_with_the_best_peer_and_with_itself() -> None:
    ours = [{"triad": 4.1e12, "launch": 2.4e-6, "double_units": 6e13}, {"triad": 4.3e12, "launch": 2.41e-6}]
    theirs = [{"cupy": {"triad": 4.2e12, "double": 6.1e13}, "plain": {"triad": 4.28e12, "launch": 2.7e-6}}]
    found = rows_of(ours, theirs, "NVIDIA H200")
    assert found["triad"] == ["pass", "pass", "FAIL"]  # 4.2 of 4.28 TB/s; at least 4.2 TB/s; two runs 5 % apart
    assert found["launch"] == ["FAIL", "pass"]  # 11 % below the peer
    assert found["double_units"] == ["pass"]  # beside the product of cuBLAS
    assert found["half"] == ["FAIL"]  # ours is missing
    assert rows_of([{"half": 7e14}], [{}])["half"] == ["-"]  # no peer
    assert rows_of([{"to_device": 5e10}], [{"cupy": {"to_device": 5.2e10}}])["to_device"] == ["FAIL"]


def test_every_figure_of_a_device_has_a_bound_and_is_a_case_of_a_quick_run() -> None:
    from steelyard.measure.plan import EFFORTS, catalogue
    from steelyard.model import Device

    assert device_peers.BOUNDS.keys() == device_peers.OURS.keys()
    facts = {"compiler": "nvrtc", "library": "cublas", "capability": "9.0", "last_cache": 62914560}
    h200 = Device(0, "NVIDIA H200", "GPU", 150109880320, False, door="cuda", facts=facts)
    where, found = builders.machine(devices=(h200,)), catalogue.find()
    for benchmark, kernel, metric, parameters in device_peers.OURS.values():
        values: dict[str, set[Any]] = {}
        for block in found[benchmark].axes(where, EFFORTS["quick"]):
            if kernel in block.values["kernel"]:
                for name, of_axis in block.values.items():
                    values.setdefault(name, set()).update(of_axis)
        assert all(value in values[name] for name, value in parameters.items()), (benchmark, kernel, parameters)
        assert metric in {one.name for one in found[benchmark].metrics}


def test_the_script_for_devices_is_right_in_its_form() -> None:
    script = ROOT / "bench" / "device.sh"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    answer = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "folder with the wheels" in answer.stderr
