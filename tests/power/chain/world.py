"""The parts of the chain, all of them real, in namespaces of their own: what chaos.py runs."""

import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cassandra_server import Server
from oracle import Verdict, given, judge

from steelyard.errors import SteelyardError
from steelyard.power.stores import open_store

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
AGENTS = ("node1", "node2")
COLLECTORS = ("a", "b")
EVERY = "250ms"
BROKER = """user root
listener 1883 0.0.0.0
allow_anonymous true
persistence false
max_inflight_messages 100
max_queued_messages 0
"""
# A reading is its serial number. It is in the log before it is given; a sensor that is silent gives nothing and logs nothing.
SCRIPT = """#!/bin/bash
exec 2>/dev/null
[ -e {folder}/silent ] && exit 1
read -r serial < {folder}/{name}.serial || serial=0
serial=$((serial + 1))
echo $serial > {folder}/{name}.serial
# The first is the agent's question which sensors there are.
at=${{EPOCHREALTIME/./}}
[ $serial -gt 1 ] && echo "$serial ${{at}}000" >> {folder}/{name}.log
echo "serial $serial W"
"""
RECENT = 20  # readings that may be on their way: five seconds
SETTLE = 240.0  # seconds after the last fault: pauses between tries grow to a minute


@dataclass
class World:
    """What runs. `start` begins all of it; a collector that ends by itself is started again, as a service manager does."""

    folder: Path
    chance: random.Random
    cassandra: bool = False
    mutant: str = ""
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    holders: dict[str, int] = field(default_factory=dict)  # processes that keep a network
    server: Server | None = None
    down: set[str] = field(default_factory=set)  # parts that are to stay away now
    restarts: int = 0

    @property
    def place(self) -> str:
        return f"cassandra://127.0.0.1:{self.server.port}/chaos" if self.server else f"{self.folder}/disk-store/store"

    @property
    def logs(self) -> dict[str, Path]:
        return {f"chaos/{name}": self.folder / f"{name}.log" for name in AGENTS}

    def start(self) -> None:
        self._network()
        for disk, size in (("buffer", "4m"), ("store", "64m")):
            (self.folder / f"disk-{disk}").mkdir()
            done("mount", "-t", "tmpfs", "-o", f"size={size}", "chaos", f"{self.folder}/disk-{disk}")
        (self.folder / "broker.conf").write_text(BROKER)
        if self.cassandra:
            self.server = Server(self.folder / "cassandra")
            self.server.start()
        source = Path(__file__).with_name("clock.cpp")
        done("c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", f"{self.folder}/clock.so", str(source))
        for clock in (*AGENTS, "collectors"):
            self.set_clock(clock, 0)
        self.start_broker()
        for name in COLLECTORS:
            self.start_collector(name)
        for name in AGENTS:
            script = self.folder / f"{name}.sh"
            script.write_text(SCRIPT.format(folder=self.folder, name=name))
            script.chmod(0o755)
            words = ["agent", "--broker", "10.77.2.1:1883", "--insecure", "--node", f"chaos/{name}", "--every", EVERY]
            words += ["--sensor", f"command:run={script}", "--buffer", f"{self.folder}/disk-buffer/{name}"]
            self._steelyard(name, name, words, "agents")

    def start_broker(self) -> None:
        assert MOSQUITTO
        self.down.discard("broker")
        self._begin("broker", [MOSQUITTO, "-c", f"{self.folder}/broker.conf"], network="broker")

    def start_collector(self, name: str) -> None:
        self.down.discard(name)
        words = ["collect", "--broker", "10.77.1.1:1883", "--insecure", "--store", self.place, "--name", name]
        self._steelyard(name, "collectors", words)

    def kill(self, name: str) -> None:
        self.down.add(name)
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait()

    def look_after(self) -> None:
        """Starts what ended by itself; an agent must never do that."""
        for name in COLLECTORS:
            if name not in self.down and self.running[name].poll() is not None:
                self.restarts += 1
                self.start_collector(name)
        for name in AGENTS:
            assert self.running[name].poll() is None, f"the agent of {name} ended: {self.said(name)}"

    def set_clock(self, whose: str, seconds: float) -> None:
        """From now on that much ahead of the machine's. Written in place: the processes have the file mapped."""
        file = os.open(self.folder / f"{whose}.clock", os.O_WRONLY | os.O_CREAT)
        os.write(file, struct.pack("<q", round(seconds * 1e9)))
        os.close(file)

    def link(self, which: str, state: str) -> None:
        done("nsenter", f"--net=/proc/{self.holders['broker']}/ns/net", "ip", "link", "set", which, state)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.err").read_text(errors="replace")

    def judged(self) -> Verdict:
        store = open_store(self.place)
        try:
            return judge(store, self.logs)
        finally:
            store.close()

    def end(self) -> Verdict:
        """Waits until all has come that still can, silences the sensors, ends every part in good order, and judges."""
        self._settle(lambda serial, last: serial > last - RECENT)
        (self.folder / "silent").touch()
        self._settle(lambda serial, last: False)
        for name in (*AGENTS, *COLLECTORS):
            self.running[name].send_signal(signal.SIGTERM)
            self.running[name].wait(60)
        return self.judged()

    def _settle(self, may_miss: Callable[[int, int], bool]) -> None:
        """Until only such readings (serial, the last that was given) are missing, or far too long."""
        late = time.monotonic() + (15 if self.mutant else SETTLE)
        while time.monotonic() < late:
            self.look_after()
            time.sleep(1)
            last = {node: max(given(log)) for node, log in self.logs.items()}
            with contextlib.suppress(SteelyardError):  # a store that is not there yet
                if all(may_miss(serial, last[node]) for node, serial in self.judged().missing):
                    return

    def _steelyard(self, name: str, clock: str, words: list[str], network: str = "") -> None:
        module = [str(Path(__file__).with_name("mutant.py")), self.mutant] if self.mutant else ["-m", "steelyard"]
        clocks = {"LD_PRELOAD": f"{self.folder}/clock.so", "CHAOS_CLOCK": f"{self.folder}/{clock}.clock"}
        self._begin(name, [sys.executable, *module, "power", *words], {**os.environ, **clocks}, network)

    def _begin(self, name: str, line: list[str], env: dict[str, str] | None = None, network: str = "") -> None:
        if network:
            line = ["nsenter", f"--net=/proc/{self.holders[network]}/ns/net", *line]
        with (self.folder / f"{name}.err").open("ab") as log:
            self.running[name] = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def _network(self) -> None:
        done("ip", "link", "set", "lo", "up")
        own = os.readlink("/proc/self/ns/net")
        for name in ("broker", "agents"):
            self.holders[name] = subprocess.Popen(("unshare", "--net", "sleep", "infinity")).pid
            while os.readlink(f"/proc/{self.holders[name]}/ns/net") == own:
                time.sleep(0.01)
        broker, agents = (str(self.holders[name]) for name in ("broker", "agents"))
        done("ip", "link", "add", "up0", "type", "veth", "peer", "name", "collectors", "netns", broker)
        inside = ("nsenter", f"--net=/proc/{broker}/ns/net", "ip")
        there = ("nsenter", f"--net=/proc/{agents}/ns/net", "ip")
        done(*inside, "link", "add", "agents", "type", "veth", "peer", "name", "up0", "netns", agents)
        ends = (("ip",), "up0", "1.2"), (inside, "collectors", "1.1"), (inside, "agents", "2.1"), (there, "up0", "2.2")
        for words in (inside, there):
            done(*words, "link", "set", "lo", "up")  # the MQTT client wakes itself over it
        for words, device, address in ends:
            done(*words, "addr", "add", f"10.77.{address}/24", "dev", device)
            done(*words, "link", "set", device, "up")


def done(*words: str) -> None:
    subprocess.run(words, check=True, timeout=60)
