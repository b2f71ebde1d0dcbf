"""Checks that the hosts that a user names can be reached, before anything is built or started."""

import os
import queue
import socket
import threading
import time
from collections.abc import Mapping, Sequence

from steelyard.errors import UsageError
from steelyard.measure.launch import scheduler
from steelyard.measure.launch.hosts import is_address
from steelyard.model import Host
from steelyard.system.answers import NoAnswer, ask
from steelyard.system.starts import find_program

SECONDS = 2.0  # until all hosts have answered
MOST = 512  # hosts that are asked
_SHOWN = 3  # hosts that a sentence names
# With one of these variables, launchers start their daemons in the user's way, which may use other names of hosts.
AGENTS = (
    "OMPI_MCA_plm_rsh_agent",
    "OMPI_MCA_plm_ssh_agent",
    "OMPI_MCA_orte_rsh_agent",
    "PRTE_MCA_plm_ssh_agent",
    "PRTE_MCA_prte_agent",
    "HYDRA_LAUNCHER",
    "HYDRA_BOOTSTRAP",
    "HYDRA_LAUNCHER_EXEC",
    "HYDRA_BOOTSTRAP_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
)


def expect_reachable(hosts: Sequence[Host], launcher: str, words: Sequence[str]) -> None:
    """Raises UsageError for hosts that mpiexec would reach by ssh, and that have no address or do not answer.

    With further `words` for the launcher, with an agent of the user, and in an allocation of a scheduler, the hosts are reached
    in another way and are not checked.
    """
    if launcher != "mpiexec" or words or any(os.environ.get(name) for name in AGENTS) or scheduler.find_allocation():
        return
    if addresses := [host.name for host in hosts if is_address(host.name)]:
        raise UsageError(
            f"MPI launchers do not accept the IPv6 address {_list_hosts(addresses)} (given by --hosts), because they take "
            "its colons as separators. Give the host a name in /etc/hosts or ~/.ssh/config, and use that name."
        )
    wrong = _find_troubles([host.name for host in hosts[:MOST]])
    if wrong:
        why = next(iter(wrong.values()))
        alike = [name for name, reason in wrong.items() if reason == why]
        raise UsageError(
            f"{_list_hosts(alike)} (given by --hosts) {why}. Check the spelling, DNS and /etc/hosts. "
            f"The command 'ssh {alike[0]} true' must work."
        )


def _list_hosts(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + more


def _find_troubles(names: Sequence[str]) -> Mapping[str, str]:
    """Returns the reason for each host that cannot be reached, by name. Does not wait for threads that get no answer."""
    answers: queue.Queue[tuple[str, str]] = queue.Queue()
    for name in names:
        threading.Thread(target=lambda name=name: answers.put((name, find_trouble(name))), daemon=True).start()
    left, troubles = dict.fromkeys(names, "did not answer within 2 s"), {}
    until = time.monotonic() + SECONDS + 0.5
    while left and (seconds := until - time.monotonic()) > 0:
        try:
            name, why = answers.get(timeout=seconds)
        except queue.Empty:
            break
        troubles[name] = why
        del left[name]
    reasons = {**troubles, **left}
    return {name: reasons[name] for name in names if reasons[name]}


def find_trouble(name: str) -> str:
    """Returns why ssh cannot reach a host, as words that follow its name; "" if no reason is known."""
    settings = _read_ssh_settings(name)
    if {"proxyjump", "proxycommand"} & settings.keys():
        return ""
    goal, port = settings.get("hostname", name), settings.get("port", "22")
    try:
        addresses = {entry[4][:2] for entry in socket.getaddrinfo(goal, int(port), type=socket.SOCK_STREAM)}
    except (OSError, ValueError, UnicodeError):
        return "has no address, because this machine cannot resolve the name"
    if not settings or any(_is_own(str(address)) for address, _ in addresses):
        return ""
    try:
        socket.create_connection((goal, int(port)), SECONDS).close()
    except OSError as error:
        return f"cannot be reached at port {port} by ssh ({error.strerror or error})"
    return ""


def _read_ssh_settings(name: str) -> Mapping[str, str]:
    """Returns the settings of ssh for that name, by the user and the site; {} if there is no ssh."""
    if not find_program("ssh"):
        return {}
    try:
        lines = ask(["ssh", "-G", name], SECONDS).stdout.splitlines()
    except NoAnswer:
        return {}
    settings = dict(line.split(" ", 1) for line in lines if " " in line)
    return {key: value for key, value in settings.items() if value != "none"}


def _is_own(address: str) -> bool:
    """Returns whether it is an address of this machine, on which ranks are started without ssh."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as made:
        try:
            made.bind((address, 0))
        except OSError:
            return False
    return True
