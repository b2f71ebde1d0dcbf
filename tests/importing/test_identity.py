"""Values are told apart by what files, commands and names say; only what counts, dates and jobs are repetitions."""

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from foreign_outputs import OUTPUTS
from import_fixture import imported, write
from planted_archives import Archive, make_file, plant
from planted_names import plant_names
from steelyard.errors import UsageError
from steelyard.importing import launches, reading
from steelyard.importing.doubts import SEVERAL
from steelyard.importing.grouping import group_files
from steelyard.importing.identity import identify
from steelyard.importing.layout import Layout, expect_match
from steelyard.importing.name_facts import read_facts
from steelyard.importing.parts import Part
from steelyard.measure import records
from steelyard.model import ForeignValue, Scalar

ARCHIVES = 1000 if os.environ.get("STEELYARD_ATTACK") else 150


def told(names: Sequence[str], layout: Layout | None = None) -> list[tuple[str, dict[str, Scalar]]]:
    """Returns for each name the system and the parameters that an import adds."""
    files = [make_file(name, at) for at, name in enumerate(names)]
    identities, _ = identify(files, layout=layout)
    placed = {
        value.file: (group.name, {name: x for name, x in value.parameters.items() if name != "threads"})
        for group in group_files(files, identities)
        for value in group.values
    }
    return [placed[name] for name in names]


FACTS = {
    "scale-16_cce-9.0": [("word", "scale"), ("number", "16"), ("compiler", "cce-9.0")],
    "16nodes_28cores_2019-05-31": [("nodes", 16), ("cores", 28), ("date", "2019-05-31")],
    "nodes_16_cores_4": [("nodes", 16), ("cores", 4)],
    "16_nodes_4_cores": [("nodes", 16), ("cores", 4)],
    "nodes16ppn24_4nodes36cores2threads": [
        ("nodes", 16),
        ("ranks_per_node", 24),
        ("nodes", 4),
        ("cores", 36),
        ("threads", 2),
    ],
    "CrayMPICH_201905311220": [("MPI", "CrayMPICH"), ("date", "2019-05-31")],
    "2x64": [("word", "2x64")],
    "PrgEnv-cray": [("compiler", "PrgEnv-cray")],
    "4n36c.dat": [("nodes", 4), ("cores", 36), ("word", "dat")],
    "triad-1135825-nodes_64": [("word", "triad"), ("number", "1135825"), ("nodes", 64)],
    "osu_openmpi-4.0.1_2n": [("word", "osu"), ("MPI", "openmpi-4.0.1"), ("nodes", 2)],
    "x.aocc-3.2.48c": [("word", "x"), ("compiler", "aocc-3.2"), ("cores", 48)],
    "03May2019_np64": [("date", "2019-05-03"), ("ranks", 64)],
    "slurm-1084767": [("job", "slurm-1084767")],
    "archer2_MPI218": [("system", "archer2"), ("word", "MPI"), ("number", "218")],
    "node01 node2": [("host", "node01"), ("node", "node2")],
    "12-03-2019": [("date", "12-03-2019")],
    "output.200GHz.202302081527": [("word", "output"), ("word", "200GHz"), ("date", "2023-02-08")],
    "2.25GHZ_qos_2": [("word", "2.25GHZ"), ("word", "qos"), ("number", "2")],
    "log.2000000.3228000": [("word", "log"), ("number", "2000000"), ("number", "3228000")],
    "iter-3-node-1": [("word", "iter"), ("number", "3"), ("node", "node-1")],
    "Atomic_2025-04-05_T22-49-59": [("word", "Atomic"), ("date", "2025-04-05")],
    "ip-10-0-1-23_x": [("host", "ip-10-0-1-23"), ("word", "x")],
    "nodes_2015_03_09": [("word", "nodes"), ("date", "2015-03-09")],
    "mvapich2-20-omp": [("MPI", "mvapich2"), ("threads", 20)],
    "5Mai2021_x_2020-Dez-05": [("date", "2021-05-05"), ("word", "x"), ("date", "2020-12-05")],
    "KW22-2024": [("date", "KW22-2024")],
    "n_100000_2022-04-27T160111+0200": [("word", "n"), ("number", "100000"), ("date", "2022-04-27")],
    "a1b2c3d4 16feb2019": [("word", "a1b2c3d4"), ("date", "2019-02-16")],
    "20701104_1e6": [("date", "20701104"), ("word", "1e6")],
    "x_c6a-16xlarge_m5.large": [("word", "x"), ("system", "c6a-16xlarge"), ("system", "m5.large")],
    "gpu001_gpuv100001_run123456": [("host", "gpu001"), ("word", "gpuv100001"), ("word", "run"), ("number", "123456")],
    "x-0-19610602569728 20240531569728": [
        ("word", "x"),
        ("number", "0"),
        ("number", "19610602569728"),
        ("number", "20240531569728"),
    ],
    "queue1-dy-hpc6a48xlarge-10-x": [("host", "queue1-dy-hpc6a48xlarge-10"), ("word", "x")],
}


