"""What students can learn on the system: rules for a teacher."""

from collections.abc import Iterator

from steelyard.compare.quantities import find_curve
from steelyard.compare.verdict.subject import COARSE, COURSES, THREAD_COURSES, Sentence, Subject, spread_in_words
from steelyard.model.units import significant
from steelyard.model.words import plural

GOOD, POOR = 0.8, 0.5  # efficiency of all nodes together
VISIBLE = 1.5  # times: students see the difference in one measurement
EVEN = 0.10  # spread of the latency: all students have the same network


def judge_courses(subject: Subject) -> Iterator[Sentence]:
    """Judges the nodes of a cluster for courses on message passing, and for programs with few messages."""
    growth = subject.growth
    if growth is None:
        return
    nodes, share = plural(growth.nodes, "node"), significant(growth.efficiency, 2)
    reached = f"{nodes} reach {share} of {growth.nodes} times the speed of one"
    if growth.efficiency >= GOOD:
        yield Sentence(
            text=f"Use it in courses on message passing: {reached}.", evidence=("cluster",), good=(COURSES, COARSE)
        )
    elif growth.efficiency < POOR:
        yield Sentence(text=f"{reached}: find the cause before you teach on it.", evidence=("cluster",), weak=(COARSE,))
    else:
        yield Sentence(text=f"{reached}: students can search for the loss.", evidence=("cluster",))


def judge_equal_nodes(subject: Subject) -> Iterator[Sentence]:
    """States whether all students measure the same network."""
    spread = subject.get("spread")
    if spread and spread.number <= EVEN:
        share = spread_in_words(spread)
        text = f"All groups of students measure the same network: the latency differs by {share} between the nodes."
        yield Sentence(text=text, evidence=("spread",))


def show_contention(subject: Subject) -> Iterator[Sentence]:
    """Compares the exchange of all ranks with that of one pair."""
    pair, chaos = subject.get("pair"), subject.get("chaos")
    if pair and chaos:
        yield Sentence(
            text=f"Let students load the network: all nodes together exchange {chaos.text}, "
            f"{significant(chaos.number / pair.number, 2)} times the {pair.text} of one pair.",
            evidence=("chaos", "pair"),
        )


def judge_threads(subject: Subject) -> Iterator[Sentence]:
    """Judges a node for courses on threads, by the growth of the memory bandwidth."""
    curve = find_curve(subject.cases, "triad")
    if len(curve) > 1 and 1 in curve:
        most = max(curve)
        factor = curve[most] / curve[1]
        text = f"{plural(most, 'thread')} move {significant(factor, 2)} times the bytes of one thread"
        if factor >= VISIBLE:
            text = f"Use it in courses on threads: {text}."
            yield Sentence(text=text, evidence=("triad",), good=(THREAD_COURSES,))
        else:
            yield Sentence(text=f"Use it to show a shared resource: {text}.", evidence=("triad",))


def show_placement(subject: Subject) -> Iterator[Sentence]:
    """Compares local with remote memory."""
    local, remote = subject.get("local"), subject.get("remote")
    if local and remote and local.number >= VISIBLE * remote.number:
        text = f"Use it in courses on memory placement: local memory is {significant(local.number / remote.number, 2)} times as "
        yield Sentence(text=f"{text}fast as that of another socket.", evidence=("local", "remote"))


RULES = (judge_courses, judge_equal_nodes, show_contention, judge_threads, show_placement)
