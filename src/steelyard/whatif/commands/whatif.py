"""`steelyard whatif`."""

import contextlib
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from steelyard.command_line.options import Json, Quiet, Runs
from steelyard.numbers import option
from steelyard.whatif.named_networks import networks_named
from steelyard.words import plural

if TYPE_CHECKING:
    from steelyard.model import Machine
    from steelyard.whatif import Network, Point

PLACE = 190

REPEATS = 64  # draws of each point: the interval of the mean is then a quarter of the draws' spread


def command(
    trace: Annotated[
        Path | None,
        typer.Argument(
            metavar="TRACE",
            help="A folder of steelyard trace, or OTF2, GOAL, or SimGrid's time-independent (TI) format.",
        ),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(
            "--network",
            metavar="RUN|L=…|within:L=…",
            help="LogGOPS parameters L, o, g, G, O, S, receive=whole|stream, or the run that measured them (default: the newest "
            "run). A further one describes the ranks of one node: within:L=…, socket:L=…, cache:L=….",
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="Mode of the replay: dataflow (no contention) or event (queues at the nodes' interfaces).",
        ),
    ] = "dataflow",
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="probability=…,rto=…",
            help="Lost packets: probability, rto, mss (0: whole messages), backoff, fast, probe, sack, tick (default: none).",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="period=…,duration=…|RUN|FILE",
            help="Interruptions: period or probability of a computation, duration, together=on|off (default: none). A run with "
            "noise.quanta or a file (start and duration in ns on each line) gives recorded ones.",
        ),
    ] = None,
    core: Annotated[
        str,
        typer.Option(
            "--core",
            metavar="FACTOR[@…]",
            help="Speed of all cores, such as 1.1 or 1:2:4; of some: 2@rank=3, 2@node=0-1 or 8@region=2, with commas between.",
        ),
    ] = "1",
    region: Annotated[
        str | None,
        typer.Option(
            "--region",
            metavar="NUMBER[-NUMBER]",
            help="Replay only these regions (levels of MPI_Pcontrol), such as 2, 3-5 or 10- (default: the whole trace).",
        ),
    ] = None,
    iterations: Annotated[
        str | None,
        typer.Option(
            "--iterations",
            metavar="COLLECTIVE",
            help="Divide the trace into regions: each call of this collective on MPI_COMM_WORLD begins one, such as allreduce.",
        ),
    ] = None,
    affected: Annotated[
        str,
        typer.Option("--affected", metavar="SHARE", help="Share of the ranks that loss and noise affect, such as 10%."),
    ] = "1",
    ranks_per_node: Annotated[
        str,
        typer.Option("--ranks-per-node", metavar="NUMBER", help="Ranks on each node, in blocks, such as 4 or 1:2:4."),
    ] = "1",
    places: Annotated[
        str | None,
        typer.Option(
            "--places",
            metavar="cache=…,socket=…",
            help="Numbers of consecutive ranks that share a cache and a socket (default: no difference within a node).",
        ),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            "--tree",
            metavar="nodes=…,uplink=…|NAME|FILE",
            help="Tree of switches: nodes, switches, uplink, hop, uplink2, hop2; or mont-blanc (default: one switch).",
        ),
    ] = None,
    flops: Annotated[
        str,
        typer.Option(
            "--flops", metavar="RATE", help="Speed of a core in flop/s, such as 2e9, for traces that count work (TI)."
        ),
    ] = "1e9",
    repeats: Annotated[
        int,
        typer.Option(
            "--repeats",
            metavar="NUMBER",
            parser=option("--repeats", 1, 1 << 20),
            help="Number of random draws at each point.",
        ),
    ] = REPEATS,
    seed: Annotated[
        int, typer.Option("--seed", metavar="NUMBER", parser=option("--seed", 0), help="Seed for all random draws.")
    ] = 1,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="File for an HTML page with the answer and its figures (default: none)."
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Trace a built-in program on this machine and predict its time with loss and noise."
        ),
    ] = False,
    tasks: Annotated[
        int | None,
        typer.Option(
            "--submit",
            metavar="TASKS",
            parser=option("--submit", 1, 1000),
            help="Share the scenarios among this number of tasks of a Slurm array. The nodes must see this folder and the trace.",
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="WORD",
            help="Further option of sbatch, for --submit, such as --option=--qos=high (default: none).",
        ),
    ] = None,
    share: Annotated[Path | None, typer.Option("--share", hidden=True)] = None,
    runs: Runs = Path("runs"),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Replay an application's trace under another network, with lost packets, the system's noise, or faster cores.

    A value may be a list with colons between its parts: the replay then goes through all combinations.

    Examples: **steelyard whatif --demo** · **steelyard whatif cg.goal --network L=2500ns,o=1500ns,g=1000ns,G=6ns/B** ·
    **steelyard whatif cg.goal --network 20261120-101500 --loss probability=0.001:0.01,rto=5ms:200ms** ·
    **steelyard whatif lu.ti --flops 2e9 --noise period=10ms,duration=50us:500us --core 1:1.5:2** ·
    **steelyard whatif cg.goal --network L=1us:10us:100us,G=80ps/B --mode event --json** ·
    **steelyard whatif cg --core 1:2:8@region=2** · **steelyard whatif cg --iterations allreduce --region 10-20**
    """
    from steelyard import files, whatif
    from steelyard.errors import UsageError
    from steelyard.machine import describe
    from steelyard.whatif import engine, question, wording
    from steelyard.whatif.question import Mode

    if share:
        from steelyard.whatif import batch_tasks

        batch_tasks.carry_out(share)
        return
    _expect_trace(trace, demo)
    if mode not in ("dataflow", "event"):
        raise UsageError(f"--mode '{mode}' is neither dataflow nor event.")
    if len(speed := wording.values(flops, wording.factor, "--flops")) > 1:
        raise UsageError("--flops is one number; a sweep over the speed of the cores is --core.")
    part = engine.part(iterations, region)
    machine = describe(whole=demo)
    if demo and network is None:
        network = [_supposed(quiet)]
    networks = networks_named(network or [], runs)
    mappings = wording.values(ranks_per_node, wording.count, "--ranks-per-node")
    points = question.sweep(
        networks,
        whatif.trees(tree) if tree else [whatif.ONE_SWITCH],
        whatif.losses(loss) if loss else [whatif.Loss()],
        whatif.noises(noise) if noise and "=" in noise else [whatif.Noise(recording=noise or "")],
        whatif.cores(core),
        wording.values(affected, wording.share, "--affected"),
        mappings,
        whatif.places(places) if places else [whatif.Places()],
    )
    plain = len(points) == len(networks) and not (tree or loss or noise) and core == "1"
    titled = _demo_sweeps(networks, machine) if demo and plain else [("", points)]
    threads = len(os.sched_getaffinity(0))
    if tasks and noise and "=" not in noise:
        raise UsageError(
            "--submit does not go with recorded noise, which lies on this node alone: name a period or a probability."
        )
    if trace is None:
        trace, report = _demonstrated(machine, report, quiet)
    if report:
        files.expect_output(report, "The page")
    with _recorded(noise, runs) as recording, engine.engine(trace, machine, speed[0], part) as running:
        from steelyard.whatif import printed_prediction  # while the engine reads the trace

        questions = [
            question.Question(asked, repeats, seed, cast(Mode, mode), mappings[0], threads, recording)
            for _, asked in titled
        ]
        if tasks:
            from steelyard.whatif import batch_tasks

            batch_tasks.answer(running, questions, trace, speed[0], part, tasks, options or [], quiet)
        detail: whatif.Detail = "whole" if report else "times" if json_ else "words"
        parts = []
        for (title, _), asked in zip(titled, questions, strict=True):
            with printed_prediction.progress(quiet) as show:
                parts.append(printed_prediction.Part(asked, whatif.answer(running, asked, show, detail), title))
        printed_prediction.show(parts, running.trace, json_)
        if report:
            printed_prediction.write(parts, running.trace, trace.name, report)


def _supposed(quiet: bool) -> str:
    """The network of the demonstration, where nobody names one."""
    from steelyard.whatif import demo

    if not quiet:
        print(f"Of a supposed network, such as Ethernet of 10 Gbit/s: --network {demo.NETWORK}", file=sys.stderr)
    return demo.NETWORK


def _demo_sweeps(networks: "list[Network]", machine: "Machine") -> "list[tuple[str, tuple[Point, ...]]]":
    """What the demonstration asks, with titles."""
    from steelyard.whatif import demo

    return [(asked.title, asked.points) for asked in demo.sweeps(networks, demo.ranks_for(machine))]


def _demonstrated(machine: "Machine", report: Path | None, quiet: bool) -> tuple[Path, Path]:
    """The folder with a trace of a program of ours, made now; and where the page goes."""
    from steelyard import files
    from steelyard.units import duration
    from steelyard.whatif import demo

    folder = Path(f"demo-{datetime.now():%Y%m%d-%H%M%S}")
    report = report or folder.with_suffix(".html")
    files.expect_output(report, "The page")
    if not quiet:
        print(f"LU (NPB, class {demo.SIZE}) is compiled, run and recorded in {folder} …", file=sys.stderr)
    made = demo.trace(folder, machine)
    if not quiet:
        print(f"{plural(made.ranks, 'rank')}, {duration(made.seconds)}", file=sys.stderr)
    return folder, report


def _recorded(noise: str | None, runs: Path) -> contextlib.AbstractContextManager[Path | None]:
    """The file of the noise that a run recorded, where one is named."""
    if not noise or "=" in noise:
        return contextlib.nullcontext()
    from steelyard.whatif import recorded_noise

    return recorded_noise.recorded_noise(noise, runs)


def _expect_trace(trace: Path | None, demo: bool) -> None:
    from steelyard.errors import UsageError

    if demo == bool(trace):
        raise UsageError("Name the trace to replay, or --demo without one: see 'steelyard whatif --help'.")
    if trace and not trace.exists():
        raise UsageError(f"There is no trace '{trace}'. Record one with: steelyard trace -- mpiexec -n 4 ./program")
