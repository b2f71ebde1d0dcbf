"""The plan: products of axes, settings of users, placements, shuffling, budgets."""

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import result
from steelyard.errors import UsageError
from steelyard.measure.plan import EFFORTS, MEMORY, catalogue, estimate, length, make, needed, second
from steelyard.measure.plan.forecast import Forecast
from steelyard.measure.plan.refusal import refuse
from steelyard.measure.run.asking import line
from steelyard.model import Axes, Benchmark, Effort, Host, Machine, Parameters, Plan, Sampling, Scalar, Source
from steelyard.model.left_out import left_out
from steelyard.model.roles import Headline
from steelyard.statistics.results import main_figures


def benchmark(name: str = "group.one", *blocks: Axes) -> Benchmark:
    found = blocks or (
        Axes({"kernel": ("a", "b"), "threads": (1, 2), "size": (10, 20)}, Sampling(0.02, 1.0, 5, 50), 0.5),
    )
    return replace(builders.benchmark(name), sources=(Source("x.cpp"),), axes=lambda m, e: found)


def plan_of(machine: Machine, settings: dict | None = None, toolchains: tuple = ("gcc",), **more):
    return make({"group.one": benchmark()}, machine, EFFORTS["quick"], settings or {}, toolchains, **more)


def test_a_launch_holds_the_product_of_the_axes_once(two_sockets: Machine) -> None:
    launches = plan_of(two_sockets).launches
    assert len(launches) == EFFORTS["quick"].launches
    for launch in launches:
        points = [(c.kernel, c.parameters["threads"], c.parameters["size"]) for c in launch.cases]
        assert sorted(points) == sorted((k, t, s) for k in "ab" for t in (1, 2) for s in (10, 20))


def test_a_setting_replaces_the_values_of_an_axis_and_doubles_nothing(two_sockets: Machine) -> None:
    cases = plan_of(two_sockets, {"threads": [4], "kernel": ["a"]}).launches[0].cases
    assert sorted((c.kernel, c.parameters["threads"], c.parameters["size"]) for c in cases) == [
        ("a", 4, 10),
        ("a", 4, 20),
    ]


def test_a_setting_that_nobody_knows_is_refused_with_the_nearest_name(two_sockets: Machine) -> None:
    with pytest.raises(UsageError, match="'thread'.*Did you mean 'threads'"):
        plan_of(two_sockets, {"thread": [1]})
    with pytest.raises(UsageError, match="kernel 'c'"):
        plan_of(two_sockets, {"kernel": ["c"]})


def test_a_job_for_another_machine_may_name_devices_that_this_one_lacks(two_sockets: Machine) -> None:
    chosen = catalogue.choose(catalogue.find(), ["node.vector"])
    refuse(chosen, two_sockets, EFFORTS["quick"], {"mode": ["opencl"], "device": [1]}, anywhere=True)


def in_two_models() -> Benchmark:
    """By threads, and by ranks with one MPI of those that there are; how long a case takes follows from its class."""

    def expected(point: Parameters) -> tuple[Sampling, float]:
        return Sampling(seconds={"A": 1.0, "B": 20.0}[str(point["class"])]), 2.0

    common = {"kernel": ("k",), "class": ("A",)}
    choices = {"class": ("A", "B")}
    blocks = (
        Axes({**common, "model": ("threads",), "threads": (1, 2)}, expected=expected, choices=choices),
        Axes({**common, "model": ("mpi",), "ranks": (1, 2)}, expected=expected, choices=choices),
    )
    sources = (Source("threads.cpp", model="threads"), Source("mpi.cpp", True, "mpi", ("mpich",)))
    return replace(benchmark("group.one", *blocks), sources=sources)


def models_of(machine: Machine, settings: dict) -> Counter:
    plan = make({"group.one": in_two_models()}, machine, EFFORTS["quick"], settings, ["gcc"], mpis=["mpich", "openmpi"])
    return Counter(
        (x.model, c.parameters.get("mpi"), c.parameters.get("ranks", c.parameters.get("threads")))
        for x in plan.launches
        for c in x.cases
    )


def test_each_programming_model_has_launches_of_its_own_with_the_mpis_that_it_can_use(two_sockets: Machine) -> None:
    assert set(models_of(two_sockets, {})) == {
        ("threads", None, 1),
        ("threads", None, 2),
        ("mpi", "mpich", 1),
        ("mpi", "mpich", 2),
    }


