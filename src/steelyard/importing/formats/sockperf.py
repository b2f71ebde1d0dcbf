"""sockperf 2 and 3: ping-pong, under load and playback (latency), and throughput.

https://github.com/Mellanox/sockperf
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, percentile

TOOL = "sockperf"
MARKS = ("sockperf:",)
COMMAND = r"sockperf (?:ping-pong|pp|under-load|ul|playback|pb|throughput|tp)\b"
SIZE = rf"msg-size=(\d+)|{COMMAND}.{{0,300}}?(?:-m |--msg-size )(\d+)"
LOADS = {name: rf"--{name.replace('_', '-')}[= ](\w+)" for name in ("mps", "burst", "reply_every")}
ROW = r".*sockperf: ---> (?:<?(?P<end>MIN|MAX)>? observation|percentile (?P<share>[\d.]+)) *= *(?P<value>\S+)"
RATE = r".*sockperf: Summary: Band[Ww]idth is (?P<bytes>\S+) (?P<prefix>[MG])Bps \((?P<bits>\S+) [MG]bps\)"
MEAN = r".*sockperf: Summary: (?:Latency|Round trip)(?: of)? is (\S+) usec"
ENDS = {"MIN": "least", "MAX": "greatest"}
HALF = "The latency is half of a round trip between two sockets."
WHOLE = "The time is that of a whole round trip (--full-rtt)."
BINARY = "sockperf writes MBps, but the number counts MiB per second."


def read(text: Text) -> Values:
    """Yields mean, percentiles and ends of the latency, or the rate and bandwidth of sending, of each run.

    The log of all messages has no summary. Lines that do not say whether they show half or whole round trips are refused.
    """
    command: Given = {}  # the options on the command line, which is above the output
    for part in text.ended().runs(rf".*(?:sockperf\[CLIENT\]|{COMMAND})|test was performed using"):
        client = part.find(r"sockperf\[CLIENT\]")
        options: Given = {**part.integers(message_bytes=SIZE), **part.words(**LOADS)} or (command if client else {})
        command = {} if client else options
        about = {"protocol": part.find(r"PORT *= *\d+ +# (TCP|UDP)").lower() or None, **options}
        whole = part.find(r"Round trip|avg-rtt|--full-rtt")
        metric, note = ("round_trip", WHOLE) if whole else ("latency", HALF)
        means = [*part.match(MEAN)] or [*part.match(r".*sockperf: ====> avg-\w+= *(\S+) \(std-dev")]
        for mean, _ in means:
            yield make("sockperf.latency", "latency", metric, mean[1], "us", "mean", about, note=note)
        if not (means or whole):
            part.refuse(rf"^{ROW}", "its percentiles are those of half or of whole round trips")
        for row, _ in part.match(ROW) if means or whole else ():
            statistic = ENDS[row["end"]] if row["end"] else percentile(row["share"])
            yield make("sockperf.latency", "latency", metric, row["value"], "us", statistic, about, note=note)
        for row, _ in part.match(r".*sockperf: Summary: Message Rate is (\d+) \[msg/sec\]"):
            yield make("sockperf.throughput", "send", "rate", row[1], "/s", "mean", about)
        for row, at in part.match(RATE):
            thousands = row["prefix"] == "G" and len(row["bytes"].partition(".")[2]) < 9
            mebibytes = float(row["bytes"]) * (1000 if thousands else 1)
            if abs(8 * float(row["bytes"]) - float(row["bits"])) > 0.01:
                raise ValueError(f"line {at}: the bits per second are not eight times the bytes per second")
            yield make("sockperf.throughput", "send", "bandwidth", mebibytes, "MiB/s", "mean", about, note=BINARY)
