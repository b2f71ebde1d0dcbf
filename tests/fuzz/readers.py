"""The readers of foreign bytes that are written in Python, each as a function of bytes, with texts that it takes.

`readers.py NAME FOLDER SECONDS` makes new texts with atheris from those in FOLDER on, and keeps those that reach new code.
A reader may refuse with `REFUSALS`; any other error is a finding, and so is one that takes longer than ten seconds.
"""

import contextlib
import gzip
import importlib
import io
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    import atheris

    watched: Any = atheris.instrument_imports(include=["steelyard"])
else:
    watched = contextlib.nullcontext()

with watched:
    from steelyard.applications.foreign import description, formula, output
    from steelyard.errors import SteelyardError
    from steelyard.importing import archives, reading
    from steelyard.measure import records
    from steelyard.measure.launch import rank_errors
    from steelyard.measure.launch.scheduler import _slurm_past, flux, lsf, pbs, slurm
    from steelyard.measure.machine import hostlist, system_file
    from steelyard.measure.records import power
    from steelyard.measure.telemetry.sensors import command, csv, ipmi, nvidia, redfish, rocm
    from steelyard.measure.telemetry.sensors import slurm as counters
    from steelyard.measure.telemetry.sensors._service import Service
    from steelyard.model import units
    from steelyard.model.plain import to_json
    from steelyard.model.sensor import Sensor
    from steelyard.power import buffer, message, topics
    from steelyard.power.command_line import time_ranges
    from steelyard.power.stores._packing import pack, unpack
    from steelyard.whatif import list_points, load_scenario, read_scenario

REFUSALS = (SteelyardError, message.Refused, output.Unmatched)
LONGEST = 4096  # bytes of a text
SOURCE = Path(records.__file__).parents[2]
TOPICS = ("steelyard/c/n/readings", "steelyard/c/n/sensors", "steelyard/c/n/a/b", "/c/n/s", "org/o/cluster/c/node/n/m")
SENSOR = Sensor("a", "power", "x")

Read = Callable[[bytes], object]
READERS: dict[str, tuple[Read, tuple[bytes, ...]]] = {}


def reader(*seeds: bytes | str) -> Callable[[Read], Read]:
    """Puts a function into READERS by its name, with texts from which on others are tried."""

    def named(read: Read) -> Read:
        READERS[read.__name__] = read, tuple(s.encode() if isinstance(s, str) else s for s in seeds)
        return read

    return named


@contextlib.contextmanager
def file(data: bytes, name: str = "file") -> Iterator[Path]:
    """A file with that content, in a folder of its own."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def each(data: bytes, *reads: Callable[[str], object]) -> None:
    """The text by each of these; what one refuses, which they may also do by a ValueError, another may take."""
    for read in reads:
        with contextlib.suppress(ValueError, *REFUSALS):
            read(text(data))


def said(data: bytes) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A command that prints this."""
    return lambda words, reported="": subprocess.CompletedProcess(words, 0, text(data), "")


@reader((SOURCE / "measure" / "machine" / "systems" / "example.toml").read_bytes())
def system_toml(data: bytes) -> None:
    with file(data, "system.toml") as path:
        system_file.load_system(path)


@reader(
    (SOURCE / "applications" / "foreign" / "hpcc.toml").read_bytes()[:LONGEST],
    (Path(__file__).parents[2] / "examples" / "applications" / "comd.toml").read_bytes(),
)
def application_toml(data: bytes) -> None:
    with file(data, "application.toml") as path:
        description.read(path)


@reader(
    '[network]\nlatency = ["1us", "2us"]\n[scenario.A]\ncore.region."3-5" = 8\n',
    'mode = "event"\nnetwork = {L = "1us", within = {L = "9ns"}}\ntree = {nodes = 4, uplink = "1GB/s"}\n',
)
def scenario_toml(data: bytes) -> None:
    with file(data, "scenario.toml") as path:
        list_points(read_scenario(load_scenario(path), ["network=L=1us"]), path.parent)


@reader("nodes=15,switches=36,uplink=20Gbit/s,hop=100ns", 'nodes = 4\nuplink = "1GB/s"\n')
def tree_toml(data: bytes) -> None:
    with file(data, "tree.toml") as path:
        list_points(read_scenario(None, ["network.latency=1us", f"tree={path}"]), path.parent)


