"""Runs the tests of the core on a copy of the package without the wings: python3 tests/without_wings.py [words for pytest].

One case of each test: what the core does must not depend on the wings, whatever the case.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
WINGS = CONTRACTS[0]["layers"][0].split(" | ")


def main() -> int:
    """Returns the exit code of pytest."""
    with tempfile.TemporaryDirectory(prefix="steelyard-core-") as folder:
        package = ROOT / "src" / "steelyard"

        def left_out(inside: str, names: list[str]) -> set[str]:
            return {"__pycache__", *(WINGS if Path(inside) == package else ())} & set(names)

        shutil.copytree(package, Path(folder) / "steelyard", ignore=left_out)
        environment = {**os.environ, "PYTHONPATH": folder}
        check = (
            "import steelyard, sys; sys.exit(0 if steelyard.__file__.startswith(sys.argv[1]) else 'the wrong package')"
        )
        subprocess.run([sys.executable, "-c", check, folder], env=environment, check=True)
        command = [sys.executable, "-m", "pytest", "tests/core", "--cases", "1", *sys.argv[1:]]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
