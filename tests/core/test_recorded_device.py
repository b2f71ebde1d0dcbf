"""Recorded runs of a machine with an H200, whose only power sensors are those of the GPU: what the screen makes of them now."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import steelyard
from folders import ROOT

RECORDED = ROOT / "tests" / "data" / "h200.tar.xz"
STEELYARD = Path(sys.executable).with_name("steelyard")
GCC = {"name": "gcc-13.3.0", "compiler": "/usr/bin/g++", "version": "g++ 13.3.0", "flags": "-O3 -march=native"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of both runs, from their records, which keep a part of the samples and of their surroundings."""
    folder = tmp_path_factory.mktemp("h200")
    with tarfile.open(RECORDED) as archive:
        archive.extractall(folder)  # of our own making; Python 3.11.2 knows no filter yet
    machine = json.loads((folder / "machine.json").read_text())
    for name in ("node-power", "node-kernels"):
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        launches: dict[tuple[int, str], dict[str, Any]] = {}
        records = []
        for row in rows:
            cases = launches.setdefault((row["launch"], row["benchmark"]), {"cases": []})["cases"]
            number = list(launches).index((row["launch"], row["benchmark"])) + 1
            kept = {key: row[key] for key in ("benchmark", "kernel", "parameters")}
            cases.append(kept | {"sampling": {"seconds": 0.1}, "setup_seconds": 0.1})
            around = {key: row[key] for key in ("processor_seconds", "machine_other", "core_clock") if row.get(key)}
            records.append(
                kept
                | {
                    "launch": number,
                    "case": len(cases) - 1,
                    "attempt": 1,
                    "surroundings": around,
                    "work": row["work"] or {},
                }
                | {"samples": row["samples"], "operations": row["operations"], "error": row["error"]}
                | {"verdict": {"level": row["verdict"], "evidence": []}}
                | {"check": None if row["error"] else {"passed": True, "detail": ""}}
            )
        planned = [
            {"number": n, "benchmark": benchmark, "toolchain": "gcc-13.3.0", "repetition": launch, **cases}
            for n, ((launch, benchmark), cases) in enumerate(launches.items(), 1)
        ]
        run = folder / f"run-{name}"
        run.mkdir()
        about = {
            "format": 2, "id": name, "started": "2026-11-27T18:59:00+00:00", "versions": {"steelyard": "0.1.0"},
            "toolchains": {"gcc-13.3.0": GCC}, "site": {"mpis": {}, "launcher": "", "extra": [], "variants": []},
            "command": ["steelyard", "run"], "budget": 80.0, "paths": [], "job": None, "machine": machine,
            "plan": {"preset": "quick", "seed": 1, "seconds": 80.0, "launches": planned},
        }  # fmt: skip
        (run / "run.json").write_text(json.dumps(about))
        (run / "records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (folder / "run-node-power" / "power.jsonl").write_bytes((folder / "readings.jsonl").read_bytes())
    return folder


def shown(run: Path, *options: str) -> str:
    done = subprocess.run(
        [STEELYARD, "show", run, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["node-power", "node-kernels"])
def test_the_first_screen_names_the_device_and_no_case_is_invalid(name: str, folders: Path) -> None:
    screen = shown(folders / f"run-{name}")
    assert screen.startswith("vm: 16 cores of Intel Xeon Processor, 126 GiB, virtual, NVIDIA H200; quick")
    assert "INVALID" not in screen
    whole = shown(folders / f"run-{name}", "--all")
    assert "Accelerator: NVIDIA H200 (140 GiB)." in whole
    assert "✕ 0 INVALID" in whole


@pytest.mark.wings
def test_a_sensor_of_the_device_alone_gives_no_energy_of_processors(folders: Path) -> None:
    assert "parts that compute have no power sensor" in shown(folders / "run-node-power", "--all")
    rows = steelyard.open(folders / "run-node-power").rows()
    assert {row["mode"] for row in rows} == {"mixed", "opencl", "threads"}
    assert [row for row in rows if row["mode"] == "threads" and row["unit"] == "J"] == []


def test_the_product_of_matrices_is_faster_on_the_device_than_on_all_threads(folders: Path) -> None:
    times = {
        row["mode"]: row["value"]
        for row in steelyard.open(folders / "run-node-kernels").rows()
        if (row["benchmark"], row["metric"], row.get("device")) == ("node.matmul", "time", 1) and row["value"]
    }
    assert times["opencl"] < times["threads"] / 5  # order 512: 72 µs on the device, 700 µs on 16 threads
