"""What Slurm says of a node's power: its answers as they were printed, and a scontrol that prints them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from test_sensors import readings, sensors, tree
from test_sensors_programs import program

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.telemetry.sensors import open_device, slurm

# As Slurm 22.05.8 printed it, of a node whose slurmd reads Cray's counters.
NODE = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=2.82 Gres=(null) NodeAddr=n1 "
    "OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=1000 State=IDLE Partitions=test  AllocTRES= CapWatts=n/a "
    "CurrentWatts=410 AveWatts=362 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s\n"
)
NOTHING = NODE.replace("=410", "=n/s").replace("=362", "=n/s")  # a node without the counters
OLDER = "NodeName=n1 CurrentWatts=120 LowestJoules=17 ConsumedJoules=4500\n   ExtSensorsJoules=n/s ExtSensorsWatts=0\n"
EXTERNAL = NODE.replace("ExtSensorsJoules=n/s ExtSensorsWatts=0", "ExtSensorsJoules=90000 ExtSensorsWatts=431")
CONFIGURATION = """Configuration data as of 2026-11-23T09:30:24
AcctGatherEnergyType    = acct_gather_energy/pm_counters
AcctGatherFilesystemType = acct_gather_filesystem/none
AcctGatherNodeFreq      = 30 sec
ExtSensorsType          = ext_sensors/none
ExtSensorsFreq          = 0 sec
SLURM_VERSION           = 22.05.8
"""
NONE = CONFIGURATION.replace("energy/pm_counters", "energy/none")

Prints = Callable[[str, str], Path]


@pytest.fixture
def prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prints:
    """A machine with slurmd, and a scontrol that prints that configuration and that node."""

    def made(configuration: str, node: str) -> Path:
        files = tree(tmp_path, {"proc/17/comm": "slurmd", "config": configuration, "node": node})
        body = (
            f'case "$*" in "show config") cat {files}/config;; "-o show node n1") cat {files}/node;; *) exit 1;; esac'
        )
        program(tmp_path / "bin", "scontrol", body)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        monkeypatch.setenv("SLURMD_NODENAME", "n1")
        return files

    return made


def test_the_power_is_taken_for_the_mean_since_slurms_last_sample(prints: Prints) -> None:
    found = slurm.find(prints(CONFIGURATION, NODE))
    (sensor,) = sensors(found).values()
    assert (sensor.name, sensor.source) == ("slurm/n1/power", "Slurm (pm_counters)")
    assert (sensor.quantity, sensor.window, sensor.update, sensor.resolution) == ("power", 30.0, 30.0, 1.0)
    assert readings(found)["slurm/n1/power"].value == 410
    assert found.refused == ()


def test_a_version_that_prints_joules_gives_these_too(prints: Prints) -> None:
    found = slurm.find(prints(CONFIGURATION.replace("pm_counters", "rapl"), OLDER))
    assert {name: (s.quantity, s.source) for name, s in sensors(found).items()} == {
        "slurm/n1/power": ("power", "Slurm (rapl)"),
        "slurm/n1/energy": ("energy", "Slurm (rapl)"),
    }
    assert readings(found)["slurm/n1/energy"].value == 4500


def test_external_sensors_are_a_source_of_their_own(prints: Prints) -> None:
    external = CONFIGURATION.replace("ext_sensors/none", "ext_sensors/rrd").replace("= 0 sec", "= 5 sec")
    found = slurm.find(prints(external, EXTERNAL))
    assert {name: (s.source, s.update) for name, s in sensors(found).items()} == {
        "slurm/n1/power": ("Slurm (pm_counters)", 30.0),
        "slurm/n1/external-power": ("Slurm (external sensors)", 5.0),
        "slurm/n1/external-energy": ("Slurm (external sensors)", 5.0),
    }


def test_a_node_whose_counters_are_missing_is_a_sentence_and_no_reading(prints: Prints) -> None:
    for node in (NOTHING, NODE.replace("=410", "=0")):
        found = slurm.find(prints(CONFIGURATION, node))
        assert found.devices == ()
        assert "pm_counters gives 'n/s' or 0 for n1; the log of slurmd there names the cause" in found.refused[0]


def test_what_comes_to_lack_later_gives_no_reading(prints: Prints) -> None:
    files = prints(CONFIGURATION, NODE)
    found = slurm.find(files)
    (files / "node").write_text(NOTHING)
    assert readings(found) == {}


def test_a_slurm_that_gathers_nothing_is_nothing_to_speak_of_unless_it_is_asked_for(prints: Prints) -> None:
    found = slurm.find(prints(NONE, NODE))
    assert (found.devices, found.refused) == ((), ())
    with pytest.raises(MachineFailed, match="AcctGatherEnergyType and ExtSensorsType are none"):
        open_device("slurm:node=n1")
    prints(CONFIGURATION.replace("30 sec", "0 sec"), NODE)
    with pytest.raises(MachineFailed, match="AcctGatherNodeFreq or ExtSensorsFreq is 0"):
        open_device("slurm:")


def test_a_controller_that_does_not_answer_is_a_sentence(prints: Prints) -> None:
    files = prints(CONFIGURATION, NODE)
    program(files / "bin", "scontrol", "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1")
    found = slurm.find(files)
    assert found.devices == ()
    assert "Unable to contact slurm controller" in found.refused[0]


def test_where_no_slurmd_runs_nobody_is_asked(prints: Prints) -> None:
    files = prints(CONFIGURATION, NODE)
    (files / "proc/17/comm").write_text("bash\n")
    assert slurm.find(files).devices == ()


def test_a_node_may_be_named_and_nothing_else(prints: Prints) -> None:
    prints(CONFIGURATION, NODE)
    assert [sensor.name for sensor in open_device("slurm:node=n1").sensors] == ["slurm/n1/power"]
    with pytest.raises(UsageError, match="has no setting 'host'"):
        open_device("slurm:host=n1")
    with pytest.raises(MachineFailed, match="exit code 1"):
        open_device("slurm:node=n2")
