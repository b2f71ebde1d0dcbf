"""Lines that a tool prints about its experiment tell cases apart; dates, hosts, jobs and processes do not."""

import re
from pathlib import Path

import pytest

from foreign_outputs import output, read
from import_fixture import imported, write
from planted_archives import make_file
from steelyard.importing import launches, reading
from steelyard.importing.collecting import ReadFile
from steelyard.importing.grouping import group_files
from steelyard.importing.identity import identify
from steelyard.model import Scalar

EXPERIMENT, BESIDE = "«»", "‹›"  # marks of words that tell cases apart, and of those that do not
SNAP = """ SNAP: SN (Discrete Ordinates) Application Proxy
 Ran on  4-17-‹2019› at time 23: 3:12
     npey=     2
     npez=     2
     ichunk=     6
     nthreads=     3
     nx=    «12»
     ny=    «13»
     nz=    «14»
     nmom=   1
     nang=   «10»
     ng=    «3»
     mat_opt=  0
     timedep=  «0»
     swp_typ=  «0»
     angcpy=  «1»
     fixup=  «1»
      Total Execution time                   3.4652E-02
      Grind Time (nanoseconds)         1.1078E+01
"""
QUICKSILVER = """Copyright (c) 2016
Number of MPI ranks     : «2»
Number of OpenMP Threads: «8»
Simulation:
   inputFile: /home/a/«Coral2_P1.inp»
   nParticles: 1000000
   nSteps: 10
   nx: «10»
   ny: «11»
   nz: «12»
   seed: 1029384756
Figure Of Merit              8.375e+06 [Num Segments / Cycle Tracking Time]
"""
AMG = """  Laplacian_27pt:
    (Nx, Ny, Nz) = («912», 912, 456)
    (Px, Py, Pz) = (24, 24, 12)
Problem 1: AMG Setup Time:
FOM_Setup: nnz_AP / Setup Phase Time: 1.236172e+10
FOM_Solve: nnz_AP / Solve Phase Time: 1.715950e+10
Figure of Merit (FOM): nnz_AP / (Setup Phase Time + Solve Phase Time) 7.185370e+09
"""
OPENFOAM = """Exec   : /opt/bin/simpleFoam -parallel
| OpenFOAM: The Open Source CFD Toolbox
PID    : ‹136637›
Case   : /scratch/‹a›/«motorBike»_‹1›/‹run1›
nProcs : 56
ExecutionTime = 1.6 s  ClockTime = 2 s
"""
ESPRESSO = """     Program PWSCF v.4.2.1 starts on 10Mar2016 at 15: 9:29
     Parallel version (MPI), running on    32 processors
     unit-cell volume          =    «5186.6092» (a.u.)^3
     number of k points=     «1»  gaussian broad. (Ry)=  0.0010     ngauss =   0
     kinetic-energy cutoff     =      «30.0000»  Ry
     PWSCF        :  7m21.81s CPU     7m30.72s WALL
"""
XSBENCH = """H-M Benchmark Size:           large
Unionized Energy Gridpoints:  «4,012,565»
Total XS Lookups:             «1,700,000,000»
Threads:     16
Runtime:     968.783 seconds
"""
IMB = """#    Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part
# Date                  : Fri Sep 11 15:06:26 ‹2020›
# Calling sequence was:

# /home/‹a›/IMB-MPI1 biband «-npmin 2»

# Benchmarking Biband
# #processes = 2
       #bytes #repetitions   Mbytes/sec      Msg/sec
         1024         1000      1320.12      1289175
"""
OSU = """# Number of Sender threads: «1»
# Number of Receiver threads: «2»
# OSU MPI Multi-threaded Latency Test v5.7.1
# Size          Latency (us)
4                      40.51
"""
MLC = """Intel(R) Memory Latency Checker - v3.10
Command line parameters: --max_bandwidth «-k0-15» -Y «-b18m»
Measuring Maximum Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :      349670.42
"""
BUFFER = MLC.replace("--max_bandwidth «-k0-15» -Y «-b18m»", "").replace(
    "Measuring", "Using buffer size of «18.000»MiB/thread for reads\nMeasuring"
)
SYSBENCH = """sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)
Running the test with following options:
Number of threads: 16
Target transaction rate: «143»/sec
SQL statistics:
    transactions:                        257521 (143.01 per sec.)
Throughput:
    events/s (eps):                      143.0086
Latency (ms):
         avg:                                   28.97
"""
SPEC = """                   SPEC CPU(R)2017 Integer Speed Result
                 Base     Base        Base        Peak     Peak        Peak
Benchmarks      Threads  Run Time     Ratio      Threads  Run Time     Ratio
--------------- -------  ---------  ---------    -------  ---------  ---------
600.perlbench_s     128        259       6.85  S       1        256       6.93  S
 SPECspeed(R)2017_int_base               13.4
            CPU Name: AMD EPYC 7763
            Compiler: C/C++/Fortran: Version «3.0.0» of AOCC
Tested with SPEC CPU(R)2017 v1.1.5 on 2021-03-02 ‹09›:19:32-0500.
"""
SOCKPERF = output("sockperf_full_log.txt").replace(
    "--mps=5000 --burst=1 --reply-every=100", "--mps=«5000» --burst=«1» --reply-every=«100»"
)
TESTS = """{"machine_info": {"node": "a", "python_version": "«3.11.7»"}, "commit_info": {"id": "«5b78858eb718»649a31"},
"datetime": "‹2015›-08-15T00:01:46", "benchmarks": [{"fullname": "t.py::test_fast", "group": null, "stats": {"min": 1e-6,
"max": 3e-6, "mean": 2e-6, "median": 2e-6, "iterations": 9, "iqr_outliers": 1, "ld15iqr": 1e-6}}]}
"""
TOOLS = {
    "snap": SNAP, "quicksilver": QUICKSILVER, "amg": AMG, "openfoam": OPENFOAM, "espresso": ESPRESSO, "xsbench": XSBENCH,
    "imb": IMB, "osu": OSU, "mlc": MLC, "buffers of mlc": BUFFER, "sysbench": SYSBENCH, "spec": SPEC, "sockperf": SOCKPERF,
    "pytest-benchmark": TESTS,
}  # fmt: skip


