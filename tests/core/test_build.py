"""Compiling: the cache's key, compilers that are missing, and errors shown whole."""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest

import builders
from scripts import write_script
from steelyard.errors import MachineFailed, ProgramFailed, UsageError
from steelyard.measure import build
from steelyard.measure.build import compiling, program
from steelyard.measure.build.program import Object, find_headers
from steelyard.measure.build.toolchain import compiler_flags
from steelyard.measure.machine.tools import mpi_flags
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
  void corrupt() { sum = 0; }
};
int main() { return serve({kernel<Nothing>("nothing")}); }
"""


def benchmark(folder: Path, text: str) -> Benchmark:
    source = folder / "thing.cpp"
    source.write_text(text)
    return replace(builders.benchmark("my.thing"), sources=(Source(str(source)),))


# What a program of threads compiles of the harness: what it is built of is tested through these.
KERNEL_HEADERS = {"kernel.h", "buffers.h", "clock.h", "json.h", "params.h", "team.h", "text.h"}


# A program that is compiled at once, since it uses nothing of the harness.
TINY = "int main() {}\n"


@dataclass(frozen=True)
class Logged:
    """A compiler that writes down what it has compiled to the end."""

    toolchain: build.Toolchain
    log: Path

    def compiled(self) -> list[str]:
        return sorted(Path(line).name for line in self.log.read_text().splitlines())


@pytest.fixture(scope="session")
def with_harness(here: Machine) -> tuple[Path, build.Toolchain]:
    """A cache that has the harness alone, and the compiler that made it: without optimisation, since nothing is measured.

    The compiler logs beside the cache what it compiles, and takes STEELYARD_SLOW seconds longer before and after its work.
    Both are kept from run to run.
    """
    resolved = build.resolve(build.default(here), here)
    text = (
        f'sleep "${{STEELYARD_SLOW:-0}}"\n{resolved.compiler} "$@" || exit\nsleep "${{STEELYARD_SLOW:-0}}"\n'
        'for word; do case "$word" in *.cpp) echo "$word" >> "$STEELYARD_CACHE.compiled";; esac; done'
    )
    folder = build.cache() / "tests" / f"harness-{sha256((resolved.version + text).encode()).hexdigest()[:20]}"
    wrapper = folder / "c++"
    if not wrapper.exists():
        os.replace(write_script(folder / f"c++-{os.getpid()}", text), wrapper)
    logging = build.Toolchain("logged", str(wrapper), "1", "-O0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(folder / "cache"))
        build.make([], harnesses=[(logging, None)])
    return folder / "cache", logging


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_harness: tuple[Path, build.Toolchain]) -> Path:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    shutil.copytree(with_harness[0], tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def logged(own_cache: Path, with_harness: tuple[Path, build.Toolchain]) -> Logged:
    return Logged(with_harness[1], Path(f"{own_cache}.compiled"))


@pytest.fixture
def quick(logged: Logged) -> build.Toolchain:
    return logged.toolchain


def test_a_program_is_built_once_and_again_when_its_source_changes(tmp_path: Path, quick: build.Toolchain) -> None:
    first = build.build([benchmark(tmp_path, GOOD)], quick)["my.thing"]
    stamp = first.stat().st_mtime_ns
    assert build.build([benchmark(tmp_path, GOOD)], quick)["my.thing"].stat().st_mtime_ns == stamp
    assert build.build([benchmark(tmp_path, TINY)], quick)["my.thing"] != first


def test_other_flags_are_another_toolchain(tmp_path: Path, here: Machine) -> None:
    name = build.default(here)
    plain, own = build.resolve(name, here), build.resolve(f"{name} -O1", here)
    assert own.name == plain.name + "+-O1"
    assert own.flags == "-march=native -O1"
    assert Object("x", Path(__file__), plain).key != Object("x", Path(__file__), own).key


def test_openmps_program_is_the_kernel_of_our_own_threads_linked_anew(tmp_path: Path, quick: build.Toolchain) -> None:
    threads = Source(benchmark(tmp_path, TINY).sources[0].path)
    declared = replace(benchmark(tmp_path, TINY), sources=(threads, replace(threads, model="openmp")))
    own, openmp = build.programs([declared], quick)
    assert own.objects == openmp.objects[:-1]
    assert openmp.objects[-1].name == "team_openmp"
    assert "-fopenmp" in openmp.linking
    assert "-fopenmp" not in own.linking
    compiled, linked = (
        next(edge for edge in compiling._list_steps([own, openmp], [], tmp_path) if edge.outputs[0] == made.path)
        for made in (own, openmp)
    )
    assert compiled.outputs == (own.path, own.objects[0].path)
    assert linked.rule == "program"
    assert own.objects[0].path in linked.inputs
    (alone,) = (edge for edge in compiling._list_steps([openmp], [], tmp_path) if edge.outputs[0] == openmp.path)
    assert alone.outputs == (openmp.path, own.objects[0].path)
    assert "-fopenmp" not in alone.variables["flags"].split()


def test_a_source_of_its_own_may_name_openmp(tmp_path: Path, quick: build.Toolchain) -> None:
    source = tmp_path / "openmp.cpp"
    source.write_text(TINY)
    declared = replace(benchmark(tmp_path, TINY), sources=(Source(str(source), model="openmp"),))
    (openmp,) = build.programs([declared], quick)
    assert "-fopenmp" in compiler_flags(openmp.objects[0].toolchain)


@pytest.mark.parametrize(
    ("flags", "quicker"), [("-O3 -march=native", "-O1 -march=native"), ("-O0", "-O0"), ("-O2", "-O2")]
)
def test_only_the_harness_beside_its_probes_is_optimised_less(
    tmp_path: Path, quick: build.Toolchain, flags: str, quicker: str
) -> None:
    (made,) = build.programs([benchmark(tmp_path, TINY)], replace(quick, flags=flags))
    assert {obj.name: obj.toolchain.flags for obj in made.objects} == {
        "thing": flags,
        "harness": quicker,
        "probes": flags,
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads the jumps of x86's machine code")
def test_short_loops_begin_with_a_cache_line_and_a_users_flags_win(tmp_path: Path, here: Machine) -> None:
    sums = [
        f"double sum{n}(const double* x, int n) {{ double s = {n}; for (int i = 0; i < n; ++i) s += x[i]; return s; }}"
        for n in range(4)
    ]
    source = tmp_path / "sums.cpp"
    source.write_text("\n".join(sums))

    def begins(flags: str) -> set[int]:
        """Where in a cache line the four loops begin: where their jumps back go to."""
        toolchain = build.resolve(f"{build.default(here)} {flags}", here)
        words = [toolchain.compiler, *compiler_flags(toolchain), "-c", str(source), "-o", str(tmp_path / "sums.o")]
        subprocess.run(words, check=True)
        text = subprocess.run(["objdump", "-d", tmp_path / "sums.o"], capture_output=True, text=True, check=True).stdout
        jumps = [(int(at, 16), int(to, 16)) for at, to in re.findall(r"^ *(\w+):.*\tj\w+ +(\w+) ", text, re.MULTILINE)]
        loops = [to % 64 for at, to in jumps if to < at]
        assert len(loops) == len(sums)
        return set(loops)

    assert begins("-O2") == {0}
    assert begins("-O2 -falign-loops=1") != {0}


def test_a_compile_error_is_shown_whole_with_the_command(tmp_path: Path, quick: build.Toolchain) -> None:
    with pytest.raises(ProgramFailed) as failure:
        build.build([benchmark(tmp_path, TINY.replace("{}", "{ summ += 1; }"))], quick)
    text = str(failure.value)
    assert "summ" in text
    assert "thing.cpp" in text
    assert " -c " in text, "the command to paste"
    assert failure.value.exit_code == 4


MEMBERS = ("run", "work", "check", "corrupt")


def test_a_kernel_without_one_of_the_members_does_not_compile_and_is_told_which(
    tmp_path: Path, quick: build.Toolchain
) -> None:
    """One kernel for each member, which lacks it."""
    head, rest = GOOD.split("struct Nothing")
    kernel = "struct Nothing" + rest.split("int main")[0]
    lacking = [
        re.sub(rf"^ .* {member}\(.*\n", "", kernel, flags=re.MULTILINE).replace("Nothing", f"Without_{member}")
        for member in MEMBERS
    ]
    kernels = ", ".join(f'kernel<Without_{member}>("{member}")' for member in MEMBERS)
    text = "".join([head, *lacking, f"int main() {{ return serve({{{kernels}}}); }}\n"])
    with pytest.raises(ProgramFailed) as failure:
        build.build([benchmark(tmp_path, text)], quick)
    said = str(failure.value)
    found = re.findall(r"\w\.(\w+)\(.*(?:is|would be) invalid", said)
    assert sorted(set(found)) == sorted(MEMBERS), said
    assert all(f"Without_{member}" in said for member in MEMBERS)


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


def test_a_program_is_built_anew_for_its_own_headers_and_not_for_those_of_others(
    tmp_path: Path, quick: build.Toolchain
) -> None:
    toolchain = quick
    source, near, beyond, other = (tmp_path / name for name in ("a.cpp", "near.h", "beyond.h", "other.h"))
    source.write_text('#include <vector>\n#include "near.h"\n#include "kernel.h"\n#include "missing.h"\n')
    near.write_text('#include "beyond.h"\n#include "near.h"\n')
    beyond.write_text("// 1\n")
    other.write_text("// 1\n")
    first = Object("a", source, toolchain).key
    other.write_text("// 2\n")
    assert Object("a", source, toolchain).key == first
    beyond.write_text("// 2\n")
    assert Object("a", source, toolchain).key != first
    assert {p.name for p in find_headers(source)} == {"a.cpp", "near.h", "beyond.h", *KERNEL_HEADERS}
    assert {p.name for p in find_headers(build.NATIVE / "harness.cpp")} >= {"harness.cpp", "sampling.cpp", "sampling.h"}


def test_the_part_of_a_header_beside_it_is_compiled_once_for_all_programs(tmp_path: Path, logged: Logged) -> None:
    (tmp_path / "common.h").write_text("int common();\n")
    (tmp_path / "common.once.cpp").write_text('#include "common.h"\nint common() { return 0; }\n')
    both = several(tmp_path, 2, '#include "../common.h"\nint main() { return common(); }\n')
    first = build.build(both, logged.toolchain)
    assert logged.compiled().count("common.once.cpp") == 1
    (tmp_path / "common.once.cpp").write_text('#include "common.h"\nint common() { return 1; }\n')
    again = build.build(both, logged.toolchain)
    assert [subprocess.run([path], check=False).returncode for path in (*first.values(), *again.values())] == [
        0,
        0,
        1,
        1,
    ]
    assert [logged.compiled().count(f"{name}.cpp") for name in ("common.once", "thing0")] == [2, 1]


def test_two_builds_of_the_same_program_at_once_compile_it_once(
    tmp_path: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [benchmark(tmp_path, TINY)]
    monkeypatch.setenv("STEELYARD_SLOW", "0.2")
    with ThreadPoolExecutor() as pool:
        found = [f.result() for f in [pool.submit(build.build, wanted, logged.toolchain) for _ in range(3)]]
    assert found[0] == found[1] == found[2]
    assert found[0]["my.thing"].exists()
    assert logged.compiled() == ["thing.cpp"]


def test_a_build_says_for_which_process_it_waits(tmp_path: Path, quick: build.Toolchain) -> None:
    wanted = build.programs([benchmark(tmp_path, TINY)], quick)
    seen: list[build.Progress] = []
    waits = threading.Event()

    def show(progress: build.Progress) -> None:
        seen.append(progress)
        waits.set()

    with ThreadPoolExecutor() as pool:
        with compiling._lock_cache(show):
            making = pool.submit(build.make, wanted, show)
            assert waits.wait(60)
        making.result()
    assert re.fullmatch(rf"process {os.getpid()} on \S+, since \d\d:\d\d:\d\d", seen[0].waiting)
    assert not any(progress.waiting for progress in seen[1:])
    assert wanted[0].path.exists()


def test_a_lock_of_an_earlier_version_is_held_by_another_process(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("a+") as lock:
        assert compiling._find_lock_holder(lock) == "another process"


def several(folder: Path, count: int, text: str = TINY) -> list[Benchmark]:
    """Benchmarks that differ in a comment only."""
    found = []
    for number in range(count):
        (folder / f"b{number}").mkdir()
        one = benchmark(folder / f"b{number}", f"{text}// {number}\n")
        (folder / f"b{number}/thing.cpp").rename(folder / f"b{number}/thing{number}.cpp")
        found.append(
            replace(one, name=f"my.thing{number}", sources=(Source(str(folder / f"b{number}/thing{number}.cpp")),))
        )
    return found


@pytest.mark.parametrize(
    ("text", "count", "slow", "moments"),
    [
        pytest.param(TINY, 4, "0.3", (0.2, 0.5, 0.8), id="three moments of a slow compiler"),
        pytest.param(GOOD, 8, "0", [0.1 + 0.15 * n for n in range(10)], id="ten moments", marks=pytest.mark.long),
    ],
)
def test_an_interrupted_build_goes_on_and_compiles_nothing_twice(
    text: str,
    count: int,
    slow: str,
    moments: Sequence[float],
    tmp_path: Path,
    logged: Logged,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C at some moments, each in a process of its own as a user would give it."""
    wanted = several(tmp_path, count, text)
    monkeypatch.setenv("STEELYARD_SLOW", slow)
    sources = [b.sources[0].path for b in wanted]
    kept: dict[Path, tuple[int, int]] = {}
    for moment in moments:
        process = subprocess.Popen(
            [sys.executable, "-c", BUILD, logged.toolchain.compiler, *sources],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) in (0, 130)
        now = _kept()
        assert {path: now.get(path) for path in kept} == kept, "what was compiled once stays as it is"
        assert not list(build.cache().rglob("*.part")), "nothing half-made is left"
        assert not list((build.cache() / "build").glob("making-*"))
        kept = now
    monkeypatch.delenv("STEELYARD_SLOW")
    made = build.build(wanted, logged.toolchain)
    assert all(program.exists() for program in made.values())
    assert {path: stamp for path, stamp in _kept().items() if path in kept} == kept