def test_the_parts_of_a_name_have_their_meaning() -> None:
    assert {name: [(fact.meaning, fact.value) for fact in read_facts(name)] for name in FACTS} == FACTS


TOLD: dict[str, tuple[list[str], list[tuple[str, dict[str, Scalar]]]]] = {
    "nodes and compiler": (
        ["s/scale-1_cce-9.0.out", "s/scale-2_cce-9.0.out", "s/scale-1_intel-2019.out"],
        [("", {"scale": 1, "compiler": "cce-9.0"}), ("", {"scale": 2, "compiler": "cce-9.0"}),
         ("", {"scale": 1, "compiler": "intel-2019"})],
    ),
    "operations": (
        ["nccl_allgather.log", "nccl_alltoall.log"], [("", {"file": "allgather"}), ("", {"file": "alltoall"})],
    ),
    "systems in names": (["archer2_stream.txt", "graviton_stream.txt"], [("archer2", {}), ("graviton", {})]),
    "systems in folders": (
        ["x/SystemA/20190531/4nodes.out", "x/SystemB/20190602/4nodes.out", "x/SystemB/20190602/8nodes.out"],
        [("SystemA", {"nodes": 4}), ("SystemB", {"nodes": 4}), ("SystemB", {"nodes": 8})],
    ),
    "dates, counters and jobs": (
        ["a/s_2019-05-31_run1_7100123", "a/s_2019-06-02_run1_7100456", "a/s_2019-06-02_run2_7100457"], [("", {})] * 3,
    ),
    "names that are built in different ways": (
        ["stream.txt", "stream_numactl_interleave.txt"], [("", {}), ("", {"file": "numactl-interleave"})],
    ),
    "systems in folders, and in names below a folder of results": (
        ["2019/a/p100-swan/B_omp.out", "2019/a/k20x-swan/B_omp.out", "2020/a/results/B-v100_omp.out",
         "2020/a/results/B-rome_omp.out"],
        [("p100", {}), ("k20x-swan", {}), ("v100", {}), ("rome", {})],
    ),
    "two well-known systems in the name of a folder": (
        ["stream/tx2-catalyst/gcc-8.2.out", "stream/tx2-isambard/gcc-8.2.out"], [("tx2-catalyst", {}), ("tx2-isambard", {})],
    ),
    "settings beside the name of a system": (
        ["a/archer2_VASP544_UCX/1.out", "a/archer2_VASP631_UCX/1.out", "a/archer2_VASP631_OFI/1.out"],
        [("archer2", {"vasp": 544, "folder": "UCX"}), ("archer2", {"vasp": 631, "folder": "UCX"}),
         ("archer2", {"vasp": 631, "folder": "OFI"})],
    ),
    "a compiler and an MPI beside the words of a system": (
        ["x/fast_gcc-9_INTELMPI_64/1.out", "x/fast_gcc-9_INTELMPI_128/1.out", "x/slow_gcc-9_INTELMPI_64/1.out"],
        [("fast", {"MPI": "INTELMPI_64"}), ("fast", {"MPI": "INTELMPI_128"}), ("slow", {"MPI": "INTELMPI_64"})],
    ),
    "inputs as folders, systems in names": (
        ["eam/newton_on/log.summit.2.run.1", "eam/newton_on/log.spock.2.run.1", "eam/newton_off/log.summit.2.run.2",
         "lj/newton_on/log.spock.2.run.1"],
        [("summit", {"folder": "eam-on"}), ("spock", {"folder": "eam-on"}), ("summit", {"folder": "eam-off"}),
         ("spock", {"folder": "lj-on"})],
    ),
    "words in another order": (
        ["a_on_b_off.out", "a_off_b_on.out", "a_off_b_on_c_on.out"],
        [("", {"file": "on-b-off"}), ("", {"file": "off-b-on"}), ("", {"file": "off-b-on-c-on"})],
    ),
    "folders of different depths": (
        ["c/run1/x.out", "c/run2/x.out", "c/run3/x.out", "c/tcp/fast/x.out", "c/tcp/slow/run1/x.out"],
        [("", {})] * 3 + [("", {"folder": "tcp-fast"}), ("", {"folder": "tcp-slow"})],
    ),
    "the name of a tool is no system": (
        ["hpc/stream/data/2.out", "hpc/other/data/2.out"], [("", {"folder": "stream"}), ("", {"folder": "other"})],
    ),
    "sizes of a cluster are no systems": (
        ["aws/size32/x.out", "aws/size64/x.out", "google/size32/x.out", "google/size64/x.out"],
        [("aws", {"size": 32}), ("aws", {"size": 64}), ("google", {"size": 32}), ("google", {"size": 64})],
    ),
    "counters behind the ending of a name": (
        ["r/all_reduce_output.dat", "r/all_reduce_output.dat.2", "r/gather_output.dat.1", "r/gather_output.dat.2"],
        [("", {"file": "all-reduce"})] * 2 + [("", {"file": "gather"})] * 2,
    ),
    "numbers of jobs in names that are built in different ways": (
        ["log.2000000.3228003", "log.2000000.3228127", "log.2250000.3228001", "x_4nodes_2250000.3228007"],
        [("", {"file": "2000000"})] * 2 + [("", {"file": "2250000"}), ("", {"nodes": 4, "file": "x-2250000"})],
    ),
    "dates of some files and numbers of jobs of others": (
        ["a/md_2nodes_201801151140.log", "a/md_2nodes_2219634.log", "a/md_4nodes_2219638.log", "a/o_4nodes_2219639.log"],
        [("", {"nodes": 2, "file": "md"})] * 2 + [("", {"nodes": 4, "file": "md"}), ("", {"nodes": 4, "file": "o"})],
    ),
    "clocks and numbers with zeros": (
        ["output.200GHz.00008", "output.225GHz.00008", "output.225GHz.00512", "output.225GHz.01024"],
        [("", {"file": f"{clock}GHz-{number}"}) for clock, number in ((200, 8), (225, 8), (225, 512), (225, 1024))],
    ),
    "endings": (
        ["a/x.out", "a/x.log", "a/y.out"],
        [("", {"file": "x", "ending": "out"}), ("", {"file": "x", "ending": "log"}), ("", {"file": "y", "ending": "out"})],
    ),
    "files above the folder of the system": (
        ["a.txt", "x/archer2/run1.txt", "x/archer2/run2.txt"], [("", {}), ("archer2", {}), ("archer2", {})],
    ),
    "numbers with a letter that count nothing": (
        ["s/443N.txt", "s/445T.txt", "s/461n.txt"], [("", {"file": name}) for name in ("443N", "445T", "461n")],
    ),
    "numbers with a letter that count": (
        ["s/48n.txt", "s/96n.txt", "s/100n.txt"], [("", {"nodes": nodes}) for nodes in (48, 96, 100)],
    ),
    "a likely number with a letter and an unlikely one": (
        ["s/x_1n.txt", "s/x_936n.txt"], [("", {"nodes": nodes}) for nodes in (1, 936)],
    ),
    "numbers with a letter that several files share": (
        [f"s/{nodes}n_run{run}.txt" for nodes in (443, 461) for run in (1, 2)],
        [("", {"nodes": nodes}) for nodes in (443, 443, 461, 461)],
    ),
    "numbered folders below a known system": (
        ["Archer2/io/submission-18/x.txt", "Archer2/io/submission-92/x.txt"],
        [("Archer2", {"submission": 18}), ("Archer2", {"submission": 92})],
    ),
    "folders of results at different depths in an archive with the name of a system": (
        [f"archer-tests/{at}/results/{s}/run1.out" for at in ("apps/x", "synth") for s in ("ARCHER", "Cirrus", "Athena")],
        [(s, {"folder": at}) for at in ("apps-x", "synth") for s in ("ARCHER", "Cirrus", "Athena")],
    ),
    "what the file states otherwise": (
        ["s/x_2threads.out", "s/x_8threads.out"], [("", {"file": f"{n}-threads"}) for n in (2, 8)],
    ),
    "the name of the system again in that of the file": (
        [f"{s}-gcc9/imb/Bi_{p}/rfm_Bi_{s}_gcc9_{p}.out" for s in ("alpha", "beta") for p in ("all", "one")],
        [(s, {"folder": p, "file": p}) for s in ("alpha", "beta") for p in ("all", "one")],
    ),
    "counters behind a point in names that are built in different ways": (
        [f"s/{name}.{at}.out" for name in ("gpu.18.36", "mpi.18.2gpu.36") for at in range(1, 5)],
        [("", {"file": "gpu-18.36"})] * 4 + [("", {"gpus": 2, "file": "mpi-18-36"})] * 4,
    ),
    "settings that differ on one of the systems only": (
        ["x/alpha/gcc-9_free.out", "x/alpha/gcc-9_thp.out", "x/alpha/gcc-12_thp.out", "x/beta/gcc-9_thp.out"],
        [("alpha", {"compiler": "gcc-9", "file": "free"}), ("alpha", {"compiler": "gcc-9", "file": "thp"}),
         ("alpha", {"compiler": "gcc-12", "file": "thp"}), ("beta", {"compiler": "gcc-9", "file": "thp"})],
    ),
    "a system with the word of a condition among others": (
        [f"{s}/stream_{run}.txt" for s in ("hydra-gpu", "lynx", "orca") for run in (1, 2, 3)],
        [(s, {}) for s in ("hydra-gpu", "lynx", "orca") for run in (1, 2, 3)],
    ),
    "one meaning in a folder and in a name": (
        [f"s/{a}/x_{b}.out" for a in ("openmpi-4", "openmpi-5") for b in ("openmpi", "mpich")],
        [("", {"MPI": f"openmpi-{n}{more}"}) for n in (4, 5) for more in ("", "-mpich")],
    ),
    "two numbers of one meaning": (
        [f"s/{a}cores/x_{b}cores.out" for a in (4, 8) for b in (16, 32)],
        [("", {"cores": b, "folder": f"{a}-cores"}) for a in (4, 8) for b in (16, 32)],
    ),
    "words that differ between systems only": (["alpha/first/x.out", "beta/second/x.out"], [("alpha", {}), ("beta", {})]),
    "powers of two with zeros": (
        [f"s/000{nodes}/x.out" for nodes in (1, 2, 4, 8)], [("", {"folder": nodes}) for nodes in (1, 2, 4, 8)],
    ),
    "sets of parameters that JUBE counts": (
        [str(Path("run/000000", f"00000{at}_execute", "work", "stdout")) for at in range(4)],
        [("", {"setting": at}) for at in range(4)],
    ),
    "numbered systems": (
        [f"cluster{at}/s_{run}.txt" for at in (1, 2, 3) for run in (1, 2, 3)],
        [("", {"cluster": at}) for at in (1, 2, 3) for run in (1, 2, 3)],
    ),
    "a short word for systems": (
        [f"sys{at:02d}/s_{run}.txt" for at in (1, 2, 3) for run in (1, 2, 3)],
        [("", {"sys": at}) for at in (1, 2, 3) for run in (1, 2, 3)],
    ),
    "places that are counted": (
        [f"s/numa{at}-mem{place}.txt" for at in range(3) for place in range(3)],
        [("", {"numa": at, "mem": place}) for at in range(3) for place in range(3)],
    ),
    "cores of a node behind the name of an output": (
        [f"s/out-{cores}cpn-rep{at}.out" for cores in (16, 32, 64) for at in (1, 2)],
        [("", {"cores_per_node": cores}) for cores in (16, 32, 64) for at in (1, 2)],
    ),
    "numbered sockets behind the name of an output": (
        [f"s/out.socket{at}.{word}.out" for at in range(3) for word in ("on", "off")],
        [("", {"file": f"socket{at}-{word}"}) for at in range(3) for word in ("on", "off")],
    ),
    "folders that differ in numbers only are no systems": (
        [f"L{size}/{nodes}/x.out" for size in (5, 50) for nodes in (1, 8)],
        [("", {"l": size, "folder": nodes}) for size in (5, 50) for nodes in (1, 8)],
    ),
    "numbers from 0 on are no amounts": (
        [f"gpu{at}/x.txt" for at in range(3)], [("", {"folder": f"gpu{at}"}) for at in range(3)],
    ),
    "nodes times ranks are no systems": (
        [f"lammps-gcc/{grid}/run.{at}/log" for grid in ("4x32", "2x64") for at in (1, 2)],
        [("", {"folder": grid}) for grid in ("4x32", "4x32", "2x64", "2x64")],
    ),
    "three counters": ([f"{when}_bios/s_{at}.txt" for when in ("before", "after") for at in (1, 2, 3)],
        [(f"{when}_bios", {}) for when in ("before", "before", "before", "after", "after", "after")],
    ),
    "a number of a job behind a unit": (
        ["s/x_8cores_cores_202012121635.out", "s/x_8cores_cores_202012121636.out"], [("", {"cores": 8})] * 2,
    ),
    "numbers with an unknown word": (
        [f"s/{name}" for name in ("qq=007", "qq=008", "qq=009")], [("", {"qq": at}) for at in (7, 8, 9)],
    ),
    "numbers with a unit count nothing": (
        [f"s/x_{at}us.txt" for at in (1, 2, 3)], [("", {"file": f"{at}us"}) for at in (1, 2, 3)],
    ),
    "numbered places in names that are built in different ways": (
        [f"s/x_l{at}{more}.txt" for at in (1, 2, 3) for more in ("", "_4nodes")],
        [("", {"file": f"l-{at}", **nodes}) for at in (1, 2, 3) for nodes in ({}, {"nodes": 4})],
    ),
    "German and French words": (
        ["s/x_4Knoten_Lauf1", "s/x_4Knoten_Lauf2", "s/x_8Knoten_Lauf1", "s/x_8Knoten_Lauf2"],
        [("", {"nodes": nodes}) for nodes in (4, 4, 8, 8)],
    ),
    "counters in front, and copies": (
        [f"s/{at}of2_{n}noeuds ({copy}).txt" for at in (1, 2) for n in (4, 8) for copy in (1, 2)],
        [("", {"nodes": n}) for at in (1, 2) for n in (4, 8) for copy in (1, 2)],
    ),
    "folders of years, months and days": (
        [f"s/2024/{day}/x_{n}nodes.txt" for day in ("05/31", "06/07", "Jul/03") for n in (1, 2)],
        [("", {"nodes": n}) for n in (1, 2)] * 3,
    ),
    "a date and the number of a job behind a unit": (
        [f"s/x_{n}_nodes_{end}" for n in (1, 2) for end in ("2015_03_09", "2015_03_16", "7465416")],
        [("", {"nodes": n}) for n in (1, 2) for end in range(3)],
    ),
    "one number of threads, which not all names have": (
        ["s/x_8threads.txt", "s/x.txt"], [("", {"file": "8-threads"}), ("", {})],
    ),
    "numbered folders beside those of known systems": (
        ["x/c6a-16xlarge/1.out", "x/m5.large/1.out", "x/1/1.out"],
        [("c6a-16xlarge", {}), ("m5.large", {}), ("", {})],
    ),
    "without and with a setting in names that are built in different ways": (
        ["s/x_no-efa.txt", "s/x_efa.txt", "s/x_no-efa_4nodes.txt"],
        [("", {"file": "no"}), ("", {}), ("", {"nodes": 4, "file": "no"})],
    ),
    "numbered folders with repetitions of their own": (
        [f"x/run{r}/lmp-{n}nodes-{turn}/log.out" for r in (1, 2) for n in (4, 8) for turn in (1, 2, 3)],
        [("", {"nodes": n, "folder": f"run{r}"}) for r in (1, 2) for n in (4, 8) for turn in range(3)],
    ),
    "numbered folders with jobs of their own, beside another one": (
        [*(f"x/run{r}/y-{job}.out" for r in (1, 2) for job in (1234567, 1234571, 1234583)), "x/old/y-1234561.out"],
        [*(("", {"folder": f"run{r}"}) for r in (1, 2) for job in range(3)), ("", {})],
    ),
    "numbered folders with other folders below": (
        ["x/run1/data/y.out", "x/run2/data/z/y.out"],
        [("", {"folder": "run1"}), ("", {"folder": "run2"})],
    ),
    "numbered folders with the same experiments": (
        [f"x/run{r}/{n}nodes.out" for r in (1, 2) for n in (1, 2, 3, 4)],
        [("", {"nodes": n}) for r in (1, 2) for n in (1, 2, 3, 4)],
    ),
    "numbered folders with numbered sizes": (
        [f"x/run{r}/size-{n}.out" for r in (1, 2) for n in (1, 2, 3)],
        [("", {"size": n}) for r in (1, 2) for n in (1, 2, 3)],
    ),
    "what the file states itself": (["t2.txt", "t2-again.txt"], [("", {}), ("", {"file": "again"})]),
}  # fmt: skip


