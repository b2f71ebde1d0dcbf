"""Lengthens the cases of a plan for slow measurements beside them, such as those of a power sensor."""

from collections.abc import Callable
from dataclasses import replace

from steelyard.model import Case, Plan, Sampling

MANY = 100_000  # samples: enough to fill the time with a short operation; each needs 200 bytes in the record
ENDS_AT = 4  # a case ends after this multiple of its seconds, even with fewer than the minimum of samples


def lasting(plan: Plan, seconds: float, is_wanted: Callable[[Case], bool] = lambda case: True) -> Plan:
    """Returns the plan in which the wanted cases last at least so many seconds. Longer cases stay as they are."""

    def longer(case: Case) -> Case:
        return _longer(case, seconds) if is_wanted(case) else case

    launches = tuple(replace(x, cases=tuple(map(longer, x.cases))) for x in plan.launches)
    old, new = (sum(_expected(c.sampling) for x in part for c in x.cases) for part in (plan.launches, launches))
    return replace(plan, launches=launches, seconds=plan.seconds + new - old)


def _longer(case: Case, seconds: float) -> Case:
    if case.sampling.seconds >= seconds:
        return case
    # Only the time ends such a case, since it never reaches its least number of samples.
    return replace(case, sampling=replace(case.sampling, seconds=seconds / ENDS_AT, least=MANY, most=MANY))


def _expected(sampling: Sampling) -> float:
    return sampling.seconds * (ENDS_AT if sampling.least == MANY else 1)