def change(template: str, marks: str, at: int) -> str:
    """Returns the template without these marks, with another last letter or digit in the marked word of this index."""
    words = re.split(f"[{marks}]", template)
    if at >= 0:
        word = words[2 * at + 1]
        words[2 * at + 1] = word[:-1] + (
            "7" if word[-1].isdigit() and word[-1] != "7" else "1" if word[-1] == "7" else "z"
        )
    return "".join(words)


@pytest.mark.parametrize("tool", TOOLS)
def test_printed_lines_of_the_experiment_tell_cases_apart(tool: str) -> None:
    output = change(TOOLS[tool], BESIDE, -1)
    cases = {value.case for value in read(change(output, EXPERIMENT, -1)).values}
    assert cases
    for at in range(output.count("«")):
        assert cases.isdisjoint(value.case for value in read(change(output, EXPERIMENT, at)).values)


def test_steps_of_the_command_line_count_more_than_those_of_the_input() -> None:
    log = """GROMACS:      gmx mdrun, version 2018.2
   nsteps                         = 10000
{}There are: 1403180 Atoms
               Core t (s)   Wall t (s)        (%)
       Time:    35441.377      138.443    25600.0
                 (ns/day)    (hour/ns)
Performance:        1.249       19.209
Finished mdrun on rank 0 Fri Mar  8 12:19:40 2019
"""
    line = "Overriding nsteps with value passed on the command line: 1000 steps, 2 ps\n"
    steps = [{v.parameters["steps"] for v in read(log.format(words)).values} for words in ("", line)]
    assert steps == [{10000}, {1000}]


def test_a_case_that_is_named_after_its_ranks_is_the_same_case() -> None:
    text = change(change(OPENFOAM, EXPERIMENT, -1), BESIDE, -1)
    cases = {
        ranks: text.replace("motorBike_1/run1", f"64M-{ranks}").replace(" 56", f" {ranks}") for ranks in (704, 1408)
    }
    assert {v.parameters["case"] for case in cases.values() for v in read(case).values} == {"64M"}