@pytest.mark.parametrize("what", TOLD)
def test_what_differs_in_names_tells_values_apart(what: str) -> None:
    names, expected = TOLD[what]
    assert told(names) == expected


def test_a_number_of_cores_is_not_below_that_of_ranks() -> None:
    names = ["a/archer2-1c/2nodes_1.out", "a/archer2-4c/2nodes_1.out"]
    files = []
    for name in names:
        file = make_file(name, 1)
        values = tuple(replace(value, parameters={"ranks": 128}) for value in file.reading.values)
        files.append(replace(file, reading=replace(file.reading, values=values)))
    (group,) = group_files(files, identify(files)[0])
    assert [value.parameters for value in group.values] == [
        {"ranks": 128, "nodes": 2, "folder": f"{cabinets}c"} for cabinets in (1, 4)
    ]


def test_numbered_sizes_keep_their_name_where_their_values_differ() -> None:
    files = []
    for at in (1, 2, 3):
        file = make_file(f"a/size-{at}/x.dat", at)
        (made,) = file.reading.values
        values = tuple(replace(made, value=10.0 * at**2, parameters={"threads": n}) for n in range(12))
        files.append(replace(file, reading=replace(file.reading, values=values)))
    (group,) = group_files(files, identify(files)[0])
    assert {value.parameters["size"] for value in group.values} == {1, 2, 3}


