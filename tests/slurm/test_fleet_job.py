"""Under a real Slurm: one job measures each node alone, by the command of docs/acceptance.md, and fleet compares the nodes."""

import json
import re
import sys
from pathlib import Path

import pytest
from rig import NODES, Rig

pytestmark = pytest.mark.slurm
DOCUMENT = Path(__file__).parents[2] / "docs" / "acceptance.md"
SMALL = "--only memory.stream --set threads=1 --set kernel=triad --set elements=65536 --quiet"
STEELYARD = str(Path(sys.executable).with_name("steelyard"))


def test_each_node_has_a_run_and_the_fleet_compares_them(slurm: Rig, tmp_path: Path) -> None:
    (command,) = re.findall(r"^    (srun .*steelyard run.*)$", DOCUMENT.read_text(), re.MULTILINE)
    assert "--nodes=16" in command
    assert "--only memory --only core" in command
    command = command.replace("--nodes=16", f"--nodes={len(NODES)}").replace("--only memory --only core", SMALL)
    command = command.replace("steelyard run", f"{STEELYARD} run")
    done = slurm.run(["sh", "-c", command], folder=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert sorted(path.name for path in (tmp_path / "nodes").iterdir()) == sorted(NODES)
    compared = slurm.run([STEELYARD, "fleet", "nodes", "--json"], folder=tmp_path)
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)["nodes"] == sorted(NODES)


def test_a_job_measures_each_of_its_nodes_alone(slurm: Rig, tmp_path: Path) -> None:
    sweep = [STEELYARD, "fleet", "--measure", "--runs", "nodes", "--json", "--", *SMALL.split()[:-1]]
    done = slurm.run(["salloc", "--quiet", f"--nodes={len(NODES)}", "--exclusive", *sweep], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["nodes"] == sorted(NODES)
    for node in NODES:
        machine = json.loads((tmp_path / "nodes" / node / "run.json").read_text())["machine"]
        assert (machine["host"], machine["hosts"]) == (node, [])


def test_a_job_for_each_node_waits_for_a_busy_one(slurm: Rig, tmp_path: Path) -> None:
    busy = slurm.start(["srun", "--exclusive", f"--nodelist={NODES[1]}", "sleep", "15"])
    slurm.wait(lambda: slurm.states()[NODES[1]] == "allocated", "the other job does not start")
    sweep = [STEELYARD, "fleet", "--hosts", ",".join(NODES[:3]), "--launcher", "srun", "--runs", "nodes", "--json"]
    done = slurm.run([*sweep, "--", *SMALL.split()[:-1]], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert busy.poll() == 0
    assert json.loads(done.stdout)["nodes"] == sorted(NODES[:3])
