"""Lengthens the cases of a plan for slow measurements beside them, such as those of a power sensor."""

from dataclasses import replace

from steelyard.model import Case, Plan, Sampling

MANY = 100_000  # samples: enough to fill the time with a short operation; each needs 200 bytes in the record
ENDS_AT = 4  # a case ends after this multiple of its seconds, even with fewer than the minimum of samples


def lasting(plan: Plan, seconds: float) -> Plan:
    """Returns the plan with cases of at least so many seconds. Longer cases stay as they are."""
    launches = tuple(replace(x, cases=tuple(_longer(case, seconds) for case in x.cases)) for x in plan.launches)
    old, new = (sum(_expected(c.sampling) for x in part for c in x.cases) for part in (plan.launches, launches))
    return replace(plan, launches=launches, seconds=plan.seconds + new - old)


def _longer(case: Case, seconds: float) -> Case:
    if case.sampling.seconds >= seconds:
        return case
    # Only the time ends such a case, since it never reaches its least number of samples.
    return replace(case, sampling=replace(case.sampling, seconds=seconds / ENDS_AT, least=MANY, most=MANY))


def _expected(sampling: Sampling) -> float:
    return sampling.seconds * (ENDS_AT if sampling.least == MANY else 1)