def test_a_letter_in_a_few_of_many_names_by_chance_counts_nothing() -> None:
    names = [f"s/{chr(97 + at // 26)}{chr(97 + at % 26)}q.txt" for at in range(120)]
    alone = told([*names, "s/3p.txt", "s/5c.txt"])[-2:]
    assert alone == [("", {"file": "3p"}), ("", {"file": "5c"})]
    assert told([*names, *(f"few/x_{n}n.txt" for n in (1, 2, 4))])[-1][1]["nodes"] == 4


def test_a_scheduler_is_a_launcher_too() -> None:
    line = (
        "flux run --setattr=a.b=x-1 -N64 -n 5632 -o cpu-affinity=per-task /opt/osu_allreduce -N 3 |& tee /tmp/osu.out"
    )
    assert launches.read_launch(line) == {"nodes": 64, "ranks": 5632}
    assert read(f"{line}\n{OSU.partition(chr(10))[2].format(one=1, two=2)}")


@pytest.mark.parametrize("name", ["a/all_reduce.dat.{}", "a/run{}/all_reduce.dat"])
@pytest.mark.parametrize(("factor", "cases", "expected"), [(3.0, 12, 60), (1.2, 12, 12), (3.0, 4, 4)])
def test_counted_names_that_differ_in_most_of_many_cases_are_settings(
    name: str, factor: float, cases: int, expected: int
) -> None:
    files = []
    for at in range(1, 6):
        file = make_file(name.format(at), at)
        (made,) = file.reading.values
        values = tuple(replace(made, value=10 * factor ** (at > 2), parameters={"threads": n}) for n in range(cases))
        files.append(replace(file, reading=replace(file.reading, values=values)))
    (group,) = group_files(files, identify(files)[0])
    assert len({value.case for value in group.values}) == expected


