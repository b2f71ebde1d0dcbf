"""Compiling: the cache's key, compilers that are missing, and errors shown whole."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard import build
from steelyard.errors import MachineFailed, ProgramFailed, UsageError
from steelyard.model import Benchmark, Machine, Source, Tool

GOOD = """// A kernel that does nothing much.
#include "kernel.h"
using namespace steelyard;
struct Nothing {
  double sum = 0;
  Nothing(Params&, Team&) {}
  void run(Worker, std::size_t operations) { for (std::size_t i = 0; i < operations; ++i) { sum += 1; keep(sum); } }
  Work work() const { return {{"operations", 1}}; }
  Check check() { return {sum > 0, "it ran"}; }
};
int main() { return serve({kernel<Nothing>("nothing")}); }
"""


def quick(here: Machine) -> build.Toolchain:
    """Whatever compiler is here, without optimisation: what is built is not measured."""
    return build.resolve(f"{build.default(here)} -O0", here)


def benchmark(folder: Path, text: str) -> Benchmark:
    source = folder / "thing.cpp"
    source.write_text(text)
    return Benchmark(
        "my.thing",
        "T",
        "s",
        "r",
        "c",
        "s",
        (Source(str(source)),),
        lambda m, e: (),
        (),
        lambda m, r, x: None,
        lambda r, m: (),
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_program_is_built_once_and_again_when_its_source_changes(tmp_path: Path, here: Machine) -> None:
    toolchain = quick(here)
    first = build.build([benchmark(tmp_path, GOOD)], toolchain)["my.thing"]
    stamp = first.stat().st_mtime_ns
    assert build.build([benchmark(tmp_path, GOOD)], toolchain)["my.thing"].stat().st_mtime_ns == stamp
    assert build.build([benchmark(tmp_path, GOOD + "// changed\n")], toolchain)["my.thing"] != first


def test_other_flags_are_another_toolchain(tmp_path: Path, here: Machine) -> None:
    name = build.default(here)
    plain, own = build.resolve(name, here), build.resolve(f"{name} -O1", here)
    assert own.name == plain.name + "+-O1"
    assert own.flags == "-O1"
    assert build._key(Path(__file__), plain) != build._key(Path(__file__), own)


def test_a_compile_error_is_shown_whole_with_the_command(tmp_path: Path, here: Machine) -> None:
    with pytest.raises(ProgramFailed) as failure:
        build.build([benchmark(tmp_path, GOOD.replace("sum += 1", "summ += 1"))], quick(here))
    text = str(failure.value)
    assert "summ" in text
    assert "thing.cpp" in text
    assert "--build" in text
    assert failure.value.exit_code == 4


def test_a_kernel_that_breaks_the_contract_is_refused_by_the_concept(tmp_path: Path, here: Machine) -> None:
    with pytest.raises(ProgramFailed, match="constraints|Kernel"):
        build.build(
            [benchmark(tmp_path, GOOD.replace('  Check check() { return {sum > 0, "it ran"}; }\n', ""))],
            quick(here),
        )


def test_a_machine_without_a_compiler_is_told_how_to_get_one(here: Machine) -> None:
    with pytest.raises(MachineFailed, match="apt-get install g\\+\\+"):
        build.resolve("gcc", replace(here, compilers=()))


def test_an_unknown_compiler_is_answered_with_the_nearest(here: Machine) -> None:
    machine = replace(
        here,
        compilers=(
            Tool("g++", "/usr/bin/g++", "g++ 12.2.0"),
            Tool("clang++", "/usr/bin/clang++", "clang version 14.0.6"),
        ),
    )
    with pytest.raises(UsageError, match="Did you mean 'clang'"):
        build.resolve("clagn", machine)
    assert build.resolve("clang", machine).name == "clang-14.0.6"


def test_a_cache_that_cannot_be_written_is_an_explained_error(
    tmp_path: Path, here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "file"))
    with pytest.raises(MachineFailed, match="STEELYARD_CACHE"):
        build.build([benchmark(tmp_path, GOOD)], build.resolve(build.default(here), here))


def test_a_program_is_built_anew_for_its_own_headers_and_not_for_those_of_others(tmp_path: Path, here: Machine) -> None:
    toolchain = quick(here)
    source, near, beyond, other = (tmp_path / name for name in ("a.cpp", "near.h", "beyond.h", "other.h"))
    source.write_text('#include <vector>\n#include "near.h"\n#include "kernel.h"\n#include "missing.h"\n')
    near.write_text('#include "beyond.h"\n#include "near.h"\n')
    beyond.write_text("// 1\n")
    other.write_text("// 1\n")
    first = build._key(source, toolchain)
    other.write_text("// 2\n")
    assert build._key(source, toolchain) == first
    beyond.write_text("// 2\n")
    assert build._key(source, toolchain) != first
    assert {p.name for p in build._included(source)} >= {"a.cpp", "near.h", "beyond.h", "kernel.h", "sampling.h"}


def test_two_builds_of_the_same_program_at_once_compile_it_once(
    tmp_path: Path, here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain, made = quick(here), []
    real = build._compile

    def counted(*arguments: Any) -> None:
        made.append(arguments)
        real(*arguments)

    monkeypatch.setattr(build, "_compile", counted)
    wanted = [benchmark(tmp_path, GOOD)]
    with ThreadPoolExecutor() as pool:
        found = [f.result() for f in [pool.submit(build.build, wanted, toolchain) for _ in range(3)]]
    assert len(made) == 1
    assert found[0] == found[1] == found[2]
    assert found[0]["my.thing"].exists()
