"""The table of the keys of a scenario file, which a trace is replayed with."""

from collections.abc import Iterator, Mapping
from typing import Any

from sources.tables import table
from steelyard.whatif.network import INSIDE, LETTERS, NETWORK
from steelyard.whatif.scenario import COLLECTIVES, DEFAULTS, SCHEMA

# Of each key: its values, what it means, and the default where the code has none in `DEFAULTS`.
_MEANINGS = {
    "mode": ("`dataflow`, `event`", "without contention, or with queues at the interfaces of the nodes", ""),
    "flops": ("a number", "speed of a core in flop/s, for traces that count work (TI)", ""),
    "repeats": ("a whole number", "random draws of each point", ""),
    "seed": ("a whole number", "seed of all random draws", ""),
    "iterations": (", ".join(f"`{c}`" for c in COLLECTIVES), "each call of this collective begins a region", "none"),
    "region": ("`2`, `3-5`, `10-`", "regions to replay", "the whole trace"),
    "waits": ("`kept`, `removed`", "waits for a processor between calls of MPI, which the tracer recorded", ""),
    "network.run": ("a run", "the network that `network.model` measured in this run", "the newest run"),
    "network.latency": ("a time: `2us`", "time of a message on the network", "0"),
    "network.overhead": ("a time", "processor time of each message, at both ends", "0"),
    "network.gap": ("a time", "time between two messages of one interface", "0"),
    "network.time_per_byte": ("`0.8ns/B`, `10Gbit/s`, `1.25GB/s`", "time of each further byte on the network", "0"),
    "network.overhead_per_byte": ("the same", "processor time of each further byte", "0"),
    "network.eager": ("a size: `64k`", "messages above this size wait for their receive", "65535"),
    "network.receive": ("`whole`, `stream`", "a receive begins with the last byte, or with the first byte", "`whole`"),
    "network.within": ("a table", "latency … overhead_per_byte of ranks of one node", "as between nodes"),
    "network.socket": ("a table", "the same for ranks that share a socket", "as within a node"),
    "network.cache": ("a table", "the same for ranks that share a cache", "as within a socket"),
    "tree.name": ("`mont-blanc`, a TOML file", "a tree of switches with the keys below", "none"),
    "tree.nodes": ("a whole number", "nodes on each switch", "all on one switch"),
    "tree.switches": ("a whole number", "switches below one switch of the next level", "all"),
    "tree.uplink": ("a time per byte or a rate", "speed of the links above the first switches", "a node's"),
    "tree.hop": ("a time", "latency that such a link adds", "0"),
    "tree.uplink2": ("a time per byte or a rate", "speed of the links of the next level", "`tree.uplink`"),
    "tree.hop2": ("a time", "latency that such a link adds", "`tree.hop`"),
    "loss.probability": (
        "a share: `0.1%`",
        "probability that a packet is lost, below 50 % (with `once`: up to 100 %)",
        "0",
    ),
    "loss.rto": ("a time", "smallest time-out of TCP", "200ms"),
    "loss.mss": ("a size", "bytes of a packet; 0: whole messages are lost", "1448"),
    "loss.backoff": ("true, false", "each further loss doubles the time-out", "true"),
    "loss.fast": ("true, false", "fast retransmit of packets before the last three", "true"),
    "loss.probe": ("true, false", "tail-loss probe", "false"),
    "loss.sack": ("true, false", "the next packet of the connection reveals a loss (`event`)", "false"),
    "loss.once": ("true, false", "each lost message waits exactly one `rto`; the probability may be 1", "false"),
    "loss.tick": ("a time", "length of the kernel's timer ticks", "0"),
    "noise.period": ("a time", "time between two interruptions of a rank", "none"),
    "noise.duration": ("a time", "length of each interruption", "0"),
    "noise.probability": ("a share", "share of the computations that an interruption precedes", "0"),
    "noise.together": ("true, false", "all ranks are interrupted at the same moments", "false"),
    "noise.recording": ("a run, a file", "recorded interruptions instead of the keys above", "none"),
    "core.all": ("a factor: `1.1`", "speed of all cores against those of the trace", "1"),
    "core.rank": ("a table: `3 = 2`, `3-7 = 2`", "factors for the cores of some ranks", "none"),
    "core.node": ("a table", "factors for the cores of some nodes", "none"),
    "core.region": ("a table", "factors for all cores in some regions", "none"),
    "affected": ("a share", "share of the ranks that have loss and noise", "100 %"),
    "ranks_per_node": ("a whole number", "ranks on each node, in blocks", "1"),
    "places.cache": ("a whole number", "consecutive ranks that share a cache", "no difference"),
    "places.socket": ("a whole number", "consecutive ranks that share a socket", "no difference"),
    "scenario": ("tables", "further keys for each section of the answer, by its title", "one section"),
}


def keys() -> str:
    """Returns the table of all keys. Raises ValueError if a key has no meaning here, or a meaning no key."""
    names = list(_names(SCHEMA))
    if names != list(_MEANINGS):
        raise ValueError(f"docs/sources/scenario.py must explain these keys, in this order: {names}")
    rows = []
    for name, (values, meaning, default) in _MEANINGS.items():
        letter = LETTERS.get(name.removeprefix("network.")) if name.startswith("network.") else None
        value = DEFAULTS.get(name)
        shown = default if value is None else f"{value:g}" if isinstance(value, float) else f"{value}"
        rows.append((f"`{name}`{f' (`{letter}`)' if letter else ''}", values, meaning, shown))
    return table(("key", "values", "meaning", "default"), rows)


def _names(schema: Mapping[str, Any], table: str = "") -> Iterator[str]:
    for name, inner in schema.items():
        if isinstance(inner, dict) and not (schema is NETWORK and name in INSIDE):
            yield from _names(inner, f"{table}{name}.")
        else:
            yield f"{table}{name}"
