"""Finds out whether this process runs in a container, and which program made it."""

import re

from steelyard.measure.machine.files import KernelFiles
from steelyard.model import Setting
from steelyard.model.proofs import WSL

_APPTAINER = "/.singularity.d"  # exists in each of its containers, which may share all other namespaces
# What other programs leave in the roots of their containers. A virtual machine made of such a root has the file, too.
_MARKS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
_NAME = "/run/systemd/container"  # systemd(1): the name of the program, for a system in a container
# The namespaces of the host have these numbers, by the kernel's include/uapi/linux/nsfs.h. The first two alone make a container.
_OF_THE_HOST = {"pid": 0xEFFFFFFC, "user": 0xEFFFFFFD, "cgroup": 0xEFFFFFFB, "ipc": 0xEFFFFFFF, "uts": 0xEFFFFFFE}


def read_container(files: KernelFiles, hypervisor: str | None) -> Setting:
    """Returns the setting "container": a name, "unnamed" if only the namespaces show it, "none", or None if unknown."""
    links = {kind: files.link(f"/proc/self/ns/{kind}") for kind in _OF_THE_HOST}
    source = "/proc/self/ns/pid"
    if files.exists(_APPTAINER):
        return Setting("container", "Apptainer", _APPTAINER)
    if not links["pid"]:
        return Setting("container", None, source, "the namespaces of this process cannot be read")
    separate = [kind for kind, link in links.items() if link and link != f"{kind}:[{_OF_THE_HOST[kind]}]"]
    if not separate or hypervisor == WSL:  # each distribution of WSL2 has namespaces of its own
        return Setting("container", "none", source)
    if mark := next((path for path in _MARKS if files.exists(path)), ""):
        return Setting("container", _MARKS[mark], mark)
    if name := files.text(_NAME):
        return Setting("container", re.sub(r"[^\w.-]+", " ", name)[:40], _NAME)
    alone = next((kind for kind in separate if kind in ("pid", "user")), "")
    return Setting("container", "unnamed" if alone else "none", f"/proc/self/ns/{alone or 'pid'}")