@pytest.mark.wings
@pytest.mark.parametrize("name", ["finite_elements", "molecular_dynamics", "turbulence"])
def test_ranks_have_threads_where_these_are_set_together_with_the_model(two_sockets: Machine, name: str) -> None:
    known = {f"application.{name}": catalogue.find()[f"application.{name}"]}

    def threads(**settings: list[str | int]) -> set[object]:
        plan = make(known, two_sockets, EFFORTS["quick"], settings, ["gcc"], mpis=["mpich"])
        return {c.parameters.get("threads") for x in plan.launches if x.model == "mpi" for c in x.cases}

    assert threads(model=["mpi"], ranks=[1, 2], threads=[1, 2]) == {1, 2}
    assert threads(model=["mpi"]) == {None}
    assert threads(threads=[2]) == {None}  # meant for the programs that have nothing but threads


def test_a_model_that_is_set_is_chosen_and_not_given_to_others(two_sockets: Machine) -> None:
    assert {model for model, _, _ in models_of(two_sockets, {"model": ["mpi"]})} == {"mpi"}
    with pytest.raises(UsageError, match="model 'mpy'.*Did you mean 'mpi'"):
        models_of(two_sockets, {"model": ["mpy"]})


def test_only_the_programs_that_a_plan_starts_are_needed_each_with_its_mpis(two_sockets: Machine) -> None:
    known = {"group.one": in_two_models(), "group.two": benchmark("group.two")}

    def programs(settings: dict) -> set:
        plan = make({"group.one": known["group.one"]}, two_sockets, EFFORTS["quick"], settings, ["gcc"], mpis=["mpich"])
        return {(name, s.model, s.mpis) for name, b in needed(known, plan).items() for s in b.sources}

    assert programs({}) == {("group.one", "threads", None), ("group.one", "mpi", ("mpich",))}
    assert programs({"model": ["threads"]}) == {("group.one", "threads", None)}


def test_a_class_that_does_not_exist_is_refused_and_one_that_does_brings_its_own_length(two_sockets: Machine) -> None:
    with pytest.raises(UsageError, match=r"class 'X' \(given by --set class=\)"):
        models_of(two_sockets, {"class": ["X"]})
    plan = make({"group.one": in_two_models()}, two_sockets, EFFORTS["full"], {"class": ["B"]}, ["gcc"], mpis=["mpich"])
    assert {c.sampling.seconds for x in plan.launches for c in x.cases} == {20.0}


def test_more_threads_than_processors_are_refused_before_anything_starts(two_sockets: Machine) -> None:
    with pytest.raises(UsageError, match="64"):
        plan_of(two_sockets, {"threads": [64]})


def test_every_toolchain_gets_every_case(two_sockets: Machine) -> None:
    launches = plan_of(two_sockets, toolchains=("gcc", "clang")).launches
    assert Counter(x.toolchain for x in launches) == {"gcc": 2, "clang": 2}


def cases_of(plan: Plan) -> list[tuple[object, ...]]:
    return [(c.benchmark, c.kernel, *sorted(c.parameters.items())) for x in plan.launches for c in x.cases]


def test_a_small_budget_lessens_launches_first_and_then_the_time_of_each_case(two_sockets: Machine) -> None:
    whole = plan_of(two_sockets)
    half = plan_of(two_sockets, budget=whole.seconds * 0.51)
    assert sorted(cases_of(half)) == sorted(cases_of(whole)[:8])
    assert half.launches[0].cases[0].sampling.seconds == pytest.approx(1.0)
    quarter = plan_of(two_sockets, budget=whole.seconds * 0.3)
    assert sorted(cases_of(quarter)) == sorted(cases_of(whole)[:8])
    assert 0.2 < quarter.launches[0].cases[0].sampling.seconds < 0.3
    tenth = plan_of(two_sockets, budget=whole.seconds / 20)
    assert {x.repetition for x in tenth.launches} == {1}
    assert tenth.launches[0].cases[0].sampling.seconds == pytest.approx(0.1)
    assert 0 < len(cases_of(tenth)) < 8
    assert tenth.seconds <= whole.seconds / 20


def whole_suite(machine: Machine, **more):
    return make(catalogue.find(), machine, EFFORTS["quick"], {}, ["gcc"], mpis=["openmpi"], **more)


def main_cases(plan: Plan) -> set[tuple[object, ...]]:
    """Returns the cases of the main figures."""
    main = set()
    for name, role in [(n, r) for n, b in catalogue.find().items() for r in b.roles if isinstance(r, Headline)]:
        cases = [c for x in plan.launches for c in x.cases if c.benchmark == name]
        results = [result(name, c.kernel, dict(c.parameters), 1.0, {}) for c in cases]
        main |= {(name, r.kernel, *sorted(r.parameters.items())) for r in main_figures.candidates(role, results)}
    return {tuple(word for word in case if word[0] != "toolchain") for case in main}


