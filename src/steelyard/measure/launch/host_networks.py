"""Asks every host of a run for its network and processor: a launch starts a small program on each, as it starts ranks."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import MachineFailed
from steelyard.measure import machine as machines
from steelyard.measure.launch import local
from steelyard.measure.launch.scheduler import launcher
from steelyard.measure.machine.host_network import program
from steelyard.measure.machine.network import UNKNOWN, fold_hosts, make_network
from steelyard.measure.machine.processors import identify, read_cpuinfo
from steelyard.measure.mpi import Job
from steelyard.model import Host, Machine, Network, Site
from steelyard.model.plain import visible
from steelyard.system import user_cache
from steelyard.system.answers import NoAnswer, ask
from steelyard.system.starts import python_command

SECONDS = 30.0  # until all hosts have answered; a launcher needs about 1 s, over many hosts some more
_MOST = 64 << 20  # bytes of all answers
# Python 3.8 or later: this one where the hosts see it, else that of the host in an absolute folder of PATH. The folder of the
# program stands last in the path, so that its other files do not replace modules of the standard library.
_SCRIPT = """#!/bin/sh
set -f
folders=
IFS=:
for entry in $PATH; do
  case $entry in /*) folders=${{folders:+$folders:}}$entry ;; esac
done
unset IFS
PATH=${{folders:-/usr/bin:/bin}}
for python in {python} python3; do
  command -v "$python" >/dev/null 2>&1 || continue
  exec "$python" -I -B -c 'import sys; sys.path.append(sys.argv[1]); from host_network import program; program.main()' {folder}
done
echo "{mark}-missing"
"""


def describe_hosts(site: Site, machine: Machine) -> Machine:
    """Returns the machine with the processors and networks of all hosts of the run, in their order; equal networks once.

    It does not raise: a reason says what failed. Without hosts or without an MPI, the machine stays as it is.
    """
    if not machine.hosts or not site.mpis:
        return machine
    try:
        output = _run_on_hosts(site, machine)
    except (NoAnswer, MachineFailed, OSError) as problem:
        reason = f"the launcher {site.launcher} could not start a program on the hosts: {problem}"
        return replace(machine, networks=(Network(hosts=tuple(host.name for host in machine.hosts), reason=reason),))
    return replace(machine, hosts=read_processors(output, machine.hosts), networks=read_answers(output, machine.hosts))


def read_processors(output: str, hosts: tuple[Host, ...]) -> tuple[Host, ...]:
    """Returns the hosts with the names of their processors, from the lines that they printed; rank n was on host n."""
    answers = _unpack_answers(output)
    return tuple(replace(host, processor=_name_processor(answers.get(rank))) for rank, host in enumerate(hosts))


def _name_processor(answer: object) -> str:
    lines = answer.get(program.PROCESSOR) if isinstance(answer, dict) else None
    texts = [visible(line) for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    name = identify(*read_cpuinfo(texts)).name
    return "" if name == UNKNOWN else name


def _unpack_answers(output: str) -> dict[int, Any]:
    return dict(filter(None, map(program.unpack, output.splitlines())))


def read_answers(output: str, hosts: tuple[Host, ...]) -> tuple[Network, ...]:
    """Returns the networks of the hosts from the lines that they printed; rank n was on host n."""
    answers = _unpack_answers(output)
    missing = f"{program.MARK}-missing" in output
    why = "no Python 3.8 or later was found on the host" if missing else "the host did not answer"
    return fold_hosts(_make_network(host.name, rank, answers, why) for rank, host in enumerate(hosts))


def _make_network(host: str, rank: int, answers: Mapping[int, object], why: str) -> Network:
    if rank not in answers:
        return Network(hosts=(host,), reason=why)
    try:
        return make_network(host, answers[rank])
    except ValueError as error:
        return Network(hosts=(host,), reason=f"the answer of the host cannot be read ({error})")


def _run_on_hosts(site: Site, machine: Machine) -> str:
    """Returns what one process on each host printed."""
    script = _write_script()
    job = Job(
        program=script,
        folder=script.parent,
        ranks=len(machine.hosts),
        mpi=next(iter(site.mpis.values())),
        hosts=machine.hosts,
        ranks_per_node=1,
        extra=site.extra,
    )
    starter = launcher(site.launcher)
    environment = starter.environment(job, local.environment(machine))
    return ask(starter.argv(job), SECONDS, environment=environment, most=_MOST).stdout


def _write_script() -> Path:
    """Returns the file that the hosts start. It lies beside the programs of the benchmarks, which all hosts see."""
    folder = Path(machines.__file__).parent
    text = _SCRIPT.format(python=shlex.quote(python_command()[0]), folder=shlex.quote(str(folder)), mark=program.MARK)
    path = user_cache.inside("network") / "describe.sh"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(text, encoding="utf-8")
        written.chmod(0o755)
        written.replace(path)
    return path