def check(archive: Archive) -> tuple[bool, bool]:
    """Returns whether the experiments are told apart with their repetitions together, and whether each part is understood."""
    files = [planted.file for planted in archive.files]
    identities, parts = identify(files)
    truth = {planted.file.name: planted.experiment for planted in archive.files}
    cases: dict[object, set[object]] = defaultdict(set)
    places: dict[object, set[object]] = defaultdict(set)
    for group in group_files(files, identities):
        for value in group.values:
            cases[group.name, value.case].add(truth[value.file])
            places[truth[value.file]].add((group.name, value.case))
    apart = all(len(found) == 1 for found in (*cases.values(), *places.values()))
    return apart, archive.meanings <= understood(parts)


def understood(parts: Sequence[Part]) -> set[str]:
    found = {part.meaning for part in parts}
    return (
        found
        | ({"word"} if found & {"file", "folder"} else set())
        | ({"counter", "job"} if "repetition" in found else set())
    )


def test_planted_archives_are_understood() -> None:
    outcomes = [check(plant(random.Random(seed))) for seed in range(ARCHIVES)]
    assert sum(apart for apart, _ in outcomes) >= 0.97 * ARCHIVES
    assert sum(right for _, right in outcomes) >= 0.9 * ARCHIVES


def test_names_of_other_habits_are_understood_or_shown_as_not_certain() -> None:
    outcomes = []
    for seed in range(ARCHIVES // 3):
        archive = plant_names(random.Random(seed))
        apart, right = check(archive)
        _, parts = identify([planted.file for planted in archive.files])
        outcomes.append((apart, right or any(part.guessed or part.meaning in ("file", "folder") for part in parts)))
    assert sum(apart for apart, _ in outcomes) >= 0.97 * len(outcomes)
    assert sum(right for _, right in outcomes) >= 0.97 * len(outcomes)


GUESSED = {
    "x/SystemA/1.out x/SystemB/1.out": False, "x/alfa/1.out x/beta/1.out": True, "x/archer2/1.out x/cirrus/1.out": False,
    "x/sparse/1.out x/dense/1.out": True,
}  # fmt: skip


@pytest.mark.parametrize("names", GUESSED)
def test_folders_with_unknown_words_are_systems_only_by_a_guess(names: str) -> None:
    files = [make_file(name, at) for at, name in enumerate(names.split())]
    parts = {part.meaning: part.guessed for part in identify(files)[1]}
    assert parts == {"system": GUESSED[names]}
    hosts = [replace(f, reading=replace(f.reading, host=f"{'ab'[at]}00{at}")) for at, f in enumerate(files)]
    assert {part.meaning: part.guessed for part in identify(hosts)[1]} == {"system": False}


def test_the_order_of_files_changes_nothing() -> None:
    for seed in range(30):
        archive = plant(random.Random(seed))
        names = [planted.file.name for planted in archive.files]
        shuffled = random.Random(seed).sample(names, len(names))
        assert dict(zip(names, told(names), strict=True)) == dict(zip(shuffled, told(shuffled), strict=True))


def test_a_layout_says_what_names_mean() -> None:
    layout = Layout.of("{app}/{case}/results/{system}/{nodes}nodes_{cores}cores_{date}")
    names = [
        "x/osbli/tgv/results/archer/16nodes_24cores_20190531.out",
        "x/osbli/tgv/results/cirrus/16nodes_36cores_20190602.out",
        "x/osbli/other/results/cirrus/16nodes_36cores_20190602.out",
    ]
    shared = {"app": "osbli", "nodes": 16}
    assert told(names, layout) == [
        ("archer", {**shared, "case": "tgv", "cores": 24}),
        ("cirrus", {**shared, "case": "tgv", "cores": 36}),
        ("cirrus", {**shared, "case": "other", "cores": 36}),
    ]
    assert layout.read(names[0]).date == "2019-05-31"  # type: ignore[union-attr]
    assert told(["a/s_1_x", "a/s_2_x"], Layout.of("s_{run}_{what}")) == [("", {"what": "x"})] * 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("results", "no part in braces"), ("{nodes", "no part in braces"), ("{a}_{b}}", "no partner"),
        ("{a}_{a}", "two parts 'a'"),
        ("{a b}", "not a valid name"), ("{a}{b}", "in several ways"),
    ],
)  # fmt: skip
def test_a_wrong_layout_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Layout.of(text)


