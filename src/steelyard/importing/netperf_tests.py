"""The tests of netperf: their titles, their commands and their names."""

from steelyard.importing.patterns import Match
from steelyard.importing.values import make_name

KERNELS = {"REQUEST/RESPONSE": "rr", "Connect/Request/Response": "crr", "UNIDIRECTIONAL SEND": "stream"}
# The title may be cut away; without -t, which no word of the command begins with then, the test is TCP_STREAM.
COMMAND = (
    r".{0,200}\bnetperf(?:(?: +-.{0,200}?)? -t *(?P<kind>(?:TCP|UDP|SCTP|DCCP)_\w+|omni)\b.*"
    r"| +-[a-su-zA-Z]\S*(?:\s+(?:[^-\s]\S*|-(?:[^t\s]\S*)?))*\s*$)"
)
TEST = (
    rf"(?:.* )?(?P<protocol>TCP|UDP|SCTP|DCCP) (?P<test>STREAM|MAERTS|SENDFILE|{'|'.join(KERNELS)}) TEST (?:from|to)\b"
    rf"|{COMMAND}"
)
# netperf's "MBytes" are 2^20 bytes, its "10^6bits" 10^6 bits.
UNITS = {
    "10^3bits": "Kbit/s", "10^6bits": "Mbit/s", "10^9bits": "Gbit/s", "KBytes": "KiB/s", "MBytes": "MiB/s",
    "GBytes": "GiB/s", "Trans": "/s", "per sec": "/s",
}  # fmt: skip
LATENCIES = {  # of their names in capitals
    r"P?(?P<share>\d+)(?:TH_PERCENTILE)?_LATENCY(?:_MICROSECONDS)?": "p", r"MEAN_LATENCY(?:_MICROSECONDS)?": "mean",
    r"MIN(?:IMUM)?_LATENCY(?:_MICROSECONDS)?": "least", r"MAX(?:IMUM)?_LATENCY(?:_MICROSECONDS)?": "greatest",
    r"RT_LATENCY|ROUND_TRIP_LATENCY_USEC/TRAN": "as printed",
}  # fmt: skip


def name_test(head: Match) -> str:
    """Returns the name of the test that a title or a command names."""
    if head["protocol"]:
        return make_name(f"{head['protocol']} {KERNELS.get(head['test'], head['test'])}")
    return (head["kind"] or "TCP_STREAM").lower()