def test_a_date_with_blanks_is_read() -> None:
    assert read(change(change(SNAP, EXPERIMENT, -1), BESIDE, -1)).started == "2019-04-17 23:03:12"


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if "‹" in TOOLS[tool]])
def test_dates_processes_and_places_are_no_experiment(tool: str) -> None:
    output = change(TOOLS[tool], EXPERIMENT, -1)
    cases = {value.case for value in read(change(output, BESIDE, -1)).values}
    for at in range(output.count("‹")):
        assert {value.case for value in read(change(output, BESIDE, at)).values} == cases


def test_a_limited_rate_of_sysbench_has_no_direction() -> None:
    values = {v.metric: v for v in read(change(SYSBENCH, EXPERIMENT, -1)).values}
    assert (values["transactions"].better, values["latency"].better) == ("none", "lower")
    assert "limited the rate" in values["transactions"].note


def test_another_processor_of_spec_is_another_system(
    capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = change(change(SPEC, EXPERIMENT, -1), BESIDE, -1)
    write(tmp_path, {"cpu2017-20210330-1.txt": text, "cpu2017-20210331-2.txt": text.replace("7763", "7713")})
    runs = imported(capsys, "cpu2017-20210330-1.txt", "cpu2017-20210331-2.txt")["runs"]
    assert [(run["system"], run["started"][:10]) for run in runs] == [
        ("AMD EPYC 7713", "2021-03-02"), ("AMD EPYC 7763", "2021-03-02"),
    ]  # fmt: skip


def test_parametrised_tests_of_an_old_pytest_benchmark_are_told_apart() -> None:
    text = change(change(TESTS, EXPERIMENT, -1), BESIDE, -1)
    test = text[text.index('{"fullname"') : text.rindex("]}")]
    both = text.replace(test, ", ".join(test.replace("test_fast", f"test_fast[{at}]") for at in range(2)))
    assert {v.parameters.get("param") for v in read(both).values} == {"0", "1"}


def test_names_that_differ_in_a_doubled_separator_are_told_apart() -> None:
    files = [make_file(f"x/Biband{name}.out", at) for at, name in enumerate(("_2", "__2", "_4"))]
    assert len({str(identity.parameters) for identity in identify(files)[0]}) == 3


JOB = """START OF JOBSPEC
{{"resources": [{{"type": "node", "count": {nodes}, "with": [{{"type": "slot", "count": 3}}]}}], "tasks": [{{"command": ["x"], \
"count": {{"per_slot": 1}}}}], "attributes": {{"system": {{"duration": 0{hosts}}}}}, "version": 1}}
START OF EVENTLOG
"""
ON = ', "constraints": {{"hostlist": ["{}"]}}'


def tell(*texts: str) -> list[dict[str, Scalar]]:
    """Returns the parameters of the smallest message of each text, as an import of all of them has them."""
    names = [f"x-iter-0-{10172730703872 + 7919 * at}.out" for at in range(len(texts))]
    files = [
        ReadFile(name=name, digest=name, reading=reading.read(text.encode(), reading.find_formats(), name))
        for name, text in zip(names, texts, strict=True)
    ]
    (group,) = group_files(files, identify(files)[0])
    return [next(dict(value.parameters) for value in group.values if value.file == name) for name in names]


def test_the_build_of_hpcc_is_that_of_the_hpl_in_it() -> None:
    found = read(output("hpcc.txt"))
    hpl = {value.tool for value in found.values if value.benchmark == "application.hpl"}
    assert hpl
    assert all(found.conditions[tool]["build"] == "Oct 24 2014 at 03:13:21" for tool in hpl)
    assert not any("version" in found.conditions[tool] for tool in hpl)


def test_the_record_of_a_job_states_nodes_ranks_and_hosts() -> None:
    osu = output("osu_latency.txt")
    records = [JOB.format(nodes=2, hosts=ON.format(pair)) for pair in ("n4,n8", "n[1-2]", "n8,n4")]
    rows = tell(*(f"{osu}\n{record}" for record in records))
    assert [(row["nodes"], row["ranks"], row["hosts"]) for row in rows] == [  # the output states its two ranks itself
        (2, 2, "n[4,8]"), (2, 2, "n[1-2]"), (2, 2, "n[4,8]"),
    ]  # fmt: skip
    assert launches.read_job_record(records[0])[0] == {"nodes": 2, "ranks": 6}
    alike = tell(*(f"{osu}\n{records[0]}" for _ in range(2)))
    assert all("hosts" not in row for row in alike)
    alone = reading.read(f"{osu}\n{JOB.format(nodes=1, hosts=ON.format('n7'))}".encode(), reading.find_formats())
    assert (alone.host, {value.parameters["nodes"] for value in alone.values}) == ("n7", {1})
    assert "nodes" not in tell(f"{osu}\n{records[0]}{records[1]}")[0]  # it may be of either job
    assert "nodes" not in tell(f"{osu}\nSTART OF JOBSPEC\n" + '{"resources": [{"type": "node"}], "tasks": [1]}')[0]


def test_a_channel_of_caliper_is_a_setting() -> None:
    osu = output("osu_latency.txt")
    line = "== CALIPER: (0): Creating channel {}\n"
    texts = [osu, *(line.format("builtin.configmgr") + line.format(name) + osu for name in ("spot", "event-trace"))]
    assert [row.get("caliper") for row in tell(*texts)] == [None, "spot", "event-trace"]


def test_a_copy_without_the_record_of_its_job_counts_once(
    capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    osu, record = output("osu_latency.txt"), JOB.format(nodes=2, hosts="")
    other = re.sub(r"(\d)\b(?=\n)", lambda digit: str(9 - int(digit[1])), osu)
    few = "\n".join(osu.splitlines()[:5]) + "\n"
    files = {
        "a/log-1.out": osu,
        "a/x-iter-1-3101083828224.out": f"{osu}{record}",
        "a/x-iter-2-3101083828925.out": other,
    }
    files |= {
        "b/x.out": f"{osu}\n",
        "c/1.out": few,
        "c/2.out": f"{few}\n",
        "c/3.out": f"== CALIPER: (0): Creating channel a\n{osu}",
    }
    files |= {"c/4.out": f"== CALIPER: (0): Creating channel b\n{osu}"}
    write(tmp_path, files)
    answer = imported(capsys, ".")
    assert answer["equal"] == [{"file": "./a/log-1.out", "same_as": "./a/x-iter-1-3101083828224.out"}]
    written = {name for run in answer["runs"] for name in run["files"]}
    assert {name.removeprefix("./") for name in written} == set(files)
    assert imported(capsys, ".")["runs"] == []


def test_a_copy_in_a_later_import_counts_as_known(
    capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    osu = output("osu_latency.txt")
    write(tmp_path, {"a/iter-1.out": f"{osu}{JOB.format(nodes=2, hosts='')}"})
    (run,) = imported(capsys, "a")["runs"]
    write(tmp_path, {"a/log-1.out": osu, "b/log-1.out": f"{osu}\n\n"})
    again = imported(capsys, "a", "b")
    assert {row["file"]: row["run"] for row in again["known"]} == {
        name: Path(run["run"]).name for name in ("a/iter-1.out", "a/log-1.out")
    }
    assert [run["files"] for run in again["runs"]] == [["b/log-1.out"]]


def test_a_log_that_repeats_another_output_counts_once(
    capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heading, hpl = output("osu_mbw_mr.txt").split("\n4 ")[0], output("hpl.txt")
    rates = {2**n: 31608531.76 - 1234.56 * n for n in range(2, 14)}
    part = "\n".join([heading, *(f"{n:<12} {n * rate / 1e6:18.2f} {rate:18.2f}" for n, rate in rates.items()), ""])
    other = re.sub(r"(\d)\b(?=\n)", lambda digit: str(9 - int(digit[1])), part)
    write(
        tmp_path,
        {"a/all.out": f"{hpl}{part}", "a/part.out": f"{part}\n", "b/1.out": part, "b/2.out": f"{other}{hpl}"},
    )
    answer = imported(capsys, ".")
    assert answer["equal"] == [{"file": "./a/part.out", "same_as": "./a/all.out"}]
    assert sum(run["values"] for run in answer["runs"]) == 3 * len(read(part).values) + 2 * len(read(hpl).values)
