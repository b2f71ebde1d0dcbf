"""A machine on the terminal: facts, topology as a tree, caches, memory and limits."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.show.report.pages.machine import CoreBox, MachinePage, SocketBox

CLUSTER = ("part", "number", "description", "links")
CACHES = ("cache", "kind", "instances", "size", "line", "shared by", "inclusive")
MEMORIES = ("node", "kind", "memory", "processors", "used for")
MODULES = ("slot", "size", "kind", "rate", "channel")
INTERFACES = ("hosts", "interface", "driver", "link rate", "duplex", "MTU", "RTO minimum")
INTERFACE_SETTINGS = ("hosts", "interface", "offloads", "interrupt moderation", "flow control")
LIMITS = ("limit", "value", "derived from")


def show(page: MachinePage) -> None:
    """Prints the page without the settings, which steelyard doctor explains."""
    console = Console(highlight=False)
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in page.facts:
        facts.add_row(escape(name), escape(value))
    console.print(facts)
    console.print(Text("\nTopology", "bold"))
    for socket in page.sockets:
        console.print(_tree(socket))
    if page.unusable:
        console.print("* This process is not allowed to use these cores.", style="dim")
    for title, columns, rows in (
        ("Cluster", CLUSTER, page.cluster),
        ("Caches", CACHES, page.caches),
        ("Memory nodes", MEMORIES, page.memories),
        ("Memory modules", MODULES, page.modules),
        ("Network", INTERFACES, [(*row[:2], *row[3:7], row[-1]) for row in page.interfaces]),
        ("Settings of the network interfaces", INTERFACE_SETTINGS, [(*row[:2], *row[7:10]) for row in page.interfaces]),
        ("Limits", LIMITS, page.limits),
    ):
        if rows:
            console.print(Group(Text(f"\n{title}", "bold"), _write_table(columns, rows)))
    for note in (*page.cluster_notes, *page.network_notes, *page.notes):
        console.print(f"\n{escape(note)}", style="dim")


def _write_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _tree(socket: SocketBox) -> Tree:
    tree = Tree(f"socket {socket.number}", guide_style="dim")
    for node in socket.nodes:
        branch = tree.add(f"memory node {node.number}" + (f": {node.memory}" if node.memory else ""))
        for group in node.groups:
            cores = branch.add(escape(group.cache)) if group.cache else branch
            for line in _core_lines(group.cores, group.each):
                cores.add(escape(line))
    return tree


def _core_lines(cores: Sequence[CoreBox], each: str) -> list[str]:
    """One line for each core, or one for all cores of a group whose caches are equal."""
    if each:
        numbers = format_cpu_list(core.number for core in cores)
        foreign = format_cpu_list(core.number for core in cores if not core.usable)
        return [f"{len(cores)} cores ({numbers}), each with {each}" + (f"; not usable*: {foreign}" if foreign else "")]
    return [
        f"core {core.number}{'' if core.usable else '*'}: hardware threads {core.threads}"
        + (f"; {', '.join(core.caches)}" if core.caches else "")
        for core in cores
    ]
