"""`steelyard run`."""

from pathlib import Path

from steelyard.command_line import output_forms
from steelyard.command_line.options import (
    All,
    Apps,
    Budget,
    Compilers,
    Every,
    Hosts,
    Json,
    LauncherName,
    LauncherWords,
    Mpis,
    Name,
    Only,
    Paths,
    Power,
    Preset,
    Quiet,
    Report,
    Runs,
    Seed,
    Sensors,
    Settings,
    Strict,
    System,
    Variants,
    Wait,
)

PLACE = 10


def command(
    preset: Preset = "quick",
    only: Only = None,
    apps: Apps = None,
    settings: Settings = None,
    toolchains: Compilers = None,
    budget: Budget = None,
    wait: Wait = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    variants: Variants = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    power: Power = None,
    sensor: Sensors = None,
    every: Every = "100ms",
    name: Name = None,
    report: Report = None,
    all_: All = False,
    json_: Json = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """Measure this machine and show the result: verdict, main figures and the most important findings, and an HTML report.

    Examples: **steelyard run** · **steelyard run --preset standard --all** (everything on the terminal) ·
    **steelyard run --only memory.stream --set threads=1,2 --toolchain gcc --toolchain clang** ·
    **steelyard run --only network --hosts node1:1,node2:1** · **steelyard run --only node --power** (times and energy) ·
    **steelyard run --only network.pingpong --variant 'tcp:OMPI_MCA_btl=tcp,self' --variant 'eth1:--mca btl_tcp_if_include eth1'**
    (the same cases with other settings) ·
    **steelyard run --preset standard --name before-update** · **steelyard run --app hpcc --app mine.toml** (other programs)
    """
    from steelyard.command_line import conclusion
    from steelyard.command_line.progress import Console
    from steelyard.command_line.request import add_programs, read_request
    from steelyard.numbers import period
    from steelyard.run import sensing, session

    form = output_forms.choose_form(all_, json_)
    between = period(every)
    screen = Console(quiet)
    watched = sensing.asked(power, sensor or [], between, screen)
    asked = read_request(
        preset=preset,
        only=only,
        settings=settings,
        toolchains=toolchains,
        budget=budget,
        wait=wait,
        system=system,
        mpis=mpis,
        hosts=hosts,
        launcher=launcher,
        launcher_words=launcher_words,
        variants=variants,
        seed=seed,
        paths=paths,
    )
    asked, further = add_programs(asked, apps or [])
    path = session.start(asked, runs, screen, watched, name)
    conclusion.conclude(path, further, report, form, strict, screen.working)