def test_a_layout_that_fits_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="fits no file. The first one is 'a/b.out'"):
        expect_match(Layout.of("{system}/x_{nodes}"), ["a/b.out"])


STREAM = (OUTPUTS / "stream.txt").read_text(encoding="utf-8")


def stream(number: int) -> str:
    return f"{STREAM}\n# {number}\n"


def test_a_layout_is_kept_for_later_imports(capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"logs/alfa/thp_1.txt": stream(1), "logs/beta/thp_1.txt": stream(2)})
    first = imported(capsys, "logs", "--layout", "{system}/{pages}_{run}")
    assert [run["system"] for run in first["runs"]] == ["alfa", "beta"]
    write(tmp_path, {"logs/gamma/small_1.txt": stream(3)})
    second = imported(capsys, "logs")
    assert second["layout"] == "{system}/{pages}_{run}"
    (run,) = second["runs"]
    assert {v.parameters["pages"] for v in records.read(Path(run["run"])).imported.values} == {"small"}


COMMANDS = {
    "srun -N 64 --ntasks-per-node=108 --hint=nomultithread ./amg -n 38 38 38": {
        "nodes": 64,
        "ranks_per_node": 108,
        "ranks": 6912,
    },
    "$ mpirun -H a,b -x UCX_TLS=all -np 2 c/osu_latency -d cuda D D": {"ranks": 2},
    "OMP_NUM_THREADS=8 aprun -n 48 -N 4 -d 6 ./x -n 3": {"ranks": 48, "ranks_per_node": 4, "threads": 8},
    "mpiexec.hydra -ppn 4 -n 16 ./IMB-MPI1": {"ranks": 16, "ranks_per_node": 4},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_states_nodes_ranks_and_threads(command: str) -> None:
    assert launches.read_launch(command) == COMMANDS[command]


OSU = """$ mpirun -np 2 -x UCX_TLS={tls} ./osu_latency
# OSU MPI Latency Test v7.2
# Size          Latency (us)
1                       {one}
2                       {two}
"""


def read(text: str) -> tuple[ForeignValue, ...]:
    return reading.read(text.encode(), reading.find_formats()).values


def test_outputs_below_different_commands_are_different_experiments() -> None:
    values = read(OSU.format(tls="all", one=4.06, two=4.1) + OSU.format(tls="tcp", one=94.5, two=94.6))
    assert [(v.parameters["command"], v.repetition) for v in values] == [("UCX_TLS=all", 0)] * 2 + [
        ("UCX_TLS=tcp", 0)
    ] * 2
    values = read(OSU.format(tls="all", one=4.06, two=4.1) + OSU.format(tls="all", one=4.07, two=4.2))
    assert [(v.parameters.get("command"), v.repetition) for v in values] == [(None, 0)] * 2 + [(None, 1)] * 2


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (("Now on a little core:", "Now on a big core:"), ["little", "big"]),
        (("## With 2 channels\n\n```", "```\n## With 4 channels\n```"), ["2", "4"]),
        (("Run 1:", "Run 2:"), [None, None]), (("Results:", "Results:"), [None, None]),
        (("a word", "another word"), ["a", "another"]),
        (("With affinity 1", "With affinity 2"), ["1", "2"]),
        (("+ export X=a\n+ ./x", "+ export X=b\n+ ./x"), ["X=a", "X=b"]),
        (("Run 1 of 2 at 10:11:12", "Run 2 of 2 at 11:12:13"), [None, None]),
        (("Mon May  6 10:00:01 UTC 2024", "Tue May  7 10:00:01 UTC 2024"), [None, None]),
        (("job 1234567 begins", "job 1234571 begins"), [None, None]),
        (("x-run-1 x-run-2", "x-run-1 x-run-3"), ["x-run-2", "x-run-3"]),
        (("first run (no cache)", "second run (cached)"), ["first (no cache)", "second (cached)"]),
    ],
)  # fmt: skip
def test_titles_right_above_the_outputs_tell_them_apart(titles: tuple[str, str], expected: list[str | None]) -> None:
    osu = OSU.partition("\n")[2]
    gap = "" if "cache" in titles[0] else "\n"
    text = "".join(f"{title}\n{gap}{osu.format(one=4 + at, two=4.1 + at)}\n" for at, title in enumerate(titles))
    values = read(text)
    assert [v.parameters.get("title") for v in values[::2]] == expected
    assert [v.repetition for v in values[::2]] == ([0, 1] if expected == [None, None] else [0, 0])
    counted = titles[0].startswith(("Run 1", "job"))
    assert all(SEVERAL not in v.note for v in values) == (expected != [None, None] or counted)


