"""The chain from sensors to a store under faults in random order: every part is real, and so is every fault.

python tests/power/chain/chaos.py FOLDER [--each 20] [--seed 7] [--cassandra] [--mutant drop|twice]      (root)

All of it runs in namespaces of its own (mounts, network, processes), which end with it. The agents are in one network, the
broker in a second, collectors and store in a third, joined by veth pairs: a cut takes one of these down. Disks that fill up are
small tmpfs. A clock that is set is that of an agent and its sensor, or of both collectors (clock.cpp): the real one is the
whole machine's. It covers what a process reads as the time of day, not timers of the kernel. Cassandra's own clock and disk are
left alone.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from faults import strike
from world import World


def inside(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    world = World(folder, random.Random(arguments.seed), arguments.cassandra, arguments.mutant)
    world.start()
    while any(len(path.read_text().split()) < 20 if path.exists() else True for path in world.logs.values()):
        world.look_after()
        time.sleep(0.2)
    counted = strike(world, arguments.each)
    verdict = world.end()
    told = {**vars(verdict), "right": verdict.right, "seed": arguments.seed, "faults": counted}
    told |= {"seconds": round(time.monotonic() - began), "restarts": world.restarts}
    print(json.dumps(told), flush=True)
    return 0 if verdict.right else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--cassandra", action="store_true")
    parser.add_argument("--mutant", default="", choices=("", "drop", "twice"))
    parser.add_argument("--inside", action="store_true")
    arguments = parser.parse_args()
    if arguments.inside:
        return inside(arguments)
    print(f"seed {arguments.seed}", file=sys.stderr, flush=True)
    line = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__]
    line += [
        str(arguments.folder),
        f"--each={arguments.each}",
        f"--seed={arguments.seed}",
        f"--mutant={arguments.mutant}",
    ]
    return subprocess.run([*line, "--inside", *["--cassandra"][: arguments.cassandra]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