@reader(
    "L=1us:2us,o=1ns,G=6ns/B,S=64k", "probability=0.01,rto=200ms,sack=on", "period=10ms,duration=50us", "2,4@rank=1-3"
)
def whatif_words(data: bytes) -> None:
    def read(table: str) -> Callable[[str], object]:
        settings = ["network.latency=1us"]
        return lambda text: list_points(read_scenario(None, [*settings, f"{table}={text}"]), Path("no-runs"))

    each(data, *map(read, ("network.within", "loss", "noise", "core", "places", "region", "affected")))


@reader("floor(sqrt(memory / 8)) ** 2 % n", "divisor(12, 5) + min(1, 2.5e3)")
def formulas(data: bytes) -> None:
    each(data, lambda t: formula.evaluate(t, {"memory": 1 << 30, "n": 7}), formula.list_names)


@reader("now-1h", "2026-11-22T14:00:00Z", "1763820000.5", "1h30m", "64MiB", "10ms")
def words(data: bytes) -> None:
    now = 1_790_000_000_000_000_000
    each(data, units.parse_duration, units.parse_size, lambda t: time_ranges.moment(t, "here", now), hostlist.expand)
    each(data, slurm.expand_counts)


@reader(*(bytes([i]) + payload for i, payload in enumerate((
    struct.pack("<BxHIQ16s", message.VERSION, 16, 1, 7, b"w" * 16) + b'[["a"],[]]      ' + struct.pack("<qdH", 5, 1.0, 0),
    message.describe((SENSOR,)), struct.pack("<qq", 1, 2) * 2, struct.pack("<qq", 1, 2), b"12.5;1763820000.25",
))))  # fmt: skip
def mqtt(data: bytes) -> None:
    """The first byte chooses the topic; the checksum of readings is set right, which no chance would do."""
    topic, payload = TOPICS[data[0] % len(TOPICS)] if data else "", data[1:]
    with contextlib.suppress(*REFUSALS):
        topics.Topics().received(topic, payload)
    if topic.endswith("/readings"):
        topics.Topics().received(topic, payload + struct.pack("<I", zlib.crc32(payload)))


@reader("c/n/s", "/a/b/c/d", "org/o/cluster/c/node/n/plugin/p/chnl/data/tsc")
def mqtt_topics(data: bytes) -> None:
    for payload in (b"12;1763820000", bytes(16)):
        with contextlib.suppress(*REFUSALS):
            topics.Topics(levels=3).received(text(data), payload)
    topics.read_receipt(data)


@reader(struct.pack("<II", 3, zlib.crc32(b"abc")) + b"abc")
def buffered(data: bytes) -> None:
    with file(data) as path:
        buffer._find_payloads(path)


@reader("12.5", "CPU package 12.5 W\nfan 3000 rpm\n")
def command_output(data: bytes) -> None:
    command.parse(text(data), "here", "name", "W", 1.0)


@reader(
    "Instantaneous power reading: 90 Watts\nPower reading state is: activated\n",
    "PSU1 Power In,96,Watts,ok\nTotal Power,120,Watts,ok\nFan1,3000,RPM,ok\n",
    "3c 00 01",
    "0, 50.1, 40, 1200\n1, [N/A], 61.2, 41, 1300\n",
    '{"card0": {"Average Graphics Package Power (W)": "35.0", "sclk clock speed:": "(800Mhz)"}}',
    "NodeName=n1 CurrentWatts=120 ConsumedJoules=4000 ExtSensorsJoules=1 ExtSensorsWatts=2",
    "AcctGatherEnergyType = acct_gather_energy/rapl\nAcctGatherNodeFreq = 30 sec\n",
)
def printed_by_sensors(data: bytes) -> None:
    each(data, lambda t: ipmi.parse_dcmi(t, "bmc"), lambda t: ipmi.parse_sensors(t, "bmc"), nvidia.parse, rocm.parse)
    each(data, lambda t: ipmi.parse_raw(t, SENSOR, 1, 2, 1.0), lambda t: counters.parse(t, "n", counters._gathered(t)))


@reader(
    '{"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}], "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}, "Links": '
    '{"ContainedBy": {"@odata.id": "/redfish/v1/Chassis/2"}}, "PowerControl": [{"Name": "System", "PowerConsumedWatts": 90}]}'
)
def redfish_json(data: bytes) -> None:
    class Opener:
        @contextlib.contextmanager
        def open(self, *_: object, **__: object) -> Iterator[Any]:
            class Answer:
                read = staticmethod(lambda most: data[:most])

            yield Answer

    with contextlib.suppress(OSError):
        redfish.Redfish(Service("http://a", {}, Opener()), "a").read()  # type: ignore[arg-type]