def test_a_title_states_nodes_and_threads() -> None:
    osu = OSU.partition("\n")[2]
    text = "".join(f"--- {nodes} nodes ---\n{osu.format(one=nodes, two=2 * nodes)}" for nodes in (1, 2, 3))
    assert [value.parameters["nodes"] for value in read(text)[::2]] == [1, 2, 3]
    text = "".join(f"--- {threads} threads ---\n{STREAM}" for threads in (1, 2, 3))
    titles = [value.parameters["title"] for value in read(text) if value.kernel == "triad"]
    assert [*dict.fromkeys(titles)] == ["threads 1", "threads 2", "threads 3"]


def test_an_output_that_is_printed_twice_counts_once() -> None:
    text = (OUTPUTS / "hpl.txt").read_text(encoding="utf-8")
    block = "T/V" + text.partition("T/V                N")[2]
    assert block.count("start time") >= 1
    once, twice = read(text), read(f"{text}\n{block}")
    assert len(once) == len(twice)


def test_values_of_two_tools_are_no_repetitions(
    capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    osu = OSU.format(tls="all", one=4.06, two=4.1)
    write(tmp_path, {"imb.txt": (OUTPUTS / "imb_pingpong.txt").read_bytes(), "osu.txt": osu})
    (run,) = imported(capsys, "imb.txt", "osu.txt")["runs"]
    values = [v for v in records.read(Path(run["run"])).imported.values if v.benchmark == "network.pingpong"]
    both = [v for v in values if v.parameters["message_bytes"] == 1 and v.metric == "latency"]
    assert sorted((str(v.parameters["tool"]), v.repetition) for v in both) == [
        ("Intel MPI Benchmarks", 0), ("OSU micro-benchmarks", 0),
    ]  # fmt: skip


def test_long_commands_that_differ_at_their_ends_stay_different() -> None:
    long = " ".join(f"-x NAME_{number}=value" for number in range(30))
    text = OSU.format(tls=f"all {long} -x LAST=1", one=4.06, two=4.1) + OSU.format(
        tls=f"tcp {long} -x LAST=2", one=9, two=9.1
    )
    others = [f"mpirun -np 2 {long} -x A=1 ./x", f"mpirun -np 2 {long.replace('value', 'other')} -x A=1 ./x"]
    assert len({value.parameters["command"] for value in read(text)}) == 2
    named = [str(row["command"]) for row in launches.name_differences([*others, f"{others[1]} y"])]
    assert len({*named}) == 3
    assert max(map(len, named)) <= launches.MOST_WORDS


def test_a_saved_layout_that_is_none_is_left_out(
    capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"logs/alfa/thp_1.txt": stream(1), "more/alfa/thp_1.txt": stream(2)})
    (run,) = imported(capsys, "logs", "--layout", "{system}/{pages}_{run}")["runs"]
    about = Path(run["run"]) / "run.json"
    about.write_text(about.read_text().replace("{pages}", "{a b}"))
    assert imported(capsys, "more")["layout"] is None


