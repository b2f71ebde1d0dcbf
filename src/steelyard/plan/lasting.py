"""Plans whose cases last as long as something slow beside them needs, such as a sensor of power."""

from dataclasses import replace

from steelyard.model import Case, Plan, Sampling

MANY = 100_000  # samples: of a short operation they fill the time, and each needs 200 bytes in the record
ENDS_AT = 4  # times its seconds a case ends, though it has not its least number of samples


def lasting(plan: Plan, seconds: float) -> Plan:
    """The plan with cases of at least so many seconds; those that take as long by themselves stay as they are."""
    launches = tuple(replace(x, cases=tuple(_longer(case, seconds) for case in x.cases)) for x in plan.launches)
    old, new = (sum(_expected(c.sampling) for x in of for c in x.cases) for of in (plan.launches, launches))
    return replace(plan, launches=launches, seconds=plan.seconds + new - old)


def _longer(case: Case, seconds: float) -> Case:
    if case.sampling.seconds >= seconds:
        return case
    # So that only the time ends it: it is never narrow enough with so few samples.
    return replace(case, sampling=replace(case.sampling, seconds=seconds / ENDS_AT, least=MANY, most=MANY))


def _expected(sampling: Sampling) -> float:
    return sampling.seconds * (ENDS_AT if sampling.least == MANY else 1)
