"""Where the processors of a machine are: their core and their caches, found in one pass over the machine."""

from steelyard.model import Core, Machine


class Places:
    """The core of each processor, and which processors share a cache. A question takes the same time on any machine."""

    def __init__(self, machine: Machine) -> None:
        self.core: dict[int, Core] = {cpu: core for core in machine.cores for cpu in core.cpus}
        of_kinds: dict[tuple[int, str], dict[int, int]] = {}
        for number, cache in enumerate(machine.caches):
            if cache.kind != "instruction":
                of_kinds.setdefault((cache.level, cache.kind), {}).update(dict.fromkeys(cache.cpus, number))
        self._caches: dict[int, list[dict[int, int]]] = {}
        for (level, _), number_of in of_kinds.items():
            self._caches.setdefault(level, []).append(number_of)

    @property
    def last_level(self) -> int:
        """Returns the greatest level of a cache; 0 without any."""
        return max(self._caches, default=0)

    def share_cache(self, level: int, a: int, b: int) -> bool:
        """Returns whether both processors have the same cache of this level."""
        for number_of in self._caches.get(level, ()):  # noqa: SIM110 - half the time of any()
            if a in number_of and number_of[a] == number_of.get(b):
                return True
        return False