def test_counted_files_and_dated_files_are_two_series() -> None:
    numbered, dated = [f"r/out_4nodes_{n}.txt" for n in range(1, 6)], ["r/out_4nodes_201803160944.txt"]
    assert [own.get("numbering") for _, own in told(numbered + dated)] == ["counter"] * 5 + ["date"]
    assert {own.get("numbering") for _, own in told([*numbered, "r/out_4nodes.txt"])} == {None}
    assert {own.get("numbering") for _, own in told(["r/out_4nodes.txt", *dated])} == {None}


def test_words_in_the_place_of_known_systems_are_systems() -> None:
    known = [f"r/triad-{system}_gcc-9.3.out" for system in ("a100", "rome", "tx2")]
    names = [*known, "r/triad-skl_gcc-9.3.out", "r/triad-mi50x_cce-10.out", "r/triad-large-rome_gcc-9.3.out"]
    assert [system for system, _ in told(names)] == ["a100", "rome", "tx2", "skl", "mi50x", "rome"]
    others = [f"r/triad-{word}_gcc-9.3.out" for word in ("cold", "warm", "big", "odd")]
    assert {system for system, _ in told([*known, *others])} == {"a100", "rome", "tx2", ""}
    assert [system for system, _ in told([known[0], "r/triad-skl_gcc-9.3.out"])] == ["a100", ""]


def test_machines_of_a_service_count_in_folders_of_different_depths() -> None:
    names = [f"{run}/{folder}/{n}/x.out" for run in ("first", "second") for n in (1, 2)
             for folder in ("data/aws/size-4-c6a.16xlarge", "data/size-4-c6a.16xlarge")]  # fmt: skip
    assert {system for system, _ in told(names)} == {"c6a.16xlarge"}


def test_places_of_measurements_and_of_files_tell_values_apart() -> None:
    names = [
        f"{place}/{kind}/12439{n}.log"
        for n in range(3)
        for place in ("cores", "nodes")
        for kind in ("latency", "bandwidth")
    ]
    assert {system for system, _ in told(names)} == {""}
    assert len({str(own) for _, own in told(names)}) == 4
    outer, inner = (
        own.get("folder_depth") for _, own in told(["s/1/summary.txt", "s/1/results/2024-05-31/summary.txt"])
    )
    assert outer != inner


def test_numbers_of_jobs_count_beside_names_with_words() -> None:
    jobs = [f"t/2/cores/latency/{n}.log" for n in (124395, 124397, 124411)]
    alike = [str(own) for _, own in told([*jobs, "t/1/latency.log", "t/3/latency/cores.log"])]
    assert [len({*alike[:3]}), len({*alike})] == [1, 3]
