"""Reads the limits of control groups (versions 1, 2 or both): processor time, processors and memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.measure.machine.cpulist import readable_cpu_list
from steelyard.measure.machine.files import KernelFiles, natural

# Version 1 writes "no limit" as the largest count of whole pages; no machine has an exbibyte of memory.
_UNLIMITED = 1 << 60
_STOPPED = {"throttled_usec": 1e-6, "throttled_time": 1e-9}  # in cpu.stat of versions 2 and 1


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The limits: `cpu_quota` in cores, memory in bytes; None: no limit. The paths are the sources."""

    version: str
    cpu_quota: float | None = None
    cpu_quota_path: str = ""
    cpus: tuple[int, ...] | None = None
    nodes: tuple[int, ...] | None = None  # memory nodes
    memory_limit: int | None = None
    memory_limit_path: str = ""
    memory_left: int | None = None  # bytes below the limit, counting file cache that the kernel would give back


@dataclass(frozen=True)
class _Mount:
    point: str
    root: str
    controllers: frozenset[str]  # empty: version 2, which has them all


def read_allowance(files: KernelFiles) -> Allowance:
    """Returns the smallest limits of all control groups of this process, from its own group up to the top."""
    mounts = _list_mounts(files)
    versions = {"2" if not mount.controllers else "1" for mount in mounts}
    version = "1 and 2" if len(versions) == 2 else "".join(versions) or "none"
    quotas, limits, lefts, sets, node_sets = [], [], [], [], []
    for version_two, controller, folder in _list_folders(files, mounts):
        if controller in ("", "cpu") and (quota := _read_quota(files, folder, version_two)):
            quotas.append(quota)
        if controller in ("", "memory") and (limit := _read_memory_limit(files, folder, version_two)):
            limits.append(limit[:2])
            lefts.append(limit[2])
        if controller in ("", "cpuset") and (allowed := _read_cpuset(files, folder, "cpus")):
            sets.append(set(allowed))
        if controller in ("", "cpuset") and (allowed := _read_cpuset(files, folder, "mems")):
            node_sets.append(set(allowed))
    quota_value, quota_path = min(quotas, default=(None, ""))
    limit_value, limit_path = min(limits, default=(None, ""))
    cpus = tuple(sorted(set.intersection(*sets))) if sets else None
    nodes = tuple(sorted(set.intersection(*node_sets))) if node_sets else None
    return Allowance(
        version=version,
        cpu_quota=quota_value,
        cpu_quota_path=quota_path,
        cpus=cpus,
        nodes=nodes,
        memory_limit=limit_value,
        memory_limit_path=limit_path,
        memory_left=min(lefts, default=None),
    )


def read_throttled(files: KernelFiles) -> float | None:
    """Returns the seconds, added over processors, of stops by quotas of this process's groups and their parents, if any."""
    seconds = []
    for _, controller, folder in _list_folders(files, _list_mounts(files)):
        for line in (files.text(f"{folder}/cpu.stat") or "").splitlines() if controller in ("", "cpu") else ():
            name, _, value = line.partition(" ")
            if name in _STOPPED:
                seconds.append((natural(value) or 0) * _STOPPED[name])
    return sum(seconds) if seconds else None


def _list_mounts(files: KernelFiles) -> list[_Mount]:
    mounts = []
    for line in (files.text("/proc/self/mountinfo") or "").splitlines():
        # Format: proc(5), "/proc/pid/mountinfo"; the optional fields end with a lone dash.
        before, dash, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not dash or len(left) < 5 or len(right) < 3 or right[0] not in ("cgroup", "cgroup2"):
            continue
        named = frozenset(right[2].split(",")) & {"cpu", "cpuset", "memory"}
        if right[0] == "cgroup2" or named:
            mounts.append(_Mount(left[4], left[3], frozenset() if right[0] == "cgroup2" else named))
    return mounts or _read_recorded_mounts(files)