def _kept() -> dict[Path, tuple[int, int]]:
    files = (p for p in build.cache().rglob("*") if p.is_file() and p.name != "lock")
    return {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in files}


# Ends as the command line does.
BUILD = """
import sys
from pathlib import Path
from steelyard.measure import build
toolchain = build.Toolchain("logged", sys.argv[1], "1", "-O0")
try:
    print("ready", flush=True)
    build.make([build.Program(name=f"my.{Path(s).stem}", source=Path(s), toolchain=toolchain) for s in sys.argv[2:]])
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_build_says_how_many_programs_are_done_and_how_long_it_will_take(tmp_path: Path, logged: Logged) -> None:
    seen: list[build.Progress] = []
    wanted = [p for b in several(tmp_path, 3) for p in build.programs([b], logged.toolchain)]
    expected = build.expect(wanted)
    build.make(wanted, seen.append)
    assert (seen[0].done, seen[0].total, seen[0].seconds_left) == (0, 3, pytest.approx(expected.seconds_left))
    assert (expected.total, build.expect(wanted).total) == (3, 0)
    assert (seen[-1].done, seen[-1].seconds_left) == (3, 0)
    assert [s.done for s in seen] == sorted(s.done for s in seen)
    again: list[build.Progress] = []
    build.make(wanted, again.append)
    assert again == [], "where nothing is missing there is nothing to say"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("/tmp/cc.s: fatal error: error writing to cc.s: No space left on device", "STEELYARD_CACHE to a folder"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "ran out of memory"),
    ],
)
def test_a_full_disk_and_a_full_memory_are_not_blamed_on_the_compiler(
    said: str, expected: str, tmp_path: Path, logged: Logged
) -> None:
    failing = write_script(tmp_path / "c++", f"echo '{said}' >&2\nexit 1")
    with pytest.raises(MachineFailed, match=expected) as failure:
        build.build([benchmark(tmp_path, GOOD)], replace(logged.toolchain, compiler=str(failing)))
    assert not isinstance(failure.value, ProgramFailed)
    assert not list(build.cache().rglob("thing*"))


@pytest.mark.site
@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk of its own needs root to be mounted")
def test_a_disk_that_fills_up_in_the_build_gets_a_sentence_and_keeps_nothing_half_made(
    tmp_path: Path, quick: build.Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", small], check=True)
    try:
        monkeypatch.setenv("STEELYARD_CACHE", str(small))
        with pytest.raises(MachineFailed, match="full.*STEELYARD_CACHE|STEELYARD_CACHE"):
            build.build([benchmark(tmp_path, GOOD)], quick)
        assert not list(small.rglob("*.part"))
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize(("version", "fine"), [("g++ (Debian 9.3.0) 9.3.0", False), ("g++ (GCC) 11.4.0", True)])
def test_a_compiler_that_is_too_old_is_named_with_what_is_needed(version: str, fine: bool, here: Machine) -> None:
    machine = replace(here, compilers=(Tool("g++", "/usr/bin/g++", version),))
    if fine:
        assert build.resolve("gcc", machine).name == "gcc-11.4.0"
    else:
        with pytest.raises(MachineFailed, match=r"9\.3\.0.*11 or later"):
            build.resolve("gcc", machine)


def test_a_newer_compiler_of_the_family_is_taken_before_one_that_is_too_old(here: Machine) -> None:
    old, new = Tool("g++", "/usr/bin/g++", "g++ 9.3.0"), Tool("g++-12", "/usr/bin/g++-12", "g++-12 12.2.0")
    machine = replace(here, compilers=(old, new))
    assert build.resolve(build.default(machine), machine).compiler == new.path
    with pytest.raises(MachineFailed, match="apt-get install"):
        build.resolve("g++", machine)


def test_a_wrapper_is_the_same_mpi_by_whatever_path_it_is_named(tmp_path: Path, quick: build.Toolchain) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "other").symlink_to("bin")
    (tmp_path / "bin/mpicxx").write_text("")
    keys = {
        Object("x", Path(__file__), quick, Tool("mpich", str(tmp_path / path), "4.0")).key
        for path in ("bin/mpicxx", "other/mpicxx", "bin/../other/mpicxx")
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("shown", "compiling", "linking"),
    [
        (
            "g++ -I/opt/ompi/include -pthread -L/opt/ompi/lib -Wl,-rpath -Wl,/opt/ompi/lib -lmpi",
            ("-isystem", "/opt/ompi/include"),
            ("-L/opt/ompi/lib", "-Wl,-rpath", "-Wl,/opt/ompi/lib", "-lmpi"),
        ),
        (
            "g++ -g -O2 -flto=auto -fstack-protector-strong -Wformat -Wl,-z,relro -I/usr/include/mpich "
            "-L/usr/lib -lmpichcxx -lmpich",
            ("-isystem", "/usr/include/mpich"),
            ("-Wl,-z,relro", "-L/usr/lib", "-lmpichcxx", "-lmpich"),
        ),
        (
            "g++ -I'/opt/i mpi/include' -Xlinker --enable-new-dtags -Xlinker -rpath -Xlinker /opt/lib /opt/lib/libmpi.so",
            ("-isystem", "/opt/i mpi/include"),
            ("-Xlinker", "--enable-new-dtags", "-Xlinker", "-rpath", "-Xlinker", "/opt/lib", "/opt/lib/libmpi.so"),
        ),
    ],
)
def test_of_a_wrapper_s_words_only_the_places_are_taken(
    shown: str, compiling: tuple[str, ...], linking: tuple[str, ...], tmp_path: Path
) -> None:
    wrapper = write_script(tmp_path / "mpicxx", f'cat <<"END"\n{shown}\nEND')
    assert mpi_flags(Tool("mpich", str(wrapper), "1")) == (compiling, linking)


NAMES = (
    *("a b", "a:b'\"", "$c*[1]", "-a", "$HOME", "${x}$$", "a&b;c|d", "#a", "a\\b", "ümläut ß", "x" * 200, "a%d=b,c"),
    *("`id`(1)", "~a", "a\tb", "a!b?", "{a,b}", "a.part && b", "a #b", "\N{SNOWMAN}'s", " a "),
)
# In place of a compiler: it finds every file that it is given, and makes the one that it is asked for.
CHECKING = """while [ $# -gt 0 ]; do
  case "$1" in
  -o) : > "$2" && chmod 755 "$2" || exit 2; shift;;
  -include) [ -f "$2" ] || exit 3; shift;;
  -I*) [ -d "${1#-I}" ] || exit 4;;
  -*) ;;
  c++-header) ;;
  *) [ -f "$1" ] || exit 5;;
  esac
  shift
