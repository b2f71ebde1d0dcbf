"""Starts a launch of the plan: alone, or as ranks by the launcher of the site. Pure."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from steelyard.measure.launch import local
from steelyard.measure.launch.scheduler import launcher
from steelyard.measure.machine import openmp
from steelyard.measure.machine.rank_placement import PAIRS, place_ranks
from steelyard.measure.mpi import Job, Order, Transport, leave_out_unused_hosts
from steelyard.measure.plan.variants import find
from steelyard.model import Launch, Machine, Parameters, Site

Started = tuple[list[str], dict[str, str]]  # command line, environment


def start(site: Site, machine: Machine, launch: Launch, program: Path) -> Started:
    """Returns the command line and the environment of a launch. All its cases have the same start as the first one."""
    parameters = launch.cases[0].parameters
    if "mpi" not in parameters:
        around = {**local.environment(machine), **variant_environment(site, parameters)}
        by_openmp = parameters.get("model") == "openmp"
        return [str(program)], openmp.environment(machine, parameters, around) if by_openmp else around
    asked = job(site, machine, parameters, program)
    starter = launcher(site.launcher)
    return starter.argv(asked), starter.environment(asked, local.environment(machine))


def variant_environment(site: Site, parameters: Parameters) -> Mapping[str, str]:
    """Returns the environment variables that the variant of a case sets."""
    variant = find(site.variants, parameters)
    return variant.environment if variant else {}


def ranks_per_node(parameters: Parameters) -> int | None:
    """Returns the number of ranks on each host. The relation of a pair says whether it is on one host or on two. None: as many
    as its slots."""
    placement = str(parameters.get("placement", "compact"))
    if placement in PAIRS:
        return 1 if placement == "other node" else 2
    return int(parameters.get("ranks_per_node", 0)) or None


def job(site: Site, machine: Machine, parameters: Parameters, program: Path) -> Job:
    """Returns the job of a case with these parameters."""
    ranks, placement = int(parameters["ranks"]), str(parameters.get("placement", "compact"))
    per_node = ranks_per_node(parameters)
    variant = find(site.variants, parameters)
    options, environment = (variant.options, variant.environment) if variant else ((), {})
    path = Path(os.path.abspath(program))
    asked = Job(
        program=path,
        folder=path.parent,
        ranks=ranks,
        mpi=site.mpis[str(parameters["mpi"])],
        hosts=machine.hosts,
        ranks_per_node=per_node,
        mapping=cast(Order, parameters.get("mapping", "block")),
        transport=cast(Transport, parameters.get("transport", "default")),
        cpus=place_ranks(machine, ranks, per_node, placement),
        extra=(*site.extra, *options),
        environment=environment,
    )
    return leave_out_unused_hosts(asked)
