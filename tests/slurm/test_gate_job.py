"""Under a real Slurm: a drained node comes back only after the gate passed it, by the recipe of docs/acceptance.md."""

import re
import sys
from pathlib import Path

import pytest
from rig import Rig

from copied_runs import measure_small, write_peers

pytestmark = pytest.mark.slurm
NODE = "n2"
DOCUMENT = Path(__file__).parents[2] / "docs" / "acceptance.md"


def recipe(nodes: Path, runs: Path) -> str:
    """Returns the script of the document that resumes a node, with the folders of this test."""
    (script,) = (
        block
        for block in re.findall(r"(?:^    .*\n|^\n)+", DOCUMENT.read_text(), re.MULTILINE)
        if "State=RESUME" in block
    )
    for before, after in (("/shared/nodes", nodes), ("/var/lib/steelyard", runs), ("--quiet", "--quiet --budget 20s")):
        assert before in script
        script = script.replace(before, str(after))
    return f"PATH={Path(sys.executable).parent}:$PATH\n{script}"


def test_a_drained_node_comes_back_only_after_passing(slurm: Rig, tmp_path: Path) -> None:
    measured = measure_small(tmp_path / "measured")
    fast, slow = (write_peers(measured, tmp_path / f"peers-{factor:g}", factor) for factor in (1 / 3, 3.0))
    drain = slurm.run(["scontrol", "update", f"NodeName={NODE}", "State=DRAIN", "Reason=slow"])
    assert drain.returncode == 0, drain.stderr
    assert slurm.states()[NODE] == "drained"
    for attempt in range(2):  # its peers are three times as fast: trying again does not help
        refused = slurm.run(["sh", "-c", recipe(fast, tmp_path / "runs")], NODE)
        assert refused.returncode == 0, refused.stderr
        assert slurm.states()[NODE] == "drained", f"attempt {attempt}"
    passed = slurm.run(["sh", "-c", recipe(slow, tmp_path / "other-runs")], NODE)
    assert passed.returncode == 0, passed.stderr
    slurm.wait(lambda: slurm.states()[NODE] == "idle", f"{NODE} does not come back")
