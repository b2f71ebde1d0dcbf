"""`steelyard plan`."""

import sys

from steelyard.command_line.options import (
    Budget,
    Compilers,
    Hosts,
    Json,
    LauncherName,
    LauncherWords,
    Mpis,
    Only,
    Paths,
    Preset,
    Seed,
    Settings,
    System,
    Variants,
)

PLACE = 40


def command(
    preset: Preset = "quick",
    only: Only = None,
    settings: Settings = None,
    toolchains: Compilers = None,
    budget: Budget = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    variants: Variants = None,
    seed: Seed = 1,
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """Show what a run would measure and how long it would take, without measuring.

    Example: **steelyard plan --preset standard --only memory.apexmap**
    """
    from steelyard import build
    from steelyard.command_line import tables
    from steelyard.command_line.progress import Console
    from steelyard.command_line.request import read_request
    from steelyard.plan.variants import meanings
    from steelyard.run import setup

    request = read_request(
        preset=preset,
        only=only,
        settings=settings,
        toolchains=toolchains,
        budget=budget,
        system=system,
        mpis=mpis,
        hosts=hosts,
        launcher=launcher,
        launcher_words=launcher_words,
        variants=variants,
        seed=seed,
        paths=paths,
    )
    with Console(quiet=json_).working("Examining the machine, its compilers and MPIs"):
        made, here, warnings = setup.plan(request)
        building = build.expect(list(here.wanted().values()))
    for warning in warnings:
        print(f"steelyard: {warning}", file=sys.stderr)
    tables.print_plan(made, request.budget, building, meanings(request.variants), json_)
