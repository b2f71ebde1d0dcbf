"""ReFrame 2.18 to 4.8: the screen of a session, which prints the variables of a test below its result, or a report at its end.

https://reframe-hpc.readthedocs.io
"""

from collections.abc import Iterator

from steelyard.importing.reframe_cases import make_case
from steelyard.importing.text import Text
from steelyard.model.foreign import ForeignValue

TOOL = "ReFrame"
MARKS = ("[       OK ] (", "[     FAIL ] (", "\nPERFORMANCE REPORT\n---", "* num_tasks: ")
TEST = r".*?\[ +(?:OK|FAIL) \] \( *\d+/\d+\) (?P<info>[^\[]*?) *(?:\[.*)?$"
VARIABLE = r".*?\bP: (?P<name>[^:]+): (?P<value>\S+) ?(?P<unit>[^(]*?) ?\(r: ?[^,]*, l: ?(?P<lower>[^,]*), u: ?(?P<upper>[^)]*)\)"
# The report of ReFrame 2 and 3: tests, below them systems, environments and variables. A remark in brackets may follow.
REPORT = r" *(?P<test>[\w%.=+-]*\w)\s*$| *- (?P<place>\S+:\S+)\s*$| *- (?P<environment>\S+)\s*$"
REPORT += r"| *\* (?P<name>[^:]+): (?P<value>\S+) ?(?P<unit>[^(]*)"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each variable of each test. Each value has the system with the partition."""
    lines = False
    for test, part in text.parts(TEST):
        for found, at in part.match(VARIABLE):
            lines = True
            with text.row(at):
                bounds = (found["lower"], found["upper"])
                yield make_case(test["info"], found["name"], found["value"], found["unit"], bounds, "", {})
    for _, report in text.parts(r"\s*PERFORMANCE REPORT\s*$") if not lines else ():
        given: dict[str, str] = {}
        for found, at in report.match(REPORT):
            given = {} if found["test"] else given
            given |= {name: word for name, word in found.groupdict().items() if word}
            if found["name"] == "num_tasks":
                given["num_tasks"] = found["value"]
            elif found["name"]:
                with text.row(at):
                    info = f"{given['test']} on {given['place']} using {given['environment']}"
                    yield make_case(info, found["name"], found["value"], found["unit"].strip(), ("", ""), "", given)