def count_cases(plan: Plan) -> Counter[str]:
    return Counter(case.benchmark for x in plan.launches if x.repetition == 1 for case in x.cases)


def test_a_budget_of_20_seconds_measures_every_main_figure_first(two_sockets: Machine) -> None:
    plan, small = whole_suite(two_sockets), whole_suite(two_sockets, budget=20.0)
    assert small.seconds <= 20
    without_tools = main_cases(plan)
    assert without_tools
    assert set(cases_of(small)[: len(without_tools)]) == without_tools


def test_what_a_budget_leaves_for_other_cases_is_shared_among_the_benchmarks(two_sockets: Machine) -> None:
    plan = whole_suite(two_sockets, budget=40.0)
    counts = Counter(benchmark for benchmark, *_ in cases_of(plan))
    assert len(counts) > 20
    assert max(counts.values()) < len(cases_of(plan)) / 4
    assert set(cases_of(plan)) == set(cases_of(whole_suite(two_sockets, budget=40.0, seed=7)))


def test_a_plan_counts_the_cases_for_which_its_budget_is_too_small(two_sockets: Machine) -> None:
    whole, small = (
        make(
            {n: b for n, b in catalogue.find().items() if n.startswith("network.")},
            two_sockets,
            EFFORTS["quick"],
            {},
            ["gcc", "clang"],
            mpis=["openmpi"],
            **more,
        )
        for more in ({}, {"budget": 5.0})
    )
    every = Counter(case.benchmark for x in whole.launches if x.repetition == 1 for case in x.cases)
    planned = Counter(case.benchmark for x in small.launches for case in x.cases)
    assert Counter(small.left_out) + planned == every
    assert not whole.left_out
    note = left_out(planned, small.left_out, 5.0)
    assert f"is enough for {planned.total()} of {every.total()} cases. It leaves out" in note
    assert len(note) < 400


def test_a_note_on_a_budget_names_benchmarks_without_any_case_first() -> None:
    missing = {"a": 100, "b": 7, "c": 3}
    assert left_out({"a": 20, "b": 3}, missing, 75.0) == (
        "The budget of 1 min 15 s is enough for 23 of 133 cases. It leaves out all cases of c, 100 of the 120 cases of a and 7 "
        "of the 10 cases of b."
    )
    many = left_out({}, dict.fromkeys("abcdef", 1), 60.0)
    assert many.endswith("It leaves out all cases of a, b, c and 3 further benchmarks.")
    assert left_out({"a": 20}, {}, 75.0) == ""


def test_a_preset_keeps_to_its_length_by_fewer_launches_and_shorter_cases_but_never_too_few_or_too_short(
    two_sockets: Machine,
) -> None:
    def of(seconds: float) -> Plan:
        effort = Effort("standard", 5, Sampling(seconds=1.0), seconds)
        return make({"group.one": benchmark()}, two_sockets, effort, {}, ["gcc"])

    whole, four, shortest = of(1e9), of(26.7), of(1)
    assert (len(whole.launches), len(four.launches), len(shortest.launches)) == (5, 4, 2)
    assert whole.launches[0].cases[0].sampling.seconds == 1.0
    assert 1 / 3 <= four.launches[0].cases[0].sampling.seconds <= 1.0
    assert four.seconds <= 26.7
    assert shortest.launches[0].cases[0].sampling.seconds == 1 / 3


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 3, 8, *(pytest.param(seed, marks=pytest.mark.long) for seed in (10, 11, 15, 16))])
def test_a_preset_ends_in_time_with_the_main_figures_on_any_machine(seed: int) -> None:
    chance = random.Random(seed)
    nodes = chance.choice((1, 1, 2, 4, 8))
    machine = builders.machine(nodes=nodes, cores=nodes * chance.choice((1, 2, 6, 16, 64)))
    hosts = chance.choice((0, 0, 2, 16, 128, 512))
    machine = replace(machine, hosts=tuple(Host(f"n{i}", slots=len(machine.cpus)) for i in range(hosts)))
    preset = chance.choice(("quick", "quick", "standard"))
    found = catalogue.find()
    mpis = [chance.choice(("openmpi-5.0.3", "mpich-4.2"))]
    effort = EFFORTS[preset]
    plan = make(found, machine, effort, {}, ["gcc"], mpis=mpis)
    assert plan.seconds <= effort.most * 1.001
    assert estimate(found, machine, effort, {}, 1, mpis)[0] == pytest.approx(plan.seconds)
    every = make(found, machine, replace(effort, seconds=None, promised=None, most=None), {}, ["gcc"], mpis=mpis)
    assert main_cases(plan) == main_cases(every) != set()
    assert Counter(plan.left_out) + count_cases(plan) == count_cases(every)
    measured = Counter((x.benchmark, c.kernel, *c.parameters.items()) for x in plan.launches for c in x.cases)
    assert min(measured.values()) >= 2


