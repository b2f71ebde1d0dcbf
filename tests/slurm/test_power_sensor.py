"""The power that a real Slurm gathers by its plugin for Cray's counters, which are files of the test."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig import MissingError, Rig

pytestmark = pytest.mark.slurm

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
# The kernel has no /sys/cray here, and lets nobody make it: a node's own /sys lies over the kernel's, with all that is in it.
COUNTERS = """
set -e
mkdir {folder} && mount -t tmpfs sys {folder} && mkdir {folder}/old && mount --rbind /sys {folder}/old
mount -t tmpfs sys /sys
for each in {folder}/old/*; do mkdir /sys/${{each##*/}}; mount --rbind $each /sys/${{each##*/}}; done
mkdir -p /sys/cray/pm_counters
echo '5000 J 1700000000100000 us' > /sys/cray/pm_counters/energy
echo '410 W 1700000000100000 us' > /sys/cray/pm_counters/power
"""


@pytest.fixture(scope="module")
def gathering() -> Iterator[Rig]:
    """A Slurm whose first node has the counters, and whose others lack them."""
    rig = Rig(
        "AcctGatherEnergyType=acct_gather_energy/pm_counters\nAcctGatherNodeFreq=1\n",
        {"n1": lambda folder: COUNTERS.format(folder=folder / "sys")},
    )
    try:
        with rig:
            yield rig
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


def test_what_slurm_gathers_on_a_node_is_a_sensor_there(gathering: Rig) -> None:
    def known() -> bool:
        return "CurrentWatts=410" in gathering.run(["scontrol", "-o", "show", "node", "n1"]).stdout

    gathering.wait(known, "Slurm does not gather")
    done = gathering.run([STEELYARD, "power", "sensors", "--json"], "n1")
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in json.loads(done.stdout) if row["name"].startswith("slurm/")]
    assert (row["name"], row["now"], row["source"], row["update"]) == ("slurm/n1/power", 410, "Slurm (pm_counters)", 1)


def test_a_node_that_slurm_cannot_measure_is_a_sentence(gathering: Rig) -> None:
    done = gathering.run([STEELYARD, "power", "sensors"], "n2")
    assert "pm_counters gives 'n/s' or 0 for n2" in done.stderr
    assert "slurm/" not in done.stdout