def _read_recorded_mounts(files: KernelFiles) -> list[_Mount]:
    """Reads /proc/mounts, which recorded trees have. "cpuset" was a separate file system before control groups existed."""
    mounts = []
    for line in (files.text("/proc/mounts") or "").splitlines():
        _, point, kind, options = (*line.split(" "), "", "", "", "")[:4]
        named = frozenset((kind, *options.split(","))) & {"cpu", "cpuset", "memory"}
        if kind in ("cgroup", "cgroup2", "cpuset") and (named or kind == "cgroup2"):
            mounts.append(_Mount(point, "/", frozenset() if kind == "cgroup2" else named))
    return mounts


def _list_folders(files: KernelFiles, mounts: list[_Mount]) -> Iterator[tuple[bool, str, str]]:
    """(version 2?, controller, folder) of this process's groups, each followed by its parents."""
    groups = files.text("/proc/self/cgroup")
    cpuset = files.text("/proc/self/cpuset")  # versions before 2.6.24 have only this file
    for line in (groups or (f"0:cpuset:{cpuset}\n0::{cpuset}" if cpuset else "")).splitlines():
        fields = line.split(":", 2)
        if len(fields) != 3:
            continue
        names, path = fields[1].split(","), fields[2]
        for controller in names:
            for mount in mounts:
                if (controller == "" and not mount.controllers) or controller in mount.controllers:
                    for folder in _list_upwards(mount, path):
                        yield controller == "", controller, folder


def _list_upwards(mount: _Mount, path: str) -> Iterator[str]:
    inside = path
    if mount.root != "/":
        # A container sees its own group mounted as the top; a group outside of the mount cannot be read.
        inside = path[len(mount.root) :] if (path + "/").startswith(mount.root.rstrip("/") + "/") else "/"
    parts = [part for part in inside.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        yield "/".join([mount.point.rstrip("/"), *parts[:depth]])


def _read_quota(files: KernelFiles, folder: str, version_two: bool) -> tuple[float, str] | None:
    if version_two:
        path = f"{folder}/cpu.max"
        words = (files.text(path) or "").split()
        quota, period = (natural(words[0]), natural(words[1])) if len(words) == 2 else (None, None)
    else:
        path = f"{folder}/cpu.cfs_quota_us"
        quota, period = files.number(path), files.number(f"{folder}/cpu.cfs_period_us")
    return (quota / period, path) if quota and period and quota > 0 and period > 0 else None


def _read_memory_limit(files: KernelFiles, folder: str, version_two: bool) -> tuple[int, str, int] | None:
    """Returns (bytes allowed, the file that says so, bytes still free), or None if there is no limit."""
    names = ("memory.max", "memory.high") if version_two else ("memory.limit_in_bytes",)
    usage = files.number(f"{folder}/{'memory.current' if version_two else 'memory.usage_in_bytes'}") or 0
    limits = []
    for name in names:
        limit = files.number(f"{folder}/{name}")
        if limit is not None and 0 < limit < _UNLIMITED:
            left = limit - usage + _read_reclaimable(files, folder, version_two)
            limits.append((limit, f"{folder}/{name}", max(0, min(limit, left))))
    return min(limits, default=None)


def _read_reclaimable(files: KernelFiles, folder: str, version_two: bool) -> int:
    wanted = "inactive_file" if version_two else "total_inactive_file"
    for line in (files.text(f"{folder}/memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == wanted:
            return natural(value) or 0
    return 0


def _read_cpuset(files: KernelFiles, folder: str, what: str) -> tuple[int, ...] | None:
    """Returns the set of "cpus" or of "mems", memory nodes."""
    for name in (f"cpuset.{what}.effective", f"cpuset.effective_{what}", f"cpuset.{what}", what):
        listed = readable_cpu_list(files.text(f"{folder}/{name}"))
        if listed:
            return listed
    return None
