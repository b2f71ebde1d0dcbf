"""Tests of the OSU micro-benchmarks: what each of them means, by its heading."""

import re

from steelyard.importing.operations import PAIR, Meaning, find_meaning
from steelyard.importing.patterns import Match, find_all
from steelyard.importing.text import Text

HEAD = r"\s*(?:# |(?=OSU .* v\d))OSU (?:One Sided )?(?P<api>[A-Za-z_+]+)(?P<device>-[A-Z]+)? (?P<name>\S.*)"
_SHORT = {  # the names of the programs
    "bi_directional_bandwidth": "bibw", "bandwidth": "bw", "multi_latency": "multi_lat", "non_blocking_": "i",
    "multi_threaded_latency": "latency_mt", "multi_process_latency": "latency_mp", "all_to_all": "alltoall",
    "_personalized_exchange": "", "alltoallw_latency": "alltoallw",
}  # fmt: skip
# Where the buffers are, at the end of a command; version 7 does not print it.
_PLACES = r"\bosu_[a-z_]+\b.*[\s(]([DHM]) ([DHM])(?: ?[^\w\s]|\s*$)"
_ONE_SIDED = ("put", "get", "accumulate", "fetch_and_op", "compare_and_swap")
_SYNCHRONISATIONS = {"flush": "flush", "fence": "fence", "lock/unlock": "lock", "lock": "lock"}


def find_test(head: Match, part: Text, command: str) -> Meaning:
    """Returns what the test with this heading means: in Steelyard, or under the name of its program if Steelyard lacks it.

    `command` is what stands before the heading.
    """
    api, device = head["api"], head["device"] or ""
    name = re.sub(r"( Test)?( v\d\S*| \(Version \S+\))?$", "", head["name"].strip())
    places = re.findall(r"\(([DHM])\)", part.find(r"# (?:Send Buffer|Rank 0 Memory) on .*"))
    places = places or [place for found in [*find_all(_PLACES, command)][-1:] for place in found.groups()]
    synchronisation = part.find(r"(?i)synchroni[sz]ation: *(?:MPI_Win_)?([\w/]+)")
    ours = find_meaning(name) if api == "MPI" else _find_one_sided(api.removeprefix("MPI_"), name, synchronisation)
    if ours and (not device or places == ["H", "H"]):
        return ours
    program = re.sub(r"\W+", "_", f"{api.removeprefix('MPI').lstrip('_')} {name}".strip().lower())
    for long, short in _SHORT.items():
        program = program.replace(long, short)
    where = {"device": device[1:] or None, "memory": " ".join(places) or None}
    return Meaning(f"osu.{program}", program, {**where, "synchronisation": synchronisation or None})


def _find_one_sided(operation: str, what: str, synchronisation: str) -> Meaning | None:
    """Returns what a test of the latency or bandwidth of an operation such as "put" means, with the words of MPI_Win_…."""
    kernel, kind = operation.lower(), _SYNCHRONISATIONS.get(synchronisation)
    if kernel not in _ONE_SIDED or not kind or what.lower() not in ("latency", "bandwidth"):
        return None
    window = 1 if what.lower() == "latency" else None
    return Meaning("network.onesided", kernel, {**PAIR, "synchronisation": kind, "window": window})
