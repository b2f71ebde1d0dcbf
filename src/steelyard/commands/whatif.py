"""`steelyard whatif`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.commands.options import Json, Quiet, Runs
from steelyard.numbers import option

if TYPE_CHECKING:
    from steelyard.whatif import Network

REPEATS = 64  # draws of each point: the interval of the mean is then a quarter of the draws' spread


def command(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="A folder of steelyard trace, or GOAL, or SimGrid's time-independent (TI) format."
        ),
    ],
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="RUN|L=…,o=…",
            help="LogGOPS parameters L, o, g, G, O, S; or the run that measured them (network.model), the newest when left out.",
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="dataflow (no contention) or event (queues at the nodes' network interfaces).")
    ] = "dataflow",
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="probability=…,rto=…",
            help="Lost packets: probability, rto, mss (0: whole messages), backoff, fast, probe=on|off.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="period=…,duration=…|RUN|FILE",
            help="Interruptions: period or probability (of a computation), duration, together=on|off; or as a run recorded them "
            "(noise.quanta), or a file: start and duration in ns on each line.",
        ),
    ] = None,
    core: Annotated[str, typer.Option("--core", metavar="FACTOR", help="Speed of the cores, as 1.1 or 1:2:4.")] = "1",
    affected: Annotated[
        str,
        typer.Option("--affected", metavar="SHARE", help="The share of the ranks that loss and noise concern, as 10%."),
    ] = "1",
    ranks_per_node: Annotated[
        int,
        typer.Option(
            "--ranks-per-node",
            metavar="NUMBER",
            parser=option("--ranks-per-node", 1),
            help="Ranks that share a node, in blocks.",
        ),
    ] = 1,
    tree: Annotated[
        str | None,
        typer.Option(
            "--tree",
            metavar="nodes=…,uplink=…|NAME|FILE",
            help="A tree of switches: nodes on one, switches on one above, uplink, hop, uplink2, hop2; or mont-blanc.",
        ),
    ] = None,
    flops: Annotated[
        str, typer.Option("--flops", metavar="RATE", help="Flop/s of a core, for traces that count work (TI).")
    ] = "1e9",
    repeats: Annotated[
        int,
        typer.Option("--repeats", metavar="NUMBER", parser=option("--repeats", 1, 1 << 20), help="Draws of a point."),
    ] = REPEATS,
    seed: Annotated[
        int, typer.Option("--seed", metavar="NUMBER", parser=option("--seed", 0), help="Of all that is drawn.")
    ] = 1,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="An HTML page with the answer and its figures.")
    ] = None,
    runs: Runs = Path("runs"),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Replay an application's trace under another network, with lost packets, the system's noise, or faster cores.

    A value may be a list with colons between its parts: the replay then goes through all combinations.

    Examples: **steelyard whatif cg.goal --network L=2500ns,o=1500ns,g=1000ns,G=6ns/B** ·
    **steelyard whatif cg.goal --network 20261120-101500 --loss probability=0.001:0.01,rto=5ms:200ms** ·
    **steelyard whatif lu.ti --flops 2e9 --noise period=10ms,duration=50us:500us --core 1:1.5:2** ·
    **steelyard whatif cg.goal --network L=1us:10us:100us,G=80ps/B --mode event --json**
    """
    import contextlib
    import os

    from steelyard import files, whatif
    from steelyard.commands import predicted
    from steelyard.errors import UsageError
    from steelyard.machine import describe
    from steelyard.whatif import engine, question, recorded_noise, spoken

    if report:
        files.expect_output(report, "The page")
    if mode not in ("dataflow", "event"):
        raise UsageError(f"--mode '{mode}' is neither dataflow nor event.")
    if len(speed := spoken.values(flops, spoken.factor, "--flops")) > 1:
        raise UsageError("--flops is one number; a sweep over the speed of the cores is --core.")
    points = question.sweep(
        _networks(network, runs),
        whatif.trees(tree) if tree else [whatif.ONE_SWITCH],
        whatif.losses(loss) if loss else [whatif.Loss()],
        whatif.noises(noise) if noise and "=" in noise else [whatif.Noise(recording=noise or "")],
        spoken.values(core, spoken.factor, "--core"),
        spoken.values(affected, spoken.share, "--affected"),
    )
    threads = len(os.sched_getaffinity(0))
    recorded = points[0].noise.recording
    with (
        recorded_noise.recorded_noise(recorded, runs) if recorded else contextlib.nullcontext() as noises,
        engine.engine(trace, describe(), speed[0]) as running,
    ):
        asked = question.Question(points, repeats, seed, mode, ranks_per_node, threads, noises)  # type: ignore[arg-type]
        with predicted.progress(quiet) as show:
            found = whatif.answer(running, asked, show)
        predicted.show(found, asked, running.trace, json_)
        if report:
            predicted.write(found, asked, running.trace, trace.name, report)


def _networks(network: str | None, runs: Path) -> "list[Network]":
    """In words, or what a run measured."""
    from steelyard import evaluation, records, whatif

    if network and "=" in network:
        return whatif.networks(network)
    found = evaluation.evaluate(records.find(runs, network))
    return [whatif.of_results(found.results, found.run.id)]