def test_what_the_user_chose_is_measured_whole() -> None:
    here = builders.machine(cores=128, nodes=8)
    chosen = {name: catalogue.find()[name] for name in ("network.collectives", "memory.stream")}
    settings = {"ranks": [*range(2, 129, 2)], "threads": [*range(1, 129)]}
    plan = make(chosen, here, EFFORTS["quick"], settings, ["gcc"], mpis=["openmpi-5"])
    assert plan.seconds > 2 * EFFORTS["quick"].most
    assert not plan.left_out
    assert {c.parameters["threads"] for x in plan.launches for c in x.cases if c.benchmark == "memory.stream"} == {
        *range(1, 129)
    }


def test_what_a_preset_leaves_out_makes_the_grid_of_its_sizes_coarser() -> None:
    plan = make(
        catalogue.find(), builders.machine(cores=32, nodes=4), EFFORTS["quick"], {}, ["gcc"], mpis=["openmpi-5"]
    )
    sizes: dict[tuple[str, int], set[int]] = {}
    for case in (c for x in plan.launches for c in x.cases if c.benchmark == "network.collectives"):
        if "message_bytes" in case.parameters:
            of_case = sizes.setdefault((case.kernel, case.parameters["ranks"]), set())
            of_case.add(case.parameters["message_bytes"])
    assert plan.left_out["network.collectives"] > 0
    assert len({ranks for _, ranks in sizes}) == 3
    largest = max(size for measured in sizes.values() for size in measured)
    assert sum({8, largest} <= measured for measured in sizes.values()) > len(sizes) / 3


@pytest.mark.parametrize("cores", [2, 16, 128])
def test_a_comparison_of_two_words_stays_whole_if_cases_are_left_out(cores: int) -> None:
    plan = make(catalogue.find(), builders.machine(cores=cores), EFFORTS["quick"], {}, ["gcc"], mpis=["openmpi-5"])
    kernels: dict[Scalar, set[str]] = {"yes": set(), "no": set()}
    listed = [
        c for x in plan.launches for c in x.cases if c.benchmark == "core.kernels" and "stride" not in c.parameters
    ]
    (smallest, _), *_ = Counter(
        c.parameters["elements"] for c in listed if c.parameters["vectors"] == "no"
    ).most_common()
    for case in (c for c in listed if c.parameters["elements"] == smallest):
        kernels[case.parameters["vectors"]].add(case.kernel)
    assert len(kernels["no"]) >= 5
    assert len(kernels["yes"] - kernels["no"]) <= 1  # the last one that fitted


def test_the_length_of_a_run_follows_from_plan_preset_budget_and_the_load_of_others(two_sockets: Machine) -> None:
    plan = replace(plan_of(two_sockets), seconds=150.0)
    assert [length.measuring(plan, free) for free in (1.0, 0.8, 0.6, 0.0)] == [180, 225, 270, 270]
    assert length.measuring(replace(plan, seconds=20.0)) == 30
    assert length.measuring(replace(plan, seconds=400.0)) == 400
    assert length.measuring(plan, 0.0, budget=100.0) == 100
    assert length.measuring(plan, 0.0, budget=1000.0) == 270
    small = plan_of(two_sockets, budget=5.0)
    assert small.seconds <= length.measuring(small, budget=5.0) == 5
    assert length.whole(plan) == 180 + length.evaluating(plan)
    assert length.whole(plan, 0.0) == 270 + 1.5 * length.evaluating(plan)
    assert length.cases(plan) == length.cases(small) + 8 - len(cases_of(small)) == 8


@pytest.mark.parametrize("spent", [11.0, 90.0, 1000.0])
def test_a_long_build_shortens_the_measurement_and_keeps_its_main_figures(spent: float) -> None:
    here, effort = builders.machine(cores=2), length.shorten(EFFORTS["quick"], spent)
    plans = [make(catalogue.find(), here, e, {}, ["gcc"], mpis=["openmpi-5"]) for e in (EFFORTS["quick"], effort)]
    usual, short = (length.whole(plan, 0.0, None, e) for plan, e in zip(plans, (None, effort), strict=True))
    assert main_cases(plans[0]) == main_cases(plans[1]) != set()
    assert (plans[0] == plans[1]) == (spent < 12)
    if spent < 120:
        assert short < usual
        assert short + spent <= 300
    else:
        assert 120 < short < 150


