"""The pure parts of the comparison with other tools: recorded outputs, pairing by round, APT's sources."""

import os
import sys
from pathlib import Path

import pytest

import builders
from steelyard.errors import MachineFailed
from steelyard.model import Machine
from steelyard.records import RunFolder

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import contenders
import hpcc
import overhead
import peers
import ratios
from contenders import Contender, Rates
from hpcc import Source
from ratios import Load, Measurement

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
QUIET = Load(0.01, 0.0)
NOISY = Load(0.8, 0.0)


def once(
    number: int,
    name: str,
    rates: Rates | None,
    load: Load = QUIET,
    *,
    stores: str = "ordinary",
    error: str = "",
) -> Measurement:
    return Measurement(number, name, stores, 1, rates, load, True, 2.0, error)


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


# --------------------------------------------------------------------------- ratios


def test_a_drift_that_both_share_drops_out_of_the_paired_ratio() -> None:
    drift = [1.0, 1.1, 1.3]
    series = [once(i, contenders.OURS, Rates(best=99 * d, mean=95 * d, median=96 * d)) for i, d in enumerate(drift)]
    series += [once(i, "hpcc", Rates(best=100 * d, mean=90 * d)) for i, d in enumerate(drift)]
    (standing,) = ratios.standings(series)
    assert standing.statistic == "best"
    assert standing.alike is not None
    assert standing.alike.low == pytest.approx(0.99)
    assert standing.alike.high == pytest.approx(0.99)
    assert standing.strict is not None
    assert standing.strict.median == pytest.approx(0.96)


def test_a_mean_is_compared_with_a_mean() -> None:
    series = [
        once(1, contenders.OURS, Rates(best=120.0, mean=100.0, median=101.0)),
        once(1, "likwid x", Rates(mean=80.0)),
    ]
    (standing,) = ratios.standings(series)
    assert standing.statistic == "mean"
    assert standing.alike is not None
    assert standing.alike.median == pytest.approx(1.25)


def test_rounds_that_only_one_of_both_finished_do_not_count() -> None:
    series = [once(i, contenders.OURS, Rates(best=90.0, mean=90.0, median=90.0)) for i in (1, 2)]
    series += [once(1, "hpcc", None, error="killed"), once(2, "hpcc", Rates(best=100.0))]
    (standing,) = ratios.standings(series)
    assert standing.alike is not None
    assert standing.alike.count == 1
    assert standing.alike.median == pytest.approx(0.9)


def test_the_sentence_names_the_fastest_peer_of_the_same_stores_and_says_when_ours_is_below() -> None:
    own, fast, slow = Rates(best=95.0, mean=95.0, median=95.0), Rates(best=100.0), Rates(mean=50.0)
    series = [once(1, contenders.OURS, own), once(1, "likwid slow", slow), once(1, "hpcc", fast)]
    series += [once(1, contenders.OURS, own, stores="streaming")]
    series += [once(1, "likwid past", Rates(mean=94.0), stores="streaming")]
    ordinary, streaming = ratios.summary(series)
    assert ordinary.startswith("ordinary stores, 1 thread: ours is 0.950 [0.950, 0.950] of hpcc (best with best)")
    assert ordinary.endswith("BELOW 0.98")
    assert "likwid past" in streaming
    assert "BELOW" not in streaming


def test_quiet_rounds_decide_where_there_are_some() -> None:
    own = [once(1, contenders.OURS, Rates(best=50.0, mean=50.0, median=50.0), NOISY)]
    own += [once(2, contenders.OURS, Rates(best=99.0, mean=99.0, median=99.0))]
    own += [once(3, contenders.OURS, Rates(best=40.0, mean=40.0, median=40.0), NOISY)]
    (line,) = ratios.summary([*own, *(once(i, "hpcc", Rates(best=100.0)) for i in (1, 2, 3))])
    assert "0.990 [0.990, 0.990] in the 1 of 3 rounds quiet for both" in line
    assert "BELOW" not in line


def test_a_low_ratio_from_disturbed_rounds_alone_is_marked_as_such() -> None:
    own = once(1, contenders.OURS, Rates(best=50.0, mean=50.0, median=50.0), NOISY)
    (line,) = ratios.summary([own, once(1, "hpcc", Rates(best=100.0))])
    assert "no round was quiet for both" in line
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
    assert [row[6] for row in rows] == ["0 of 1", "1 of 1", ""]
    assert rows[0][7] == "0.667 [0.667, 0.667]"
    assert all(len(row) == len(head) for row in rows)


def test_columns_are_aligned() -> None:
    assert ratios.layout([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc  d"


# --------------------------------------------------------------------------- the series


def test_every_round_has_every_contender_once_in_an_order_of_its_own() -> None:
    present = [Contender(f"c{i}", "ordinary", 1, lambda: Rates(best=1.0)) for i in range(8)]
    series = peers.carry_out(present, 3, seed=1, wait=lambda: True)
    orders = [[m.name for m in series if m.round == number] for number in (1, 2, 3)]
    assert [sorted(order) for order in orders] == [[c.name for c in present]] * 3
    assert len({tuple(order) for order in orders}) == 3
    assert series[0].name == peers.carry_out(present, 1, seed=1, wait=lambda: True)[0].name


def test_a_contender_that_fails_does_not_stop_the_series() -> None:
    def fail() -> Rates:
        raise ValueError("no Triad\nand more")

    present = [
        Contender("bad", "ordinary", 1, fail),
        Contender("good", "ordinary", 1, lambda: Rates(best=1.0)),
    ]
    series = peers.carry_out(present, 1, seed=1, wait=lambda: False)
    assert {m.name: m.rates for m in series} == {"bad": None, "good": Rates(best=1.0)}
    assert "Failed: bad: no Triad" in peers.explanation(series)
    assert not any(m.waited for m in series)


def test_the_load_of_others_leaves_our_own_out() -> None:
    # 10 s: the processors were busy for 12 s, 9 of them for us; 0.5 s were stolen.
    load = peers.load_between((100.0, 5.0, 50.0, 1.0), (110.0, 14.0, 62.0, 1.5))
    assert load.other == pytest.approx(0.3)
    assert load.steal == pytest.approx(0.05 / (os.cpu_count() or 1))
    assert not load.quiet


def test_an_unreadable_account_is_unknown(tmp_path: Path) -> None:
    before = peers.reading(tmp_path / "missing")
    assert peers.load_between(before, (before[0] + 1, *before[1:])) == Load(None, None)


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
