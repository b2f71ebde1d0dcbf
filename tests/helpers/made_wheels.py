"""Wheels that are made up, for tests of what installs packages."""

import zipfile
from collections.abc import Mapping
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """Writes a wheel of these executable files into a folder."""
    about = f"{name}-{version}.dist-info"
    whole = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for file, text in whole.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o100755 << 16  # pip starts from the mode that the wheel gives
            packed.writestr(entry, text)
        packed.writestr(f"{about}/RECORD", "".join(f"{file},,\n" for file in (*whole, f"{about}/RECORD")))
    return path
