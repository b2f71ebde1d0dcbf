"""How a text quotes a run: the run and the digest of its files, as a sentence and as an entry for BibTeX."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from steelyard.measure.published.system import System
from steelyard.measure.records import sums
from steelyard.model import Run
from steelyard.model.words import plural
from steelyard.show.report.latex_letters import escaped
from steelyard.show.report.names import slug


@dataclass(frozen=True, kw_only=True)
class Citation:
    """The source of figures. `digest` is that of a run's files ("" of a published system); `bibtex` ends with a line end."""

    name: str
    digest: str
    text: str
    bibtex: str


def reference(run: str, path: str) -> str:
    """Returns the short reference of quoted values: "run 20261120-101500, digest 6025704c154a"."""
    return f"run {run}, digest {sums.find_digest(Path(path))}" if (Path(path) / "run.json").is_file() else f"run {run}"


def cite_run(run: Run, digest: str, author: str = "") -> Citation:
    """Returns the citation of a run whose files have this digest."""
    here = run.machine
    title = f"{'Imported results' if run.imported else 'Measurements'} of {name_machine(run)}"
    version = f"Steelyard {run.versions.get('steelyard', '')}".strip()
    how = f"{'imported' if run.imported else 'measured'} with {version}"
    day = _read_day(run.started)
    dated = f" of {day:%Y-%m-%d}" if day else ""
    text = f"{f'{author}: ' if author else ''}{title}. Run {run.id}{dated}, {how}, digest {digest}."
    fields = {
        "author": author and escaped(author),
        "title": f"{{{escaped(title)}}}",
        "year": f"{day:%Y}" if day else "",
        "month": f"{day:%b}".lower() if day else "",
        "howpublished": escaped(how[0].upper() + how[1:]),
        "note": escaped(f"Run {run.id}, digest {digest}"),
    }
    return Citation(name=run.id, digest=digest, text=text, bibtex=_write_entry(f"{here.host} {run.id}", fields))


def cite_system(system: System) -> Citation:
    """Returns the citation of a published system: where its figures come from."""
    fields = {
        "title": f"{{{escaped(system.name)}}}",
        "year": str(system.year) if system.year else "",
        "note": escaped(f"Figures from: {system.source}"),
    }
    text = f"{system.dated}. Figures from: {system.source}."
    return Citation(name=system.name, digest="", text=text, bibtex=_write_entry(system.name, fields))


def name_machine(run: Run) -> str:
    """Returns the name of the machine and, as far as they are known, its processor and its cores."""
    here = run.machine
    about = ", ".join(filter(None, (here.processor, plural(len(here.cores), "core") if here.cores else "")))
    return f"{here.system or here.host} ({about})" if about else here.system or here.host


def _read_day(started: str) -> datetime | None:
    try:
        return datetime.fromisoformat(started)
    except ValueError:
        return None


def _write_entry(name: str, fields: dict[str, str]) -> str:
    lines = [f"  {key} = {value if key == 'month' else f'{{{value}}}'}," for key, value in fields.items() if value]
    return "\n".join([f"@misc{{steelyard-{slug(name)},", *lines, "}"]) + "\n"
