"""What the statistics of networks and noise claim holds: closed forms, planted truth, and few false alarms."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.statistics.difference import matrix, peers
from steelyard.statistics.models import artefact as artefacts
from steelyard.statistics.models import detours as noise
from steelyard.statistics.models import hockney, loggp
from steelyard.statistics.models.artefact import Caches, Point
from steelyard.statistics.models.loggp import Train
from steelyard.statistics.models.spectrum import find_rhythms

SIZES = [0, *(2**k for k in range(23))]  # 0 … 4 MiB
SECONDS = st.floats(min_value=1e-9, max_value=1e3)


# --------------------------------------------------------------------------- Hockney's lines


def points(time, scatter=0.0, seed=0, sizes=SIZES):
    random = np.random.default_rng(seed)
    return [(size, time(size) * math.exp(random.normal(0, scatter))) for size in sizes]


def one_line(size):
    return 1.2e-6 + 1e-10 * size


def rendezvous(size):
    return 4e-7 + 1e-10 * size if size <= 4096 else 1.8e-6 + 1.2e-10 * size


def outgrown_cache(size):
    return one_line(size) + 2e-10 * max(0, size - 300_000)


def test_a_line_gives_back_its_startup_rate_and_half_bandwidth():
    (region,) = hockney.fit_regions([(n, (n + 50) * 2e-9) for n in (0, 10, 100, 1000, 10_000)])
    found = hockney.half_bandwidth(region)
    assert (region.first, region.last) == (0, 10_000)
    assert region.startup == pytest.approx(1e-7)
    assert region.worst < 1e-12
    assert found == hockney.Bandwidth(pytest.approx(5e8), pytest.approx(50))


def test_each_protocol_gets_its_own_line_and_their_jump_is_a_switch():
    eager, long = hockney.fit_regions(points(rendezvous))
    assert (eager.first, eager.last, long.first, long.last) == (0, 4096, 8192, 2**22)
    assert (eager.startup, eager.per_byte) == (pytest.approx(4e-7), pytest.approx(1e-10))
    assert (long.startup, long.per_byte) == (pytest.approx(1.8e-6), pytest.approx(1.2e-10))
    (switch,) = hockney.switches((eager, long))
    assert (switch.after, switch.size) == (4096, 8192)
    assert switch.factor == pytest.approx(rendezvous(8192) / (4e-7 + 1e-10 * 8192))


@pytest.mark.parametrize("scatter", [0.0, 0.01])
def test_a_mere_change_of_slope_is_two_lines_but_no_switch(scatter):
    found = hockney.fit_regions(points(outgrown_cache, scatter, seed=4))
    assert len(found) == 2
    assert found[1].per_byte == pytest.approx(3e-10, rel=0.1)
    assert found[1].startup < 0
    assert hockney.half_bandwidth(found[1]).half is None
    assert hockney.switches(found) == ()


@pytest.mark.long
def test_noise_seldom_splits_a_line_and_a_switch_is_found_through_it():
    lines = [hockney.fit_regions(points(one_line, 0.03, seed)) for seed in range(60)]
    assert sum(len(found) > 1 for found in lines) <= 3
    assert sum(bool(hockney.switches(found)) for found in lines) <= 1
    jumps = [hockney.switches(hockney.fit_regions(points(rendezvous, 0.03, seed))) for seed in range(40)]
    assert sum(4096 in [jump.after for jump in found] for found in jumps) >= 38


def test_a_jump_downward_is_no_switch_of_the_slow_kind():
    found = hockney.fit_regions(points(lambda n: 5e-6 + 1e-10 * n if n <= 4096 else 2e-6 + 1e-10 * n))
    assert len(found) == 2
    assert hockney.switches(found) == ()


def test_a_time_that_does_not_grow_has_no_bandwidth():
    times = [1e-6 - 5e-8 * n for n in range(6)]
    (region,) = hockney.fit_regions(list(enumerate(times)))
    assert region.per_byte is None
    assert region.startup == pytest.approx(sum(1 / t for t in times) / sum(1 / t**2 for t in times))
    assert region.seconds(1e9) == region.startup
    assert hockney.half_bandwidth(region) is None


def test_two_sizes_make_no_line_and_impossible_points_are_refused():
    assert hockney.fit_regions([(0, 1e-6), (8, 2e-6), (8, 2.1e-6)]) == ()
    assert hockney.fit_regions([]) == ()
    for point in ((-1, 1e-6), (8, 0.0), (8, math.nan), (math.inf, 1e-6)):
        with pytest.raises(ValueError, match="expected bytes >= 0 and seconds > 0"):
            hockney.fit_regions([point])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2**20), st.floats(1e-7, 1e-2)), min_size=3, max_size=16), st.randoms())
def test_regions_part_the_sizes_in_any_order_and_unit(measured, random):
    found = hockney.fit_regions(measured)
    assert sum(len(region.residuals) for region in found) == (len(measured) if len({n for n, _ in measured}) > 2 else 0)
    assert all(a.last < b.first for a, b in pairwise(found))
    assert all(region.per_byte is None or region.per_byte > 0 for region in found)
    random.shuffle(measured)
    again = hockney.fit_regions([(n, 1024 * t) for n, t in measured])
    assert [r.startup for r in again] == pytest.approx([1024 * r.startup for r in found], rel=1e-6, abs=1e-9)


# --------------------------------------------------------------------------- LogGP


def trips(latency, overhead, gap, per_byte, sizes=(1, 64, 1024, 4096), scatter=0.0, seed=0, times=1):
    """PRTT(n, d, s) of the model, with `scatter`, for the trains that the method asks for."""
    random = np.random.default_rng(seed)
    table = []
    for size in sizes:
        trip = 2 * (2 * overhead + latency + (size - 1) * per_byte)
        each = gap + (size - 1) * per_byte
        for messages, delay in [(1, 0.0), (16, 0.0), (64, 0.0), (16, 2 * each), (64, 2 * each)]:
            seconds = trip + (messages - 1) * max(overhead + delay, each)
            table += [Train(messages, delay, size, seconds * math.exp(random.normal(0, scatter))) for _ in range(times)]
    return table


@given(st.floats(1e-7, 1e-4), st.floats(1e-8, 1e-5), st.floats(0.0, 1.0), st.floats(1e-12, 1e-8))
def test_loggp_gives_back_the_parameters_that_made_the_round_trips(latency, overhead, more, per_byte):
    gap = overhead * (1 + more)
    found = loggp.fit_parameters(trips(latency, overhead, gap, per_byte))
    assert found.overhead == pytest.approx(overhead, rel=1e-6)
    assert found.gap == pytest.approx(gap, rel=1e-6)
    assert found.gap_per_byte == pytest.approx(per_byte, rel=1e-6, abs=1e-6 * gap / 4096)
    assert found.latency == pytest.approx(latency, rel=1e-4, abs=1e-4 * overhead)
    assert found.half_round_trip == pytest.approx(latency + 2 * overhead)
    assert found.worst < 1e-6


def test_loggp_holds_through_noise():
    for seed in range(10):
        found = loggp.fit_parameters(trips(1.0e-6, 3e-7, 5e-7, 1e-10, scatter=0.01, seed=seed, times=9))
        assert found.latency == pytest.approx(1.0e-6, rel=0.1)
        assert found.overhead == pytest.approx(3e-7, rel=0.1)
        assert found.gap == pytest.approx(5e-7, rel=0.1)
        assert found.gap_per_byte == pytest.approx(1e-10, rel=0.1)


def test_a_delay_that_does_not_cover_the_gap_tells_no_overhead():
    table = [t for t in trips(1e-6, 1e-7, 5e-7, 1e-10) if t.delay == 0]
    short = [Train(16, 1e-7, t.size, t.seconds) for t in table if t.messages == 16]
    found = loggp.fit_parameters(table + short)
    assert found.gap == pytest.approx(5e-7)
    assert (found.overhead, found.latency, found.overheads) == (None, None, ())


def test_a_receiver_measured_by_itself_counts_instead_of_the_sender():
    table = trips(1e-6, 3e-7, 5e-7, 1e-10)
    assert loggp.fit_parameters(table, {1: 1e-7}).latency == pytest.approx(1.2e-6)


def test_overheads_that_overlap_the_latency_leave_it_undefined():
    table = [Train(1, 0, 1, 8e-7), Train(16, 0, 1, 8e-7 + 15 * 5e-7), Train(16, 1e-6, 1, 8e-7 + 15 * 1.3e-6)]
    found = loggp.fit_parameters(table)
    assert found.overhead == pytest.approx(3e-7)
    assert found.latency is None
    assert found.half_round_trip == pytest.approx(4e-7)
    assert (found.gap, found.gap_per_byte) == (pytest.approx(5e-7), None)


def test_an_overhead_that_grows_with_size_is_told_per_byte():
    table = []
    for size in (1, 1001, 2001):
        table += [Train(1, 0, size, 1e-5), Train(11, 1e-4, size, 1e-5 + 10 * (1e-4 + 2e-7 + 1e-10 * (size - 1)))]
    found = loggp.fit_parameters(table)
    assert found.overhead == pytest.approx(2e-7)
    assert found.overhead_per_byte == pytest.approx(1e-10)


def test_no_trains_give_no_parameters_and_impossible_ones_are_refused():
    assert set(vars(loggp.fit_parameters([])).values()) == {None, ()}
    with pytest.raises(ValueError, match="'Train.messages=0.*is not a valid train"):
        loggp.fit_parameters([Train(0, 0.0, 8, 1e-6)])


# --------------------------------------------------------------------------- the cache artefact

BARCELONA = Caches(core=512 * 1024, last=2 * 1024 * 1024, sharing=2)


def curve(bandwidth, spread=0.02, sizes=SIZES):
    return [Point(n, bandwidth(n), bandwidth(n) * (1 - spread), bandwidth(n) * (1 + spread)) for n in sizes]


def honest(size):
    return size / (1e-6 + size / 1e9)


def feigned(size):
    return honest(size) * (3.6 if 32 * 1024 <= size < 256 * 1024 else 1.5 if 256 * 1024 <= size <= 512 * 1024 else 1.0)


def test_reuse_that_feigns_bandwidth_is_explained_by_the_caches():
    found = artefacts.find_artefact(curve(feigned), curve(honest), BARCELONA)
    assert (found.first, found.last) == (32 * 1024, 512 * 1024)
    assert found.factor == pytest.approx(3.6)
    assert found.bandwidth == honest(found.size)
    assert found.apparent == feigned(found.size)
    assert [(part.first, part.last, part.place) for part in found.parts] == [
        (32 * 1024, 128 * 1024, "core"),
        (256 * 1024, 512 * 1024, "last"),
    ]
    assert found.parts[0].explanation == "the 2 buffers of a rank stay in the cache of its core"


def test_curves_that_agree_within_a_fifth_are_no_artefact():
    tcp = curve(lambda n: honest(n) * (1.19 if n % 3 else 0.85))
    assert artefacts.find_artefact(tcp, curve(honest), BARCELONA) is None


@pytest.mark.parametrize("low", [None, 0.9])
def test_a_difference_without_certainty_is_no_artefact(low):
    reused = [Point(4096, 1.5, low, 2.0)]
    assert artefacts.find_artefact(reused, [Point(4096, 1.0, 0.8, 1.2)], BARCELONA) is None


def test_fresh_buffers_that_are_faster_and_sizes_of_one_curve_do_not_count():
    assert artefacts.find_artefact(curve(honest), curve(feigned), BARCELONA) is None
    assert artefacts.find_artefact(curve(feigned, sizes=[65536]), curve(honest, sizes=[32768]), BARCELONA) is None
    assert artefacts.find_artefact([], [], BARCELONA) is None


@pytest.mark.parametrize(
    ("size", "caches", "place"),
    [
        (255 * 1024, BARCELONA, "core"),
        (256 * 1024, BARCELONA, "last"),
        (512 * 1024, BARCELONA, "last"),
        (1024 * 1024, BARCELONA, "memory"),  # two ranks on one socket: 4 MB
        (1024 * 1024, Caches(512 * 1024, 2 * 1024 * 1024, sharing=1), "last"),  # on two sockets
        (2 * 1024 * 1024, Caches(512 * 1024, 2 * 1024 * 1024, sharing=1), "memory"),
        (64, Caches(None, None), "memory"),
    ],
)
def test_the_place_of_the_buffers_follows_from_sizes_and_sharing(size, caches, place):
    assert artefacts.place(size, caches) == place


# --------------------------------------------------------------------------- all pairs


@pytest.mark.parametrize("nodes", range(2, 34))
def test_rounds_hold_every_pair_once_and_nobody_twice_at_a_time(nodes):
    found = matrix.rounds(nodes)
    assert len(found) == (nodes - 1 if nodes % 2 == 0 else nodes)
    assert sorted(pair for pairs in found for pair in pairs) == sorted(combinations(range(nodes), 2))
    for pairs in found:
        met = [node for pair in pairs for node in pair]
        assert len(met) == len(set(met)) == nodes - nodes % 2


def test_rounds_follow_the_rule_of_the_kernel():
    assert matrix.rounds(4) == (((0, 3), (1, 2)), ((1, 3), (0, 2)), ((2, 3), (0, 1)))
    assert matrix.rounds(3) == (((1, 2),), ((0, 2),), ((0, 1),))
    assert matrix.rounds(1) == matrix.rounds(0) == ()


def seconds(nodes, launches, scatter, seed, slow_nodes=None, slow_links=None, launch=0.0):
    """Times of all pairs; scatter from launch to launch, of a pair and of a whole launch."""
    random = np.random.default_rng(seed)
    factors, links = slow_nodes or {}, slow_links or {}
    common = random.normal(0, launch, launches)
    return {
        (i, j): 1e-5
        * factors.get(i, 1.0)
        * factors.get(j, 1.0)
        * links.get((i, j), 1.0)
        * np.exp(common + random.normal(0, scatter, launches))
        for i, j in combinations(range(nodes), 2)
    }


def named(found):
    return {outlier.ranks for outlier in (found.nodes or ()) + (found.links or ())}


def test_effects_give_back_the_factors_that_made_the_times():
    times = seconds(8, 1, 0.0, 0, {2: 1.1, 5: 0.8}, {(0, 3): 1.5})
    found = matrix.effects({pair: float(row[0]) for pair, row in times.items()})
    assert found.typical == pytest.approx(1e-5, rel=1e-5)
    assert found.nodes == pytest.approx({0: 1, 1: 1, 2: 1.1, 3: 1, 4: 1, 5: 0.8, 6: 1, 7: 1}, rel=1e-5)
    assert found.links.pop((0, 3)) == pytest.approx(1.5, rel=1e-5)
    assert list(found.links.values()) == pytest.approx([1.0] * 27, rel=1e-5)
    assert found.groups == {}


@settings(max_examples=20)
@given(st.integers(3, 7), st.integers(0, 999), st.randoms())
def test_effects_multiply_to_the_times_and_do_not_depend_on_names_or_units(nodes, seed, random):
    times = {pair: float(row[0]) for pair, row in seconds(nodes, 1, 0.1, seed).items()}
    found = matrix.effects(times)
    for (i, j), time in times.items():
        assert found.typical * found.nodes[i] * found.nodes[j] * found.links[i, j] == pytest.approx(time)
    names = list(range(nodes))
    random.shuffle(names)
    other = matrix.effects({(names[j], names[i]): 8 * time for (i, j), time in times.items()})
    assert other.typical == pytest.approx(8 * found.typical, rel=1e-4)
    for node in range(nodes):
        assert other.nodes[names[node]] == pytest.approx(found.nodes[node], rel=1e-4)


def test_what_two_switches_have_in_common_is_not_their_nodes_fault():
    group = {node: "a" if node < 5 else "b" for node in range(9)}
    times = seconds(9, 4, 0.01, 3, {7: 1.15})
    times = {(i, j): row * (1.4 if group[i] != group[j] else 1.0) for (i, j), row in times.items()}
    found = matrix.effects({pair: float(np.median(row)) for pair, row in times.items()}, group)
    across = found.groups["a", "b"]
    assert across / found.groups["a", "a"] == pytest.approx(1.4, rel=0.03)
    assert across / found.groups["b", "b"] == pytest.approx(1.4, rel=0.03)
    assert found.nodes[7] == pytest.approx(1.15, rel=0.03)
    assert named(matrix.outliers(times, group)) == {(7,)}


def of_switches(seed, slow_nodes=None, switch=None, within=True):
    """Four switches of four nodes that differ by 1 %; between switches all takes 30 % more time, `switch` 15 % more."""
    own = dict(enumerate(np.exp(np.random.default_rng(seed).normal(0, 0.01, 16)).tolist()))
    times = seconds(16, 5, 0.03, seed, {n: own[n] * (slow_nodes or {}).get(n, 1) for n in own})
    for i, j in times:
        times[i, j] *= 1.0 if i // 4 == j // 4 else 1.3
        times[i, j] *= 1.15 if switch in (i // 4, j // 4) and (within or i // 4 != j // 4) else 1.0
    return times, {node: f"s{node // 4}" for node in range(16)}


def slow_switches(found):
    return {name for name, _ in (*found.inside, *found.across)} | {names for names, _ in found.links}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(20))
def test_a_switch_and_a_node_are_told_apart(seed):
    times, group = of_switches(seed, switch=seed % 4, within=seed % 2 == 0)
    assert slow_switches(matrix.slow_groups(times, group)) == {f"s{seed % 4}"}
    assert named(matrix.outliers(times, group)) == set()
    times, group = of_switches(seed, {seed % 16: 1.15})
    assert slow_switches(matrix.slow_groups(times, group)) == set()
    assert named(matrix.outliers(times, group)) == {(seed % 16,)}


@pytest.mark.long
def test_equal_switches_raise_no_alarm_and_two_are_not_judged():
    alarms = [slow_switches(matrix.slow_groups(*of_switches(seed))) for seed in range(60)]
    assert sum(map(bool, alarms)) <= 2
    times, group = of_switches(0, switch=0)
    halves = {node: f"h{node // 8}" for node in group}
    assert matrix.slow_groups(times, halves) == matrix.UNKNOWN_GROUPS


@pytest.mark.sampled(2)
@pytest.mark.parametrize("share", [0.4, pytest.param(1.0, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("nodes", "launches", "scatter", "matrices"),
    [(3, 4, 0.05, 60), (4, 3, 0.05, 150), (4, 5, 0.01, 50), (5, 3, 0.03, 50), (8, 5, 0.05, 40), (16, 3, 0.05, 15)],
)
def test_quiet_matrices_raise_no_alarm(nodes, launches, scatter, matrices, share):
    """Binomial: 0.4 of the matrices, 146 in all, find that 0.03 raise an alarm with probability 0.98."""
    matrices = round(share * matrices)
    alarms = [named(matrix.outliers(seconds(nodes, launches, scatter, seed))) for seed in range(matrices)]
    assert sum(map(bool, alarms)) <= matrices / 100


def test_a_quiet_matrix_of_32_nodes_raises_no_alarm():
    for seed in range(3):
        found = matrix.outliers(seconds(32, 3, 0.05, seed))
        assert (found.nodes, found.links) == ((), ())
        assert found.scatter == pytest.approx(0.05, rel=0.1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seeds", [20, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize(("scatter", "launches"), [(0.01, 3), (0.02, 3), (0.02, 5)])
def test_a_slow_node_and_a_slow_link_of_four_nodes_are_named(scatter, launches, seeds):
    """Binomial: 20 matrices find that 0.75 have their name with probability 0.97."""
    nodes = [named(matrix.outliers(seconds(4, launches, scatter, seed, {3: 1.10}))) for seed in range(seeds)]
    links = [named(matrix.outliers(seconds(4, launches, scatter, seed, None, {(0, 2): 1.30}))) for seed in range(seeds)]
    assert nodes.count({(3,)}) >= 0.95 * seeds
    assert links.count({(0, 2)}) >= 0.95 * seeds


def test_the_factor_of_a_slow_node_is_told_with_its_chance():
    ((slow,), links) = (found := matrix.outliers(seconds(6, 5, 0.02, 1, {4: 1.2}))).nodes, found.links
    assert slow.ranks == (4,)
    assert slow.factor == pytest.approx(1.2, rel=0.03)
    assert 0 < slow.p < 0.005
    assert links == ()


def test_a_launch_that_is_slow_as_a_whole_hides_no_slow_node():
    found = matrix.outliers(seconds(5, 5, 0.01, 2, {1: 1.1}, launch=0.2))
    assert named(found) == {(1,)}
    assert found.scatter == pytest.approx(0.01, rel=0.4)


def test_one_launch_that_was_hit_hides_no_slow_node():
    times = seconds(4, 5, 0.01, 2, {1: 1.12})
    times[0, 3][2] *= 3
    assert named(matrix.outliers(times)) == {(1,)}


def test_a_small_but_certain_difference_is_not_named():
    assert named(matrix.outliers(seconds(4, 5, 0.0005, 2, {1: 1.03}))) == set()


def test_nothing_is_said_where_nothing_can_be_told():
    assert matrix.effects({(0, 1): 1e-5}) is None
    assert matrix.effects({}) is None
    assert matrix.effects({(0, 1): 1e-5, (0, 2): 1e-5}) is None
    assert matrix.outliers({(0, 1): [1e-5] * 9}) == matrix.Outliers(None, None, None)
    three = matrix.outliers(seconds(3, 5, 0.01, 1, {1: 1.3}))
    assert ([outlier.ranks for outlier in three.nodes], three.links) == ([(1,)], None)
    lone = matrix.outliers(seconds(4, 1, 0.01, 1, {1: 1.3}))
    assert (lone.nodes, lone.links) == (None, None)


def test_one_launch_of_many_nodes_tells_its_scatter_by_what_is_left():
    assert named(matrix.outliers(seconds(12, 1, 0.02, 1, {1: 1.3}, {(3, 4): 1.5}))) == {(1,), (3, 4)}
    assert sum(bool(named(matrix.outliers(seconds(10, 1, 0.05, seed)))) for seed in range(60)) == 0


def test_a_pair_that_was_not_measured_and_both_directions_are_no_hindrance():
    times = seconds(6, 4, 0.01, 1, {1: 1.2})
    del times[0, 4]
    times[2, 1] = times.pop((1, 2))
    assert named(matrix.outliers(times)) == {(1,)}
    assert (0, 4) not in matrix.effects({pair: float(row[0]) for pair, row in times.items()}).links


def test_impossible_tables_are_refused():
    good = {(0, 1): [1e-5], (0, 2): [1e-5], (1, 2): [1e-5]}
    with pytest.raises(ValueError, match=r"a time of pair \(0, 1\) is '-1.0'"):
        matrix.outliers({**good, (0, 1): [-1.0]})
    with pytest.raises(ValueError, match="a rank with itself"):
        matrix.outliers({**good, (1, 1): [1.0]})
    with pytest.raises(ValueError, match="rank '2' has no group; expected one for each of the 3 ranks"):
        matrix.outliers(good, {0: "a", 1: "a"})


def per_rank(ranks, repetitions, scatter, seed, slow=None):
    random = np.random.default_rng(seed)
    return [
        (slow or {}).get(rank, 1.0) * 1e-3 * np.exp(random.normal(0, scatter, repetitions)) for rank in range(ranks)
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ranks", [3, 4, 16])
def test_equal_ranks_raise_no_alarm_and_a_slow_one_is_named(ranks):
    for repetitions, scatter in ((3, 0.02), (5, 0.05), (30, 0.03)):
        quiet = [peers.slow_ranks(per_rank(ranks, repetitions, scatter, seed)) for seed in range(60)]
        assert sum(map(bool, quiet)) == 0
    found = [peers.slow_ranks(per_rank(ranks, 5, 0.02, seed, {1: 1.12})) for seed in range(50)]
    assert sum([outlier.ranks for outlier in slow] == [(1,)] for slow in found) >= 48


def test_neither_of_two_ranks_is_called_slow():
    assert peers.slow_ranks(per_rank(2, 9, 0.01, 1, {1: 2.0})) is None
    assert peers.slow_ranks([[1e-3], [1e-3, 2e-3], [1e-3, 1e-3]]) is None
    assert peers.slow_ranks(per_rank(4, 2000, 0.01, 1, {1: 1.03})) == ()


def test_ranks_that_take_exactly_equal_times_but_one_are_told():
    (slow,) = peers.slow_ranks([[1.0, 1.0], [1.0, 1.0], [1.5, 1.5], [1.0, 1.0]])
    assert (slow.ranks, slow.factor, slow.p) == ((2,), pytest.approx(1.5), 0.0)


# --------------------------------------------------------------------------- noise


def quanta(count, seed, jitter=0.003, work=1e-4):
    return work * (1 + jitter * np.random.default_rng(seed).standard_normal(count))


def struck(events, work=5e-4, length=2.0, each=2e-5, seed=0):
    """Quanta of `work` seconds and their starts; each event (seconds) lengthens the one it falls into."""
    random = np.random.default_rng(seed)
    starts, times, now, index = [], [], 0.0, 0
    events = np.sort(events)
    while now < length:
        end = now + work * (1 + 0.003 * random.standard_normal())
        while index < len(events) and events[index] < end:
            end, index = end + each * random.uniform(0.5, 1.5), index + 1
        starts.append(now)
        times.append(end - now)
        now = end
    return times, starts


def test_planted_detours_are_counted_with_their_durations():
    row = quanta(5000, 1)
    row[[100, 2000, 4999]] += [1e-5, 2e-5, 1e-3]
    found = noise.find_detours(row)
    assert found.indices == (100, 2000, 4999)
    assert found.durations == pytest.approx([1e-5, 2e-5, 1e-3], abs=2e-6)
    assert found.greatest == found.durations[2]
    assert found.base == pytest.approx(1e-4, rel=0.01)
    assert found.lost_in_detours == pytest.approx(1.03e-3 / row.sum(), rel=0.01)
    assert found.lost_in_detours < found.lost < 0.01


def test_plain_jitter_is_hardly_ever_a_detour():
    assert sum(noise.find_detours(quanta(2000, seed)).count for seed in range(40)) <= 4
    ticks = [np.round(quanta(2000, seed, 0.02, 1e-6) / 1e-8) * 1e-8 for seed in range(40)]
    assert sum(noise.find_detours(row).count for row in ticks) <= 4


def test_equal_quanta_lose_nothing():
    found = noise.find_detours([1e-6] * 200)
    assert (found.base, found.lost, found.lost_in_detours, found.count, found.greatest) == (1e-6, 0.0, 0.0, 0, None)
    assert noise.find_detours([1e-6] * 199 + [3e-6]).durations == (pytest.approx(2e-6),)


def test_a_third_of_the_quanta_hit_does_not_move_the_base():
    row = quanta(3000, 2)
    row[::3] += 1e-5
    found = noise.find_detours(row)
    assert found.count == 1000
    assert found.lost == pytest.approx(1e-5 / 3 / (1e-4 + 1e-5 / 3), rel=0.2)


def test_few_quanta_tell_nothing_and_impossible_ones_are_refused():
    assert noise.find_detours([1e-6] * 99) is None
    with pytest.raises(ValueError, match="a quantum took '0.0'"):
        noise.find_detours([0.0] * 200)


@given(st.lists(SECONDS, max_size=50))
def test_the_histogram_holds_every_detour_once(durations):
    found = noise.histogram(durations)
    assert sum(part.count for part in found) == len(durations)
    assert all(a.high == pytest.approx(b.low) for a, b in pairwise(found))
    for part in found:
        inside = sum(part.low * (1 - 1e-9) <= d < part.high * (1 + 1e-9) for d in durations)
        assert inside >= part.count


def test_the_bins_of_the_histogram_are_the_same_for_every_measurement():
    assert noise.histogram([1e-5, 1.2e-5, 1.1e-4], per_decade=1) == (
        noise.Bin(pytest.approx(1e-5), pytest.approx(1e-4), 2),
        noise.Bin(pytest.approx(1e-4), pytest.approx(1e-3), 1),
    )


def seen(durations, length):
    """Detours of known durations within `length` seconds."""
    greatest = max(durations, default=None)
    share = sum(durations) / length
    return noise.Detours(
        base=1e-4,
        threshold=1.1e-4,
        lost=share,
        lost_in_detours=share,
        count=len(durations),
        durations=tuple(durations),
        greatest=greatest,
        indices=(),
        seconds=length,
    )


@pytest.mark.parametrize("ranks", [1, 64, 1024])
@pytest.mark.parametrize("chance", [1e-4, 1e-3, 1e-2])
def test_detours_of_one_duration_slow_a_barrier_down_by_the_closed_form(ranks, chance):
    rate = -math.log1p(-chance) / 0.01  # of a rank to be hit in a burst of 10 ms with `chance`
    found = noise.expected_collective_slowdown(seen([5e-3] * 1000, 1000 / rate), ranks, 0.01)
    assert found.hit == pytest.approx(chance)
    assert found.any_hit == pytest.approx(1 - (1 - chance) ** ranks)
    assert found.slowdown == pytest.approx(0.5 * (1 - (1 - chance) ** ranks), rel=chance)
    assert found.linear == pytest.approx(ranks * chance * 0.5)
    if ranks * chance < 0.02:
        assert found.slowdown == pytest.approx(found.linear, rel=0.01)


def test_the_expected_longest_delay_is_that_of_simulated_ranks():
    random = np.random.default_rng(1)
    durations = random.exponential(1e-4, 400)
    found = noise.expected_collective_slowdown(seen(durations.tolist(), 100.0), 50, 0.02)
    hits = random.poisson(400 / 100 * 0.02 * 50, 20_000)
    longest = [random.choice(durations, n).max() if n else 0.0 for n in hits]
    assert found.delay == pytest.approx(np.mean(longest), rel=0.03)


def test_many_small_detours_in_each_burst_cost_what_they_take_on_average():
    found = noise.expected_collective_slowdown(seen([1e-6] * 10_000, 1.0), 4, 0.1)
    assert found.slowdown == pytest.approx(0.01)
    assert found.hit == pytest.approx(1.0)


def test_no_detours_cost_nothing_and_impossible_operations_are_refused():
    quiet = noise.expected_collective_slowdown(seen([], 1.0), 1000, 0.1)
    assert (quiet.hit, quiet.any_hit, quiet.delay, quiet.slowdown) == (0, 0, 0, 0)
    for ranks, burst in ((0, 1.0), (4, 0.0)):
        with pytest.raises(ValueError, match="expected at least one rank and seconds > 0"):
            noise.expected_collective_slowdown(seen([], 1.0), ranks, burst)


@pytest.mark.parametrize("work", [1e-4, 5e-4, 7.1e-4])
def test_a_planted_tick_of_250_hertz_is_the_only_tone(work):
    random = np.random.default_rng(3)
    events = np.concatenate((np.arange(0.001, 2, 1 / 250), random.uniform(0, 2, 100)))
    (tone,) = find_rhythms(*struck(events, work))
    assert tone.frequency == pytest.approx(250, abs=0.5)
    assert tone.period == pytest.approx(1 / tone.frequency)
    assert tone.resolution == pytest.approx(0.5, rel=0.01)
    assert tone.strength > 0.6
    assert tone.p < 1e-6


def test_two_rhythms_are_told_apart():
    events = np.concatenate((np.arange(0.001, 4, 1 / 250), np.arange(0.002, 4, 1 / 90)))
    frequencies = sorted(tone.frequency for tone in find_rhythms(*struck(events, 3e-4, 4.0)))
    assert frequencies == [pytest.approx(90, abs=0.3), pytest.approx(250, abs=0.3)]


def test_detours_at_random_or_in_bursts_have_no_rhythm():
    tones = 0
    for seed in range(25):
        random = np.random.default_rng(seed)
        tones += bool(find_rhythms(*struck(random.uniform(0, 1, 200), 3e-4, 1.0)))
        bursts = random.uniform(0, 1, 15)[:, None] + random.exponential(0.01, (15, 20))
        tones += bool(find_rhythms(*struck(bursts.ravel(), 3e-4, 1.0)))
    assert tones == 0


def test_few_detours_have_no_spectrum_and_starts_must_fit():
    assert find_rhythms(*struck(np.array([0.1, 0.2, 0.3]))) is None
    with pytest.raises(ValueError, match="expected one start for each quantum"):
        find_rhythms([1e-3] * 200, [0.0])


# --------------------------------------------------------------------------- the slower of two


def pair(ratio, scatter, seed, count=12):
    random = np.random.default_rng(seed)
    return [[factor * math.exp(random.normal(0, scatter)) for _ in range(count)] for factor in (1.0, ratio)]


def test_the_slower_of_two_is_found_with_its_factor():
    found = peers.slower_of_two(pair(1.3, 0.02, 1))
    assert found.ranks == (1,)
    assert found.factor == pytest.approx(1.3, rel=0.03)
    assert peers.slower_of_two(pair(1 / 1.3, 0.02, 1)).ranks == (0,)
    assert peers.slower_of_two([[1.0], [2.0]]) is None, "one repetition shows no scatter"
    assert peers.slower_of_two(pair(1.04, 0.001, 1)) is None, "certain, and too small to matter"
    assert peers.slower_of_two([[1.0, 1.0], [2.0, 2.0]]).factor == pytest.approx(2.0), "without any scatter"


@pytest.mark.long
def test_two_equal_nodes_are_hardly_ever_called_different():
    """Planted: at the level 0.005, 2,000 pairs that scatter by 20 % give 10 false alarms, and 25 in one of 20,000 series."""
    alarms = sum(peers.slower_of_two(pair(1.0, 0.2, seed), smallest=0.0) is not None for seed in range(2000))
    assert alarms <= 25
    found = sum(peers.slower_of_two(pair(2.0, 0.2, seed)) is not None for seed in range(100))
    assert found >= 95, "one of the two takes twice as long, over a scatter of 20 %"
