"""Rule: whether another hardware thread worked on the measured cores: a neighbour whom no account shows."""

from statistics import median

from steelyard.model import Evaluation, Finding
from steelyard.statistics.validity.pace import typical

# Of the most additions per cycle that the run saw. A second thread takes up to half; readings scatter by some percent.
SHARED = 0.85
OFTEN = 0.10  # of the records: below it medians do not care
FEWEST = 10  # records: fewer do not show how wide the core can issue


def find(evaluation: Evaluation) -> list[Finding]:
    """How many records were made on a core that issued clearly less than it can."""
    rates = [rate for record in evaluation.run.records if (rate := typical(record, "issued")) is not None]
    if len(rates) < FEWEST:
        return []
    most = sorted(rates)[-1 - len(rates) // 50]  # the outermost fiftieth may be a reading gone wrong
    most = max(most, *(best for key, best in evaluation.run.shown.best.items() if key.startswith("issued ")), 0.0)
    shared = [rate for rate in rates if rate < SHARED * most]
    evidence = (
        f"In {len(shared)} of {len(rates)} records the core issued fewer than {SHARED * most:.2g} additions per cycle; "
        f"the most that the machine has shown is {most:.2g}, the median {median(rates):.2g}, the least {min(rates):.2g}.",
    )
    if len(shared) <= OFTEN * len(rates):
        reported = (
            f"The measured cores were not shared: they issued {median(rates):.2g} additions per cycle throughout."
        )
        return [
            Finding(
                "shared_core",
                "good",
                reported,
                evidence,
                "No other hardware thread worked on them.",
                "",
                reach="figures",
            )
        ]
    reported = f"The measured cores were shared with other work in {len(shared)} of {len(rates)} records."
    cause = (
        "Another hardware thread of the same core was busy: a process on the sibling, or in a virtual machine another guest. "
        "It halves what the core issues and takes room in its caches, and neither load nor steal time shows it."
    )
    remedy = "Leave the siblings idle (steelyard doctor names them); in a cloud take a dedicated host or whole cores."
    effect = most / median(rates)
    return [Finding("shared_core", "notice", reported, evidence, cause, remedy, effect=effect, reach="figures")]