@given(seed=st.integers(0, 10_000))
def test_shuffling_keeps_cases_of_the_same_memory_together(seed: int) -> None:
    machine = builders.machine()
    for launch in make(
        {"group.one": benchmark()}, machine, Effort("quick", 2, Sampling()), {}, ["gcc"], seed=seed
    ).launches:
        keys = [tuple(c.parameters.get(n) for n in MEMORY) for c in launch.cases]
        changes = sum(a != b for a, b in pairwise(keys))
        assert changes == len(set(keys)) - 1


def test_the_same_seed_makes_the_same_plan_and_another_seed_another(two_sockets: Machine) -> None:
    assert plan_of(two_sockets, seed=3) == plan_of(two_sockets, seed=3)
    assert [x.cases for x in plan_of(two_sockets, seed=3).launches] != [
        x.cases for x in plan_of(two_sockets, seed=4).launches
    ]


def test_each_repetition_has_the_benchmarks_in_an_order_of_its_own(two_sockets: Machine) -> None:
    named = {f"group.{letter}": benchmark(f"group.{letter}") for letter in "abcdef"}
    launches = make(named, two_sockets, Effort("standard", 4, Sampling()), {}, ["gcc"]).launches
    orders = [tuple(x.benchmark for x in launches if x.repetition == repetition) for repetition in (1, 2, 3, 4)]
    assert all(sorted(order) == sorted(named) for order in orders)
    assert len(set(orders)) > 1, "neighbours change their order with a probability of 0.22"


def test_the_launches_of_a_case_lie_evenly_over_the_run(two_sockets: Machine) -> None:
    named = {f"group.{letter}": benchmark(f"group.{letter}") for letter in "abcdefghijklmnopqrstuvwxyz"}
    launches = make(named, two_sockets, Effort("standard", 4, Sampling()), {}, ["gcc"]).launches
    for name in named:
        places = [place for place, x in enumerate(launches) if x.benchmark == name]
        assert all(26 / 2 < later - earlier < 26 * 3 / 2 for earlier, later in pairwise(places))


def test_each_repetition_has_its_own_order_of_cases(two_sockets: Machine) -> None:
    sizes = benchmark("group.one", Axes({"kernel": ("a",), "size": (*range(8),)}, Sampling(0.02, 1.0, 5, 50), 0.5))
    launches = make({"group.one": sizes}, two_sockets, Effort("standard", 4, Sampling()), {}, ["gcc"]).launches
    orders = {tuple(case.parameters["size"] for case in launch.cases) for launch in launches}
    assert all(sorted(order) == [*range(8)] for order in orders)
    assert len(orders) > 1, "four random orders of eight are equal once in 6e13 plans"


def test_added_launches_come_in_a_random_order_in_each_pass(two_sockets: Machine) -> None:
    named = {f"group.{letter}": benchmark(f"group.{letter}") for letter in "abcdef"}
    plan = make(named, two_sockets, Effort("standard", 1, Sampling()), {}, ["gcc"])
    (disturbed,) = result("group.one", "a", {}, 1.0, {}, level="DISTURBED", launches=1).records
    added = list(second.launches(plan, Forecast(two_sockets), lambda launch, case: [disturbed], lambda: 1e9))
    passes = [tuple(x.benchmark for x in added if x.repetition == repetition) for repetition in (2, 3, 4)]
    assert all(sorted(order) == sorted(named) for order in passes)
    assert len(set(passes)) > 1, "neighbours change their order with a probability of 0.22"


def test_no_launch_is_added_for_a_case_with_more_threads_than_processors(two_sockets: Machine) -> None:
    plan = plan_of(two_sockets)
    (disturbed,) = result(
        "group.one", "a", {}, 1.0, {}, level="DISTURBED", launches=1, surroundings={"oversubscribed": True}
    ).records
    assert not list(second.launches(plan, Forecast(two_sockets), lambda launch, case: [disturbed], lambda: 1e9))


def test_a_case_is_one_line_of_words(two_sockets: Machine) -> None:
    made = plan_of(two_sockets, {"kernel": ["a"], "threads": [2], "pinning": ["scatter"], "size": [10]})
    assert line(two_sockets, made.launches[0], 0, made.launches[0].cases[0]) == (
        "case=0 kernel=a threads=2 size=10 pinning=scatter width=0.02 seconds=1.0 least=5 most=50 cpus=0,2"
    )