@reader("Sensor,Time,Value\n/c/n/power,1763820000000000000,12.5\n/c/n/power,1763820001000000000,13\n")
def readings_csv(data: bytes) -> None:
    with file(data) as path:
        csv.traces(path)


@reader(
    '{"sensors":[{"name":"a","quantity":"power","source":"x"}]}\n{"columns":[{"sensor":"a","at":[3],"value":[1.0]}],"idle":[1,2]}\n'
)
def power_jsonl(data: bytes) -> None:
    with file(data, power.FILE) as path:
        power.read(path.parent)


@reader('{"format": 1}')
def run_json(data: bytes) -> None:
    with file(data, "run.json") as path:
        records.head(path.parent)


@reader('{"benchmark":"memory.stream","kernel":"triad","parameters":{},"launch":0,"case":0,"attempt":0,"samples":[1.0],'
        '"operations":1,"work":{},"check":{"passed":true},"verdict":{"name":"CLEAN"},"surroundings":{}}\n')  # fmt: skip
def records_jsonl(data: bytes) -> None:
    records._read_records(data.splitlines(keepends=True))


@reader(pack([np.arange(3), np.array([1.5, 2.5, 2.25])]))
def columns_of_a_store(data: bytes) -> None:
    for body in (data, data[:2] + zlib.compress(data[2:])):
        with contextlib.suppress(ValueError):
            unpack(body, 2)


@reader(
    '{"steelyard":"here","rank":0,"host":"a","process":12}\n{"steelyard":"overdue","rank":0,"host":"a","process":12}\npid 12'
)
def complaints_of_ranks(data: bytes) -> None:
    rank_errors.explain(text(data), 2, len(data) % 2 == 0)
    rank_errors.remove_reports(text(data))


@reader(
    "JobId=1 JobState=FAILED Reason=None ExitCode=1:0 NodeList=n[1-2] BatchHost=n1 RunTime=00:01:00 StartTime=5 EndTime=9",
    "1|5|9|n[1-3]\n",
    '{"Jobs": {"1": {"job_state": "F", "Exit_status": 271, "exec_host": "a/0+b/0", "resources_used": {"walltime": "00:00:05"}}}}',
    '{"RECORDS": [{"STAT": "EXIT", "EXEC_HOST": "4*a:4*b", "EXIT_CODE": "130", "RUN_TIME": "5 second(s)"}]}',
    '{"status": "FAILED", "nodelist": "n[1-2]", "runtime": 5.2, "returncode": 137, "exception": {"occurred": true, "type": "x"}}',
)
def schedulers(data: bytes) -> None:
    for scheduler in (slurm, pbs, lsf, flux):
        scheduler.state("1", said(data))
    _slurm_past.list_runs("1", 1e9, said(data))


OUTPUTS = description.read(SOURCE / "applications" / "foreign" / "hpcc.toml")


@reader("StarSTREAM_Triad=9.5\nHPL_Tflops=1e-3\nPTRANS_GBs=1\n", "Success=1\nMPIRandomAccess_GUPs=0.1\n")
def application_output(data: bytes) -> None:
    output.read(OUTPUTS, text(data))


OUTPUTS_OF_TOOLS = Path(__file__).parents[1] / "importing" / "outputs"


@reader(*(p.read_bytes()[:LONGEST] for p in sorted(OUTPUTS_OF_TOOLS.iterdir()) if p.suffix != ".csv"))
def outputs_of_tools(data: bytes) -> None:
    found = reading.read(data, reading.find_formats())
    assert found.values or found.problems
    to_json(found)


@reader(gzip.compress(b"a"), b"PK\x05\x06" + bytes(18), b"a".ljust(124, b"\0") + b"00000000001\0", b"\xfd7zXZ\0")
def archives_of_outputs(data: bytes) -> None:
    list(archives.unpack("A", io.BytesIO(data)))


def tried(name: str, data: bytes) -> None:
    """Gives the bytes to the reader."""
    with contextlib.suppress(*REFUSALS):
        READERS[name][0](data)


def main(name: str, folder: str, seconds: str) -> None:
    importlib.invalidate_caches()
    for number, seed in enumerate(READERS[name][1]):
        (Path(folder) / f"seed-{number}").write_bytes(seed)
    limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", f"-max_len={LONGEST}"]
    atheris.Setup([sys.argv[0], folder, *limits], lambda data: tried(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
