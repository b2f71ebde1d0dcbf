"""The README's commands on a bare machine, as a new user types them: python3 tests/fresh/first_hour.py [run|test …].

A Debian with nothing but what the README asks for, an empty home, an ordinary user, a clean clone of HEAD. Needs root, and only
what every Python has. Ends with the first exit code that is not 0; 4 where no bare machine can be made.
"""

import contextlib
import fcntl
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import bare

ROOT = Path(__file__).parents[2]
HERE = "/home/user/steelyard"  # the clone, as its user sees it
EXPECTED = ("run", "test")  # the targets of make that the README must name


def commands(readme: str) -> list[str]:
    """What the README's first block tells a new user to type after the clone. ValueError for other than `EXPECTED`."""
    block = re.search(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    lines = [line.partition("#")[0].strip() for line in (block.group(1) if block else "").splitlines()]
    clone, *rest = [line for line in lines if line] or [""]
    if not clone.startswith("git clone "):
        raise ValueError(f"the README's first block must begin with git clone, and not with '{clone}'")
    if rest != [f"make {target}" for target in EXPECTED]:
        raise ValueError(f"after the clone, the README's first block must say make run and make test, and not {rest}")
    return rest


def chosen(words: Sequence[str], readme: str) -> list[str]:
    """The commands of the README of which `words` name the targets; all where there are none. ValueError for others."""
    known = commands(readme)
    if unknown := [word for word in words if word not in EXPECTED]:
        raise ValueError(f"'{unknown[0]}' (given by FRESH) is not one of {', '.join(EXPECTED)}")
    return [command for command in known if not words or command.removeprefix("make ") in words]


@contextmanager
def step(what: str) -> Iterator[None]:
    """Prints what is done, and how long it took."""
    print(f"fresh: {what} …", flush=True)
    begun = time.monotonic()
    yield
    print(f"fresh: {what}: {time.monotonic() - begun:.0f} s", flush=True)


def processor_seconds() -> float:
    """Returns the time on a processor, in user and in system mode, of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def clone_here(root: Path) -> None:
    """Puts a clean clone of HEAD where the commands of the README expect it."""
    with step("a clean clone of HEAD"):
        clone(root / HERE.lstrip("/"))


@contextmanager
def machine(suite: str = bare.SUITE, fill: Callable[[Path], None] = clone_here) -> Iterator[Path]:
    """A bare machine that `fill` has given what its user needs; gone afterwards."""
    bare.cache().mkdir(parents=True, exist_ok=True)
    with step("the bare machine's archive"):
        packed = bare.archive(suite)
    remove_left_over()
    folder = Path(tempfile.mkdtemp(prefix="fresh-", dir=bare.cache()))
    try:
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        root = folder / "root"
        with step("unpacking it"):
            bare.unpack(packed, root)
        fill(root)
        yield root
    finally:
        remove(folder)


def clone(target: Path) -> None:
    """HEAD as it was committed, owned by the user of the bare machine."""
    git = ["git", "-c", "advice.detachedHead=false", "-c", f"safe.directory={ROOT}"]
    if subprocess.run([*git, "-C", ROOT, "status", "--porcelain"], capture_output=True, check=False).stdout:
        print("fresh: what is not committed is not in the clone.", flush=True)
    done = subprocess.run([*git, "clone", "--quiet", "--no-hardlinks", ROOT, target], check=False)
    if done.returncode != 0:
        raise bare.Missing(f"{ROOT} cannot be cloned: it must be a git repository with a commit.")
    subprocess.run(["chown", "-R", "1000:1000", target], check=True)


def remove_left_over() -> None:
    """What a killed one left behind: nobody holds its lock."""
    for old in bare.cache().glob("fresh-*"):
        held = os.open(old, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(old)
        except BlockingIOError:
            pass
        finally:
            os.close(held)


def remove(folder: Path) -> None:
    """The machine's folder; never what might be mounted in it."""
    mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    if any(Path(place).is_relative_to(folder) for place in mounted):
        print(f"fresh: {folder} is left: something is mounted in it.", file=sys.stderr)
        return
    shutil.rmtree(folder, ignore_errors=True)


def inside(root: Path, command: str, folder: str = HERE, separate: Sequence[str] = ()) -> int:
    """Returns the exit code of a command, typed in `folder` by the machine's user. Ends with all its processes, however it ends.

    `separate` are further namespaces by the options of unshare, such as "--net" for a machine without a network.
    """
    variables = {
        "HOME": "/home/user",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **bare.pip_variables(),
    }
    enter = ["sh", str(Path(__file__).with_name("enter.sh")), str(root), *(f"{k}={v}" for k, v in variables.items())]
    spaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", *separate]
    running = subprocess.Popen([*spaces, *enter, "sh", "-c", f"cd {folder} && {command}"], stdin=subprocess.DEVNULL)
    try:
        return running.wait()
    except BaseException:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(10)  # a Ctrl-C reached it, too
        running.kill()
        running.wait()
        raise


def show(command: str, seconds: float, processor: float) -> str:
    """Returns a line with the time of a command, and with that of all processors together."""
    return f"{minutes(seconds)}, of a processor {minutes(processor)}  {command}"


def minutes(seconds: float) -> str:
    whole, rest = divmod(round(seconds), 60)
    return f"{whole} min {rest:2} s"


def carry_out(wanted: Sequence[str]) -> int:
    """The commands, one after the other, in one bare machine; 0, or what the first of them that failed ended with."""
    took = []
    code = 0
    with machine() as root:
        for command in wanted:
            print(f"\nfresh: $ {command}", flush=True)
            begun, used = time.monotonic(), processor_seconds()
            code = inside(root, command)
            line = show(command, time.monotonic() - begun, processor_seconds() - used)
            took.append(line + ("" if code == 0 else f": ended with {code}"))
            if code != 0:
                break
    print("\nfresh: on a bare machine:\n  " + "\n  ".join(took), flush=True)
    return code


def stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(words: Sequence[str]) -> int:
    """`--instead COMMAND` has another one carried out, to try it."""
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)  # also where a script's background has it ignored
    try:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        wanted = [shlex.join(words[1:])] if words[:1] == ["--instead"] else chosen(words, readme)
        if os.geteuid() != 0:
            raise bare.Missing("A bare machine needs root: it is a folder that is entered by chroot.")
        return carry_out(wanted)
    except (bare.Missing, ValueError) as error:
        print(f"fresh: {error}", file=sys.stderr)
        return 4 if isinstance(error, bare.Missing) else 2
    except subprocess.CalledProcessError as error:
        print(f"fresh: {shlex.join(map(str, error.cmd))} ended with {error.returncode}.", file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        print("\nfresh: interrupted; the bare machine is gone.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
