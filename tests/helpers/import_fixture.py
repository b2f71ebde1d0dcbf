"""Small outputs of other tools, and the command that imports them."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from output_schemas import read_output
from steelyard.show.command_line import cli


def osu(microseconds: float = 1.02) -> str:
    """An output of osu_latency with two sizes."""
    return (
        f"# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0  {microseconds}\n8  {microseconds + 0.5:.2f}\n"
    )


def hpl(started: str = "") -> str:
    """An output of HPL with one system."""
    row = "WR11C2R4      115584   192     4     8            1235.92             8.3295e+02\n"
    return f"HPLinpack 2.3\nT/V                N    NB     P     Q               Time                 Gflops\n{row}{started}"


def write(folder: Path, contents: Mapping[str, str | bytes]) -> Path:
    """Writes files below a folder, and returns the folder."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def tar(contents: Mapping[str, str | bytes], mode: str = "w:gz", form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar archive of files."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in contents.items():
            data = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def zipped(contents: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return file.getvalue()


def imported(capsys: Any, *words: object) -> dict[str, Any]:
    """What `steelyard import … --json` prints."""
    cli.run_words(["import", *map(str, words), "--json", "--quiet"])
    done: dict[str, Any] = read_output("import", capsys.readouterr().out)
    return done
