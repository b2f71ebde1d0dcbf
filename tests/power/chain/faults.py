"""Faults of a world: each begins, and gives what ends it; all of them in random order."""

import collections
import os
import time
from collections.abc import Callable
from pathlib import Path

from world import AGENTS, COLLECTORS, World

Undo = Callable[[], None]


def broker(world: World) -> Undo:
    world.kill("broker")
    return world.start_broker


def collector(world: World) -> Undo:
    name = world.chance.choice(COLLECTORS)
    world.kill(name)
    return lambda: world.start_collector(name)


def network(world: World) -> Undo:
    which = world.chance.choice(("agents", "collectors"))
    world.link(which, "down")
    return lambda: world.link(which, "up")


def buffer_disk(world: World) -> Undo:
    return filled(world.folder / "disk-buffer")


def store_disk(world: World) -> Undo:
    return filled(world.folder / "disk-store")


def clock(world: World) -> Undo:
    """Set forward (up to a day) or back (up to an hour or so), and at the end to the right time again."""
    whose = world.chance.choice((*AGENTS, "collectors"))
    world.set_clock(
        whose, world.chance.choice((86_400.0, -3600.0, world.chance.uniform(5, 4000), -world.chance.uniform(5, 4000)))
    )
    return lambda: world.set_clock(whose, 0)


def cassandra(world: World) -> Undo:
    assert world.server
    world.server.kill()
    return world.server.start


def filled(disk: Path) -> Undo:
    """To the last byte: what there is no room for is not written."""
    file = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    for size in (1 << 20, 4096, 1):
        try:
            while True:
                os.write(file, bytes(size))
        except OSError:
            continue
    os.close(file)
    return (disk / "filler").unlink


def strike(world: World, each: int) -> collections.Counter[str]:
    """All faults in random order, each while others may last: how often each happened."""
    kinds = [broker, collector, network, buffer_disk, clock, cassandra if world.cassandra else store_disk]
    order = kinds * each
    world.chance.shuffle(order)
    active: dict[str, tuple[float, Undo]] = {}
    counted: collections.Counter[str] = collections.Counter()

    def pass_until(over: Callable[[], bool]) -> None:
        while not over():
            for name, (end, undo) in list(active.items()):
                if end <= time.monotonic():
                    undo()
                    del active[name]
            world.look_after()
            time.sleep(0.1)

    for kind in order:
        name = kind.__name__
        pass_until(lambda name=name: name not in active)  # type: ignore[misc]
        counted[name] += 1
        # The tenth lasts a minute: longer than the broker is waited for, and than the first pauses between tries.
        seconds = 60.0 if counted[name] == 10 and kind in (broker, network) else world.chance.uniform(1, 6)
        active[name] = (time.monotonic() + seconds, kind(world))
        then = time.monotonic() + world.chance.uniform(1, 6)
        pass_until(lambda then=then: time.monotonic() >= then)  # type: ignore[misc]
    pass_until(lambda: not active)
    return counted
