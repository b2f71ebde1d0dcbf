"""Every rule of the findings: where it must speak, where it must be silent, and odd data."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import test_application_results as applications
import test_core_flops as flops
import test_core_kernels as kernels
import test_imported_findings as imported
import test_network_findings as network
import test_node as node
import test_power_run as power
import test_roofline as roofline
import test_scaling as scaling

import builders
import report_fixture
from builders import bandwidth, chase, evaluation, gather, machine, measured, result, triad
from steelyard.judge import findings
from steelyard.judge.findings.remedies import describe
from steelyard.model import Check, Device, Evaluation, Finding, Limit, Record, Result, Scalar, Setting
from steelyard.show.report import sentences

MIB = 1 << 20
LIMIT = {"memory_bandwidth": Limit(20e9, "B/s", "2 channels × 1250 MT/s × 8 B")}
NEVER = Setting("transparent_huge_pages", "never", "/sys/kernel/mm/transparent_hugepage/enabled")
RULES = findings.list_rules()
VERB = re.compile(
    r"\b(is|are|was|were|has|have|does|do|can|cannot|could|reach(es)?|takes?|uses?|costs?|moves?|hides?|gains?|limits?|makes?|"
    r"draws?|varies|differ|reduces?|allows?|hardly|still|matters?|runs?|keeps?|changed|issued|saves?|comes?|measured|shows?|used|depends)\b"
)


def found(rule: str, seen: Evaluation) -> list[Finding]:
    return findings.load_rule(rule).find(seen)


def disturbed(rate: float, **changed: Scalar) -> Result:
    why = ("competing load: in 9 of 30 samples a thread waited.",)
    return triad(rate, level="DISTURBED", evidence=why, **changed)


def unsettled(rate: float, **changed: Scalar) -> Result:
    return triad(rate, level="UNSETTLED", evidence=("interval: ± 9 % of the value.",), **changed)


def toolchains(second: float) -> Evaluation:
    return evaluation([triad(10e9), triad(10e9 / second, toolchain="clang-15")])


def placed(remote: float, kernel: str = "chase") -> Evaluation:
    """A node-by-node matrix; `remote` times the cost where they differ. Pinning and policy tell the nodes."""
    work = {"accesses": 1.0, "bytes": 64.0} if kernel == "chase" else {"bytes": 2.4e8}
    cells = [
        result(
            "memory.placement",
            kernel,
            {"threads": 1, "pinning": str(2 * cpu), "memory_policy": f"bind:{memory}", "bytes": 64 * MIB},
            1e-7 * (1 if cpu == memory else remote),
            work,
            surroundings={"cpus": [2 * cpu]},
        )
        for cpu in (0, 1)
        for memory in (0, 1)
    ]
    return evaluation(cells, machine(nodes=2))


def clocks(*hertz: float) -> Evaluation:
    return evaluation([triad(1e10, elements=1_000_000 * (n + 1), clock=(h,)) for n, h in enumerate(hertz)])


def issuing(*rates: float) -> Evaluation:
    """Records whose cores issued so many additions per cycle."""
    found = clocks(*[2.5e9] * len(rates))
    launches = len(found.run.records) // len(rates)
    records = tuple(
        replace(r, surroundings=builders.seen(r.surroundings, samples={"issued": [rates[n // launches], None]}))
        for n, r in enumerate(found.run.records)
    )
    return replace(found, run=replace(found.run, records=records))


def ladder(shares_l3: float = 1.0) -> Evaluation:
    """Flat parts of 1, 4 and 20 ns up to the reported caches (the last one so much smaller), then 100 ns."""
    steps = ((32 << 10, 1e-9), (MIB, 4e-9), (int(8 * MIB * shares_l3), 20e-9), (1 << 40, 100e-9))
    sizes = [int((4 << 10) * 2 ** (i / 2)) >> 10 << 10 for i in range(30)]
    metric = builders.Value(0.0, "s", None, None, "lower")

    def point(size: int) -> Result:
        seconds = next(s for end, s in steps if size <= end)
        return replace(chase(seconds, size), metrics={"latency": replace(metric, value=seconds)})

    return evaluation([point(size) for size in sizes])


GPUS = tuple(
    Device(n, "H200", "GPU", 1 << 37, False, door="cuda", facts={"link_width": 16, "most_link_width": 16})
    for n in range(4)
)


def copies(pageable: float, *devices: Device) -> Evaluation:
    """Copies from pinned memory at 50 GB/s, and from ordinary memory at so many times less."""
    results = [to_device(5e10, memory="pinned"), to_device(5e10 / pageable, memory="pageable")]
    return evaluation(results, machine(devices=devices or GPUS[:1]))


def to_device(rate: float, **parameters: Scalar) -> Result:
    size = 1 << 28
    case = {"door": "cuda", "device": 0, "bytes": size, "threads": 1, **parameters}
    work, metrics = {"bytes": float(size)}, {"bandwidth": bandwidth(rate)}
    return result("device.transfer", "to_device", case, size / rate, work, metrics=metrics)


def of_devices(*rates: float) -> Evaluation:
    """Triad and reads of several devices, each with these bytes per second."""
    made = [
        result(
            "device.stream",
            kernel,
            {"door": "cuda", "device": n, "elements": 1 << 27, "threads": 1},
            3e9 / rate,
            {"bytes": 3e9},
        )
        for n, rate in enumerate(rates)
        for kernel in ("triad", "read")
    ]
    return evaluation(made, machine(devices=GPUS))


def among_devices(slow: float, together: float = 1.0) -> Evaluation:
    """Copies between four devices at 300 GB/s, but from 2 to 1 at this share; to all of them at this share of 50 GB/s each."""

    def copied(kernel: str, rate: float, **more: int | str) -> Result:
        parameters = {"door": "cuda", "device": 0, "bytes": 1 << 28, "threads": 1, **more}
        measured = {"bandwidth": bandwidth(rate)}
        return result("device.transfer", kernel, parameters, 1.0, {"bytes": 1.0}, metrics=measured)

    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    made = [copied("between", 3e11 * (slow if pair == (2, 1) else 1), device=pair[0], peer=pair[1]) for pair in pairs]
    made += [copied("to_device", 5e10, device=n, memory="pinned") for n in range(4)]
    return evaluation([*made, copied("to_all", 4 * 5e10 * together)], machine(devices=GPUS))


def rising(setting: Setting) -> Evaluation:
    return evaluation([chase(90e-9, 64 * MIB), chase(120e-9, 512 * MIB)], machine(settings=(setting,)))


def limited(rate: float) -> Evaluation:
    """A benchmark whose bandwidth is bounded by 5 GB/s, and a case of it at `rate`."""
    bound = report_fixture.benchmark("example.fill", "Fill", (), None)
    bound = replace(bound, limit=lambda metric, result, machine: Limit(5e9, "B/s", "2 channels"))
    told = result("example.fill", "fill", {"threads": 1}, 1e-3, {"bytes": 1e6}, metrics={"bandwidth": bandwidth(rate)})
    return builders.with_limits(evaluation([told]), {"example.fill": bound})


SPEAKS: dict[str, Callable[[], Evaluation]] = {
    "device_copies": lambda: copies(2.0),
    "device_pairs": lambda: among_devices(0.5),
    "slow_device": lambda: of_devices(4e12, 4e12, 3.5e12, 4e12),
    **roofline.SPEAKS,
    **scaling.SPEAKS,
    **applications.SPEAKS,
    **network.SPEAKS,
    **kernels.SPEAKS,
    **flops.SPEAKS,
    **node.SPEAKS,
    **power.SPEAKS,
    **imported.SPEAKS,
    "above_ideal": lambda: evaluation([triad(5e9), triad(25e9, threads=4)]),
    "above_limit": lambda: limited(6e9),
    "cache_rule": lambda: evaluation([triad(1e10, elements=1_000_000)]),
    "plateau": lambda: evaluation([triad(13e9, elements=8_000_000), triad(10e9)]),
    "disturbed": lambda: evaluation([triad(1e10), triad(1e10, threads=2), disturbed(1e10, threads=4)]),
    "wrong_result": lambda: evaluation([triad(1e10, check=Check(False, "mean error 0.3"), level="INVALID")]),
    "failed": lambda: evaluation([triad(1e10, error="not enough memory: 12 MiB", level="INVALID")]),
    "write_allocate": lambda: evaluation([triad(9e9), triad(12e9, stores="streaming")]),
    "compiler_bound": lambda: evaluation(
        [gather(1.6e-9, L=65536, alpha=0.001, accumulators=n) for n in (1,)]
        + [gather(0.4e-9, L=65536, alpha=0.001, accumulators=32)]
    ),
    "compilers": lambda: toolchains(1.2),
    "variant_effects": lambda: evaluation([triad(1e10), triad(8e9, variant="huge")]),
    "remote_penalty": lambda: placed(1.7),
    "huge_pages": lambda: evaluation([gather(1.5e-8, page_size="4k"), gather(1e-8, page_size="transparent")]),
    "tolerance": lambda: evaluation([gather(4e-8), gather(3.6e-8, threads=4)]),
    "efficiency": lambda: evaluation([triad(8e9, threads=4)], machine(limits=LIMIT)),
    "clock": lambda: clocks(2.6e9, 2.6e9, 2.5e9, 2.4e9, 2.3e9),
    "container": lambda: evaluation([triad(1e10)], machine(cpu_quota=2.0)),
    "shared_core": lambda: issuing(*[5.1] * 8, *[2.6] * 8),
    "latency_consistency": lambda: evaluation([gather(1.2e-8), chase(1e-7)]),
    "cache_levels": lambda: ladder(0.125),
    "intervals": lambda: evaluation([triad(1e10, half_width=0.3), triad(1e10, threads=2, half_width=0.2)]),
    "emulation": lambda: evaluation(
        [triad(1e10)], machine(settings=(Setting("emulation", "x86_64 programs on aarch64", "/proc/cpuinfo"),))
    ),
}

SILENT: dict[str, Callable[[], Evaluation]] = {
    "device_copies": lambda: of_devices(4e12),
    "device_pairs": lambda: copies(2.0),
    "slow_device": lambda: copies(2.0),
    **roofline.SILENT,
    **scaling.SILENT,
    **applications.SILENT,
    **network.SILENT,
    **kernels.SILENT,
    **flops.SILENT,
    **node.SILENT,
    **power.SILENT,
    **imported.SILENT,
    # Vectors of 160 KB that 4 threads share fit their second caches; those of 384 MB only half as fast lie in memory.
    "above_ideal": lambda: evaluation([triad(5e9, elements=20_000), triad(25e9, elements=20_000, threads=4)]),
    "above_limit": lambda: limited(5.1e9),
    "cache_rule": lambda: evaluation([triad(1e10)]),
    "plateau": lambda: evaluation([triad(10e9)]),
    "disturbed": lambda: evaluation([triad(1e10, error="killed", level="INVALID")]),
    "wrong_result": lambda: evaluation([triad(1e10), triad(1e10, threads=2, error="killed", level="INVALID")]),
    "failed": lambda: evaluation([triad(1e10), disturbed(1e10, threads=2)]),
    "write_allocate": lambda: evaluation([triad(9e9), triad(12e9, threads=2, stores="streaming")]),
    "compiler_bound": lambda: evaluation([gather(4e-9, L=65536, alpha=0.001, accumulators=n) for n in (1, 32)]),
    "compilers": lambda: evaluation([triad(10e9), triad(8e9, threads=2, toolchain="clang-15")]),
    "variant_effects": lambda: evaluation([triad(10e9, variant="default"), triad(8e9, threads=2, variant="huge")]),
    "remote_penalty": lambda: evaluation([r for r in placed(1.7).results if "bind:1" in str(r.parameters)]),
    "huge_pages": lambda: evaluation([gather(1.5e-8), chase(1e-7, threads=2)]),
    "tolerance": lambda: evaluation([gather(4e-8, threads=2), gather(2e-8, threads=4), triad(1e10)]),
    "efficiency": lambda: evaluation([chase(1e-7)], machine(limits=LIMIT)),
    "clock": lambda: clocks(2.6e9),
    "container": lambda: evaluation([triad(1e10)]),
    "shared_core": lambda: issuing(5.1, 2.6),
    "latency_consistency": lambda: evaluation([gather(1.2e-8), chase(2e-9, MIB)]),
    "cache_levels": lambda: evaluation([chase(1e-9, 4 << 10), chase(1e-7, 512 * MIB)]),
    "intervals": lambda: evaluation([triad(1e10, error="killed", level="INVALID")]),
    "emulation": lambda: evaluation([triad(1e10)], machine(settings=(Setting("emulation", "none", "/proc/cpuinfo"),))),
}

# Where the news is good, the finding says so, and asks for nothing.
GOOD: dict[str, Callable[[], Evaluation]] = {
    "device_copies": lambda: copies(1.02),
    "device_pairs": lambda: among_devices(0.97),
    "slow_device": lambda: of_devices(4e12, 4.01e12, 3.98e12, 4e12),
    **applications.GOOD,
    **network.GOOD,
    **kernels.GOOD,
    **flops.GOOD,
    **node.GOOD,
    **power.GOOD,
    "plateau": lambda: evaluation([triad(10e9, elements=8_000_000), triad(10e9)]),
    "disturbed": lambda: evaluation([triad(1e10)]),
    "write_allocate": lambda: evaluation([triad(9e9), triad(9e9, stores="streaming")]),
    "compilers": lambda: toolchains(1.0),
    "variant_effects": lambda: evaluation([triad(1e10), triad(1e10, variant="huge")]),
    "remote_penalty": lambda: placed(1.02),
    "huge_pages": lambda: evaluation([gather(1e-8, page_size="4k"), gather(1e-8, page_size="huge")]),
    "tolerance": lambda: evaluation([gather(4e-8), gather(1.1e-8, threads=4)]),
    "efficiency": lambda: evaluation([triad(17e9, threads=4)], machine(limits=LIMIT)),
    "clock": lambda: clocks(2.5e9, 2.5e9, 2.51e9, 2.5e9),
    "shared_core": lambda: issuing(*[5.1] * 20, 2.6),
    "latency_consistency": lambda: evaluation([gather(1.2e-8), chase(1e-7)]),
    "cache_levels": ladder,
    "intervals": lambda: evaluation([triad(1e10), triad(1e10, threads=2)]),
}


def test_every_rule_has_a_case_with_a_finding_and_one_without() -> None:
    assert sorted(SPEAKS) == sorted(SILENT) == list(RULES)


@cache
def spoken(rule: str) -> tuple[Finding, ...]:
    """The findings of a rule where it speaks."""
    return tuple(found(rule, SPEAKS[rule]()))


@cache
def good_news(rule: str) -> tuple[Finding, ...]:
    """The findings of a rule where the news is good; none where it has no such news."""
    return tuple(found(rule, GOOD[rule]())) if rule in GOOD else ()


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_speaks(rule: str) -> None:
    told = spoken(rule)
    assert [f.rule for f in told] == [rule]
    assert told[0].seen.rstrip().endswith((".", ")")) or rule == "failed"
    assert told[0].cause
    assert told[0].level != "good" or rule in GOOD
    if told[0].level != "good":
        assert told[0].remedy, "a finding that asks for something says what to try"


@pytest.mark.parametrize("rule", RULES)
def test_a_brief_finding_has_few_words_and_the_numbers_of_the_whole_one(rule: str) -> None:
    for finding in spoken(rule):
        assert len(finding.brief.split()) <= 20
        assert len(finding.action.split()) <= 12
        numbers = set(re.findall(r"\d+(?:\.\d+)?", " ".join((finding.seen, *finding.evidence))))
        assert set(re.findall(r"\d+(?:\.\d+)?", finding.brief)) <= numbers, finding.brief


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_silent(rule: str) -> None:
    assert found(rule, SILENT[rule]()) == []


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_says_nothing_about_a_run_without_results(rule: str) -> None:
    assert found(rule, evaluation([])) == []


@pytest.mark.parametrize("rule", sorted(GOOD))
def test_the_rule_tells_good_news(rule: str) -> None:
    told = good_news(rule)
    assert [(f.level, f.remedy) for f in told] == [("good", "")]


def test_the_slow_pair_of_devices_is_named_and_what_all_share() -> None:
    slow, shared = found("device_pairs", among_devices(0.5, together=0.4))
    assert slow.seen.startswith("Device 2 copies to device 1 at 150 GB/s. The median of the 12 pairs is 300 GB/s")
    assert slow.evidence == ("device 2 to 1: 150 GB/s",)
    assert shared.seen == "Copies to all 4 devices at once reach 40 % of the sum of each alone."
    assert shared.effect == pytest.approx(2.5)
    (alike,) = found("device_pairs", among_devices(0.97, together=0.95))
    assert alike.level == "good"


def test_the_slow_device_is_named_and_no_other() -> None:
    (slow,) = found("slow_device", of_devices(4e12, 4e12, 3.5e12, 4e12))
    assert "GPU 2 (CUDA) is slower than the other devices of its kind: in 2 of 2 cases, by 14 % (median)." in slow.seen
    assert found("slow_device", of_devices(4e12, 3.5e12)) == []  # of two, either may be the one that differs


def test_a_narrow_link_is_named_before_the_copies() -> None:
    narrow = replace(GPUS[0], facts={"link_width": 8, "most_link_width": 16})
    (told,) = found("device_copies", copies(2.0, narrow))
    assert told.level == "serious"
    assert "GPU 0 (CUDA) uses 8 of its 16 lanes of PCI Express. The fastest copy reached 50.0 GB/s." in told.seen


def test_the_far_node_of_the_host_is_named() -> None:
    def told(*rates: float) -> list[str]:
        bound = [to_device(rate, memory="pinned", memory_policy=f"bind:{node}") for node, rate in enumerate(rates)]
        return [f.seen for f in found("device_copies", evaluation(bound, machine(devices=GPUS)))]

    assert told(55e9, 40e9) == [
        "Copies between GPU 0 (CUDA) and the host's memory node 1 take 37 % more time than with node 0."
    ]
    assert told(54e9, 55e9, 55.1e9) == []
    assert told(55e9) == []


def test_findings_of_all_rules_come_with_the_serious_ones_first() -> None:
    seen = evaluation([triad(1e10, threads=4), triad(1e10, check=Check(False, "wrong"), level="INVALID")])
    levels = [f.level for f in findings.judge(seen).findings]
    assert levels[0] == "serious"
    assert levels == sorted(levels, key=lambda level: findings.ORDER[level])


# --------------------------------------------------------------------------- what the sentences say


def test_disturbed_is_serious_above_half_and_counts_the_causes() -> None:
    steal = triad(1e10, threads=2, level="DISTURBED", evidence=("steal: 0.3 s.",))
    few = found("disturbed", evaluation([triad(1e10), triad(1e10, threads=4), disturbed(1e10), steal]))[0]
    assert few.level == "notice"
    many = found("disturbed", evaluation([disturbed(1e10), disturbed(1e10, threads=4), steal]))[0]
    assert many.level == "serious"
    assert "3 of 3 results (100 %)" in many.seen
    assert "competing load (2), steal (1)" in many.seen
    assert any("launch 1: 3 of 3 cases" in line for line in many.evidence)


def test_a_quiet_run_says_how_many_results_are_unsettled_all_the_same() -> None:
    (quiet,) = found("disturbed", evaluation([triad(1e10), unsettled(1e10, threads=2)]))
    assert quiet.level == "good"
    assert any(line.startswith("1 of them is UNSETTLED") for line in quiet.evidence)
    (some,) = found("disturbed", evaluation([triad(1e10), unsettled(1e10, threads=2), disturbed(1e10, threads=4)]))
    assert some.effect == 2.0, "of one result that can be relied on it would make two"


def test_sentences_on_a_whole_run_count_the_same_results() -> None:
    short = triad(1e10, threads=4)
    short = replace(short, metrics={name: replace(v, low=None, high=None) for name, v in short.metrics.items()})
    failed = triad(1e10, threads=8, error="killed", level="INVALID")
    seen = evaluation([triad(1e10), triad(1e10, threads=2), short, failed])
    (quiet,), (narrow,) = (found(rule, seen) for rule in ("disturbed", "intervals"))
    assert quiet.seen == "None of the 3 results that were measured was disturbed."
    assert narrow.seen == "2 of 2 results (100 %) have a 95 % interval within ± 2.8 %. 1 more result has no interval."
    (only,) = found("disturbed", evaluation([triad(1e10), failed]))
    assert only.seen == "The only result that was measured was not disturbed."
    (only,) = found("disturbed", evaluation([triad(1e10)]))
    assert only.seen == "The only result was not disturbed."


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("efficiency", lambda mark: evaluation([triad(17e9, threads=4, level=mark)], machine(limits=LIMIT))),
        ("tolerance", lambda mark: evaluation([gather(4e-8), gather(1.1e-8, threads=4, level=mark)])),
        ("latency_consistency", lambda mark: evaluation([gather(1.2e-8), chase(1e-7, level=mark)])),
    ],
)
def test_good_news_from_unreliable_values_is_an_open_question(rule: str, seen: Callable[[str], Evaluation]) -> None:
    for mark, reason, remedy in (
        ("UNSETTLED", "uncertain", "more launches"),
        ("DISTURBED", "disturbed", "quiet machine"),
    ):
        (told,) = found(rule, seen(mark))
        assert told.level == "undecided"
        assert reason in told.cause
        assert remedy in describe(told.remedy)
    assert found(rule, seen("CLEAN"))[0].level == "good"


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("plateau", lambda mark: [triad(10e9, elements=8_000_000), triad(10e9, level=mark)]),
        ("write_allocate", lambda mark: [triad(9e9), triad(9e9, stores="streaming", level=mark)]),
        ("huge_pages", lambda mark: [gather(1e-8, page_size="4k"), gather(1e-8, page_size="huge", level=mark)]),
    ],
)
def test_there_is_no_good_news_where_results_cannot_be_relied_on(
    rule: str, seen: Callable[[str], list[Result]]
) -> None:
    assert found(rule, evaluation(seen("CLEAN")))
    assert found(rule, evaluation(seen("UNSETTLED"))) == found(rule, evaluation(seen("DISTURBED"))) == []


def test_failed_cases_are_grouped_by_reason_whatever_numbers_it_holds() -> None:
    lacking = [triad(1e10, threads=t, error=f"not enough memory: {t} MiB", level="INVALID") for t in (1, 2)]
    other = triad(1e10, threads=4, error="no streaming stores", level="INVALID")
    told = found("failed", evaluation([*lacking, other, triad(1e10, threads=3)]))
    assert [f.seen.split(":")[0] for f in told] == [
        "2 of 4 cases of memory.stream could not be measured",
        "1 of 4 cases of memory.stream could not be measured",
    ]
    assert {f.level for f in told} == {"notice"}
    assert found("failed", evaluation(lacking))[0].level == "serious"


def test_too_little_memory_is_told_apart_from_a_size_that_was_set() -> None:
    small = [triad(1e10, elements=1_000_000)]
    assert "was set to less" in found("cache_rule", evaluation(small))[0].cause
    poor = evaluation(small, machine(memory_available=100 * MIB))
    assert "too little free memory" in found("cache_rule", poor)[0].cause
    assert "the sizes of the caches are unknown" in found("cache_rule", evaluation(small, machine(caches=())))[0].seen


def test_a_cliff_is_serious_but_not_when_it_was_disturbed() -> None:
    assert found("plateau", evaluation([triad(13e9, elements=8_000_000), triad(10e9)]))[0].level == "serious"
    assert found("plateau", evaluation([triad(11e9, elements=8_000_000), triad(10e9)]))[0].level == "notice"
    shaken = found("plateau", evaluation([disturbed(13e9, elements=8_000_000), triad(10e9)]))[0]
    assert shaken.level == "notice"
    assert "Disturbed" in shaken.seen


def test_write_allocate_tells_the_factor_and_where_streaming_is_slower() -> None:
    slower = found("write_allocate", evaluation([triad(12e9), triad(9e9, stores="streaming")]))[0]
    assert "0.75 times" in slower.seen
    assert describe(slower.remedy).startswith("Use ordinary stores")
    assert "1.33 times" in spoken("write_allocate")[0].seen


def test_the_limit_is_told_with_its_source_or_how_to_give_it() -> None:
    below = spoken("efficiency")[0]
    assert "8.00 GB/s: 40 % of the limit of 20.0 GB/s" in below.seen
    assert "2 channels" in below.evidence[0]
    unknown = found("efficiency", evaluation([triad(8e9)]))[0]
    assert "--system FILE.toml" in describe(unknown.remedy)
    above = evaluation([triad(25e9, threads=4)], machine(limits=LIMIT))
    assert found("efficiency", above) == []
    assert "No figure can be above its limit" in found("above_limit", above)[0].seen


def test_the_remote_penalty_stands_beside_the_firmware_distances() -> None:
    told = found("remote_penalty", placed(1.7))[0]
    assert "1.70 times as much" in told.seen
    assert "a ratio of 2.1" in told.evidence[0]
    assert "Triad" in found("remote_penalty", placed(1.7, "triad"))[0].seen


def test_huge_pages_off_and_a_rising_ladder_show_the_translation() -> None:
    told = found("huge_pages", rising(NEVER))
    assert "rises by 33 %" in told[0].seen
    assert "echo madvise" in told[0].remedy
    assert found("huge_pages", rising(replace(NEVER, value="madvise"))) == []


def test_pages_that_were_the_same_after_all_are_not_compared() -> None:
    def pages(page_size: str, seconds: float) -> Result:
        refused = gather(seconds, page_size=page_size)
        records = tuple(
            replace(r, surroundings=builders.seen(r.surroundings, pages={"nodes": {"0": 1}, "huge": 0.0}))
            for r in refused.records
        )
        return measured(refused, records=records)

    assert found("huge_pages", evaluation([pages("4k", 1.5e-8), pages("transparent", 1e-8)])) == []


def test_memory_parallelism_is_latency_over_time_per_access() -> None:
    told = found("latency_consistency", evaluation([gather(2e-8), chase(1e-7), chase(2.1e-8, chains=8)]))[0]
    assert "On average, 5.0 accesses are in flight at once" in told.seen
    assert any("8 chains" in line for line in told.evidence)
    absurd = found("latency_consistency", evaluation([gather(2e-7), chase(1e-7)]))[0]
    assert (absurd.level, "contradict each other" in absurd.seen) == ("notice", True)


def test_a_smaller_last_level_than_reported_is_named() -> None:
    told = found("cache_levels", ladder(0.125))[0]
    assert told.level == "notice"
    assert "L3 (8 MiB)" in told.seen.replace("8.000", "8")


def test_a_quota_that_stopped_most_measurements_is_serious() -> None:
    stopped = evaluation([triad(1e10, surroundings={"throttled": 0.5})], machine(cpu_quota=2.0))
    told = found("container", stopped)[0]
    assert told.level == "serious"
    assert "1.50 s in total" in told.evidence[-1]
    limited = Setting("memory_limit", str(4 << 30) + " B", "/sys/fs/cgroup/memory.max")
    assert "of memory" in found("container", evaluation([triad(1e10)], machine(settings=(limited,))))[0].seen


def test_the_sentence_on_the_machine_names_its_accelerators_but_not_its_processor_as_one() -> None:
    poc = Device(0, "cpu-skylake-avx512-Intel(R) Xeon(R) Processor", "CPU", 4903784448, True)
    h200 = Device(1, "NVIDIA H200", "GPU", 150109880320, False)  # as a recorded machine has both

    def say(*devices: Device) -> str:
        return sentences.machine(evaluation([triad(1e10)], machine(devices=devices)))

    assert say(poc, h200).endswith(" of memory. Accelerator: NVIDIA H200 (140 GiB).")
    assert say(h200, replace(h200, number=2)).endswith(" Accelerators: 2 × NVIDIA H200 (140 GiB each).")
    assert "ccelerator" not in say(poc)


def test_a_quota_or_memory_limit_that_limits_nothing_is_no_finding() -> None:
    above = Setting("memory_limit", str(64 << 30) + " B", "/sys/fs/cgroup/memory.max")
    roomy = machine(cpu_quota=4.0, settings=(above, Setting("cpu_quota", "4 cores", "/sys/fs/cgroup/cpu.max")))
    assert found("container", evaluation([triad(1e10)], roomy)) == []
    assert "limited to the time" not in sentences.machine(evaluation([triad(1e10)], roomy))
    (limited,) = found("container", evaluation([triad(1e10)], replace(roomy, cpu_quota=2.0)))
    assert "memory" not in limited.seen + "".join(limited.evidence)


def test_stops_by_a_quota_of_less_than_a_hundredth_of_the_time_are_no_finding() -> None:
    seconds = {"elapsed": 10.0, "processors": 1}
    for stopped, count in ((0.05, 0), (0.5, 1)):
        around = {"throttled": stopped, "processor_seconds": seconds}
        assert len(found("container", evaluation([triad(1e10, surroundings=around)]))) == count


def test_a_speed_up_with_a_wide_interval_is_not_judged() -> None:
    wild = [gather(4e-8, launches=1, spread=0.8), gather(2e-8, threads=4, launches=1, spread=0.8)]
    safe = [measured(r, records=tuple(_positive(x) for x in r.records)) for r in wild]
    assert "cannot decide" in found("tolerance", evaluation(safe))[0].seen


def _positive(record: Record) -> Record:
    return replace(record, samples=tuple(max(s, 1e-9) for s in record.samples))


# --------------------------------------------------------------------------- what cannot be


def test_a_speed_up_above_the_count_is_a_finding_with_its_factor() -> None:
    (told,) = spoken("above_ideal")
    assert (
        "memory.stream triad runs 5.00 times as fast with 4 threads as with 1. No cache explains a speed-up above 4.00."
        in told.seen
    )
    assert (told.level, told.reach, round(told.effect or 0, 2)) == ("notice", "figures", 1.25)
    assert found("above_ideal", evaluation([triad(5e9), triad(20.2e9, threads=4)])) == []


def test_a_speed_up_that_a_nearer_cache_may_explain_is_not_doubted() -> None:
    shared = [
        triad(5e9, elements=600_000),
        triad(25e9, elements=600_000, threads=4),
    ]  # 14 MB: L2 of four, beyond L3 of one
    assert found("above_ideal", evaluation(shared)) == []


def test_what_computes_without_data_has_no_cache_to_explain_it() -> None:
    def peak(threads: int, seconds: float) -> Result:
        return result("core.peak", "peak", {"threads": threads}, seconds, {"flops": 1e9})

    (told,) = found("above_ideal", evaluation([peak(1, 0.1), peak(2, 0.04)]))
    assert "2.50 times as fast with 2 threads" in told.seen


def test_a_figure_beyond_its_limit_is_doubted_with_the_limits_source() -> None:
    (told,) = found("above_limit", limited(6e9))
    assert "6.00 GB/s: 120 % of its limit of 5.00 GB/s. No figure can be above its limit" in told.seen
    assert told.evidence[-1] == "The limit: 2 channels."
    assert (told.level, told.reach, told.benchmark) == ("notice", "figures", "example.fill")


# --------------------------------------------------------------------------- their order


def named(rule: str, level: str = "notice", effect: float | None = None, reach: str = "machine") -> Finding:
    return Finding(rule, level, f"{rule}.", (), "", "", effect=effect, reach=reach)  # type: ignore[arg-type]


def test_findings_are_ordered_by_wrong_results_level_and_weight() -> None:
    ordered = (
        named("wrong_result", "serious"),
        named("failed", "serious", 9.0),
        named("shared_core", effect=1.7, reach="figures"),  # 0.41 of all figures
        named("message_cache", effect=3.6),  # 0.72 of what runs on the machine
        named("compiler_bound", effect=14.0, reach="program"),  # 0.93 of a kind of program
        named("huge_pages", effect=1.2),
        named("cache_levels"),
        named("one_sided", reach="program"),
        named("disturbed", "good", reach="figures"),
        named("tolerance", "good"),
    )
    assert findings.sort_findings(reversed(ordered)) == ordered


def test_a_ratio_and_its_inverse_have_the_same_weight() -> None:
    assert findings.weigh(named("a", effect=0.5)) == findings.weigh(named("a", effect=2.0)) == 1.0
    assert findings.weigh(named("a")) == findings.weigh(named("a", effect=1.0)) == 0.0


def test_of_each_kind_one_finding_stands_for_all() -> None:
    low, high = named("tolerance", effect=1.5), named("tolerance", effect=3.0)
    kinds = findings.group_by_rule([low, named("clock", effect=1.1, reach="figures"), high, named("tolerance", "good")])
    assert (kinds[0].finding, kinds[0].others) == (high, 2)
    assert [kind.finding.rule for kind in kinds] == ["tolerance", "clock"]


@pytest.mark.parametrize("rule", RULES)
def test_what_a_rule_would_change_is_a_ratio_of_one_or_more(rule: str) -> None:
    for finding in spoken(rule):
        assert finding.effect is None or (math.isfinite(finding.effect) and finding.effect >= 1), finding.effect


# --------------------------------------------------------------------------- odd data


def odd() -> list[Result]:
    """Every kernel with parameters missing, of another kind, zero or huge; odd samples; no work."""
    strange: list[Scalar] = ["many", 0, -1, 1, 10**18, math.inf, math.nan, True, ""]
    names = ("threads", "elements", "bytes", "L", "alpha", "accumulators", "chains", "stores", "page_size")
    names = (*names, "memory_policy", "pinning", "toolchain", "cpu_node", "memory_node")
    kernels = [("memory.stream", "triad"), ("memory.apexmap", "gather"), ("memory.latency", "chase")]
    kernels += [("memory.placement", "chase"), ("memory.placement", "triad"), ("other.thing", "unknown")]
    works: list[dict[str, float]] = [
        {},
        {"bytes": 0.0},
        {"accesses": math.nan},
        {"bytes": 24.0, "accesses": 3.0},
    ]
    clock = {"before": [None, -1.0, 0]}
    around: list[dict[str, object]] = [
        {},
        {"core_clock": None},
        {"core_clock": clock, "cpus": [-3], "pages": {}},
    ]
    found_: list[Result] = []
    for number, (benchmark, kernel) in enumerate(kernels):
        for i, v in enumerate(strange):
            for name in names:
                work = works[(i + number) % len(works)]
                one = result(benchmark, kernel, {name: v}, 1e-3, work, launches=1, level="DISTURBED")
                bad = replace(
                    one.records[0],
                    samples=((), (math.nan,), (0.0, 1.0), (1e-3, 1.1e-3, 1e-3))[(i + len(name)) % 4],
                    surroundings=builders.seen(around[i % 3]),
                )  # fmt: skip
                metric = builders.Value((math.nan, 0.0, 1e9)[i % 3], "B/s", None, None, "higher")
                told = {"bandwidth": metric, "latency": metric, "cycles": metric} if i % 2 else {}
                found_.append(measured(one, records=(bad,), metrics=told))
    return [*found_, measured(found_[0], records=())]


@cache
def odd_run(bare: bool) -> Evaluation:
    here = machine(nodes=2, limits={"memory_bandwidth": Limit(0.0, "B/s", "nothing")})
    if bare:
        here = replace(here, cores=(), nodes=(), caches=(), cpus=(), settings=(NEVER,), memory_available=0)
    return replace(evaluation(odd(), here), benchmarks={})


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bare", [False, True])
def test_odd_data_never_makes_a_rule_stumble(rule: str, bare: bool) -> None:
    assert isinstance(found(rule, odd_run(bare)), list)


def test_a_program_that_failed_is_named_by_its_end_and_its_first_words() -> None:
    from steelyard.errors import ProgramFailed
    from steelyard.measure.run.asking import describe_end

    failures = [
        ProgramFailed(f"Running the case buffers={b}", "mpiexec -n 2 x", 1, "-----\ncannot resolve nowhere\nmore")
        for b in ("fresh", "reused")
    ]
    words = [describe_end(failure) for failure in failures]
    assert set(words) == {"the program ended with exit code 1, and printed: cannot resolve nowhere"}
    results = []
    for number, (failure, brief) in enumerate(zip(failures, words, strict=True)):
        made = triad(1e10, threads=number + 1, error=str(failure), level="INVALID")
        verdict = builders.verdict_of("INVALID", f"error: {brief}")
        results.append(measured(made, records=tuple(replace(r, verdict=verdict) for r in made.records)))
    (one,) = found("failed", evaluation(results))
    assert one.seen == f"2 of 2 cases of memory.stream could not be measured: {words[0]}"