done"""


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", NAMES)
def test_every_path_of_a_build_may_have_any_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache, the package, the compiler's folder, that of a benchmark, and the benchmark itself: many, with one header."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "native").symlink_to(program.NATIVE)
    for module in (compiling, program):
        monkeypatch.setattr(module, "NATIVE", folder / "native")
    write_script(folder / "c++", CHECKING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CACHE", name)  # a relative name is of the current folder
    toolchain = build.Toolchain("gcc-12.2.0", str(folder / "c++"), "12", "-O1")
    called = name[:100]  # a file's name, with what else stands in it
    makes = [replace(benchmark(folder, TINY), name=f"my.{called}{number}") for number in range(compiling._MANY)]
    made = build.build(makes, toolchain)
    assert [path.name for path in made.values()] == [one.name for one in makes]
    assert all(path.is_file() and path.is_relative_to(folder) for path in made.values())


def test_a_program_of_strange_paths_is_built_by_a_real_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: Logged
) -> None:
    name = "a b:c'd\"e$f*[1]g&h#ü"
    (tmp_path / name).mkdir()
    # Ninja cannot say a line's end, which the cache's own name may have: names are seen from within it.
    shutil.copytree(os.environ["STEELYARD_CACHE"], tmp_path / name / "my\ncache")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / name / "my\ncache"))
    made = build.build([benchmark(tmp_path / name, TINY)], logged.toolchain)["my.thing"]
    assert subprocess.run([made], check=True).returncode == 0
