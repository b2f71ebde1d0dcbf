"""Reads the caches from the kernel's files: sysfs, the attributes of SPARC, and the lines of s390's /proc/cpuinfo."""

from collections.abc import Iterator, Mapping

from steelyard.measure.machine.files import KernelFiles, natural
from steelyard.model import Cache, Core

_CPU = "/sys/devices/system/cpu"
_USUAL_LINE = 64  # bytes: of every x86 processor, and of nearly all others that do not tell
# arch/sparc/kernel/sysfs.c: sizes in bytes, one file each.
_SPARC = (
    (1, "data", "l1_dcache_size", "l1_dcache_line_size"),
    (1, "instruction", "l1_icache_size", "l1_icache_line_size"),
    (2, "unified", "l2_cache_size", "l2_cache_line_size"),
)


def read_caches(
    files: KernelFiles, cores: tuple[Core, ...], cpuinfo: Mapping[str, str], inclusive_l3: bool | None
) -> tuple[Cache, ...]:
    """Returns each cache of the processors in `cores` once, by level. `inclusive_l3` is a fact of the processor family."""
    caches = _read_caches(files, cores, inclusive_l3) or list(_read_sparc_caches(files, cores))
    levels = {cache.level for cache in caches}
    caches += (cache for cache in _read_s390_caches(cpuinfo, cores) if cache.level not in levels)
    return tuple(sorted(set(caches), key=lambda cache: (cache.level, cache.kind, cache.cpus)))


def _read_caches(files: KernelFiles, cores: tuple[Core, ...], inclusive_l3: bool | None) -> list[Cache]:
    caches: list[Cache] = []
    covered: dict[str, set[int]] = {}
    core_of = {cpu: core.cpus for core in cores for cpu in core.cpus}
    for cpu in sorted(core_of):
        if covered and all(cpu in cpus for cpus in covered.values()):
            continue
        folder = f"{_CPU}/cpu{cpu}/cache"
        for index in (name for name in files.names(folder) if name.startswith("index")):
            # A shared cache is read once, not once for each processor that shares it.
            if cpu in covered.setdefault(index, set()):
                continue
            cache = _read_cache(files, f"{folder}/{index}", cpu, core_of, inclusive_l3)
            if cache is not None:
                covered[index].update(cache.cpus)
                caches.append(cache)
    return caches


def _read_cache(
    files: KernelFiles, folder: str, cpu: int, core_of: Mapping[int, tuple[int, ...]], inclusive_l3: bool | None
) -> Cache | None:
    level, size = files.number(f"{folder}/level"), _size(files.text(f"{folder}/size"))
    if not level or not size:
        return None
    listed = files.cpus(folder, "shared_cpu_map", "shared_cpu_list") or ()
    cpus = tuple(other for other in listed if other in core_of)
    kind = (files.text(f"{folder}/type") or "unified").lower()
    line = files.number(f"{folder}/coherency_line_size") or _USUAL_LINE
    # Itanium's kernels give empty sets: the threads of a core share its caches.
    sharers = cpus if cpu in cpus else core_of[cpu]
    return Cache(level, kind, size, line, sharers, inclusive_l3 if level == 3 else None)


def _read_sparc_caches(files: KernelFiles, cores: tuple[Core, ...]) -> Iterator[Cache]:
    for core in cores:
        for level, kind, size_file, line_file in _SPARC:
            folder = f"{_CPU}/cpu{core.cpus[0]}"
            size, line = files.number(f"{folder}/{size_file}"), files.number(f"{folder}/{line_file}")
            if size and size > 0:
                yield Cache(level, kind, size, line or _USUAL_LINE, core.cpus)


def _read_s390_caches(cpuinfo: Mapping[str, str], cores: tuple[Core, ...]) -> Iterator[Cache]:
    """Lines such as 'cache4 : level=3 type=Unified scope=Shared size=65536K line_size=256' (arch/s390/kernel/cache.c).

    The kernel does not tell which processors share a shared one: all of them are taken, as by lscpu.
    """
    everyone = tuple(sorted(cpu for core in cores for cpu in core.cpus))
    for key, value in cpuinfo.items():
        fields = dict(word.partition("=")[::2] for word in value.split())
        level, size, line = natural(fields.get("level")), _size(fields.get("size")), natural(fields.get("line_size"))
        if not key.startswith("cache") or not level or not size:
            continue
        sharers = [everyone] if fields.get("scope") == "Shared" else [core.cpus for core in cores]
        kind = fields.get("type", "unified").lower()
        yield from (Cache(level, kind, size, line or _USUAL_LINE, cpus) for cpus in sharers if cpus)


def _size(text: str | None) -> int | None:
    """Returns the bytes in '48K' or '32M', as sysfs writes the size of a cache."""
    digits, suffix = (text or "")[:-1], (text or "")[-1:].upper()
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(suffix)
    number = natural(digits)
    return number * factor if factor and number is not None else None
