"""A bare Debian as a folder: made by debootstrap once, kept as an archive, unpacked for each use."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

# What the README says that it needs, and the certificates without which nothing comes from PyPI.
SUITE = "bookworm"
PACKAGES = ("python3", "python3-venv", "g++", "make", "ca-certificates")
VARIANT = "minbase"
USER = "user:x:1000:1000::/home/user:/bin/sh\n"
SCRIPTS = Path("/usr/share/debootstrap/scripts")
USUAL_MIRROR = "http://deb.debian.org/debian"
ROOM = 3 << 30  # bytes: the archive, the unpacked machine, and what the README's commands install


class Missing(Exception):
    """What this machine lacks to make a bare one, in a sentence."""


def cache() -> Path:
    """Where archives are kept, beside the programs that Steelyard keeps."""
    own = os.environ.get("STEELYARD_CACHE")
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard"
    return (Path(own) if own else usual) / "tests"


def recipe(suite: str, packages: Sequence[str] = PACKAGES) -> str:
    """Of all that the archive depends on: another recipe, another archive."""
    words = (suite, VARIANT, *packages, USER, platform.machine())
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def archive(suite: str = SUITE, packages: Sequence[str] = PACKAGES, kind: str = "bare") -> Path:
    """The archive of the bare machine; makes it where there is none. Raises Missing. The newest one of a kind is kept."""
    kept = cache() / f"{kind}-{suite}-{recipe(suite, packages)}.tar"
    if kept.exists():
        return kept
    cache().mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(cache()).free < ROOM:
        raise Missing(f"{cache()} has less than {ROOM >> 30} GB left. Name a folder with space: STEELYARD_CACHE=…")
    with tempfile.TemporaryDirectory(prefix="making-", dir=cache()) as folder:
        root, packed = Path(folder, "root"), Path(folder, "bare.tar")
        said = Path(folder, "debootstrap.log")
        options = [f"--variant={VARIANT}", *([f"--include={','.join(packages)}"] if packages else [])]
        # An older debootstrap does not know the name of a later suite. All are made as sid is.
        command = [_debootstrap(), *options, suite, root, mirror(), SCRIPTS / "sid"]
        with said.open("w") as log:
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            sys.stderr.write(said.read_text()[-3000:])
            raise Missing(f"debootstrap ended with {done.returncode}; its last words are above.")
        for name, line in (("passwd", USER), ("group", "user:x:1000:\n")):
            with (root / "etc" / name).open("a") as file:
                file.write(line)
        shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
        subprocess.run(["tar", "-C", root, "-cf", packed, "."], check=True)
        for old in cache().glob(f"{kind}-{suite}-*.tar"):
            old.unlink()
        packed.rename(kept)
    return kept


def unpack(packed: Path, root: Path) -> None:
    """The machine at `root`, with what it needs of this one to reach the package index."""
    root.mkdir(parents=True)
    subprocess.run(["tar", "-C", root, "-xpf", packed], check=True)
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", *_certificates()):
        if Path(name).is_file():
            target = root / name.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copyfile(name, target)
    home = root / "home/user"
    home.mkdir()
    os.chown(home, 1000, 1000)


def mirror() -> str:
    """Where Debian's packages come from: the source of this machine, if it is a Debian."""
    if "ID=debian" in Path("/etc/os-release").read_text(encoding="utf-8"):
        for file in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
            lines = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            for line in lines.splitlines():
                found = re.search(r"^(?:deb|URIs:)\s.*?(https?://\S*/debian/?)(?:\s|$)", line)
                if found:
                    return found.group(1)
    return USUAL_MIRROR


def pip_variables() -> dict[str, str]:
    """What pip needs here to reach its index, and nothing else of what it may be told."""
    wanted = (
        r"PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT|PROXY|DEFAULT_TIMEOUT|RETRIES|DISABLE_PIP_VERSION_CHECK)"
    )
    others = r"SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:https?_proxy|no_proxy)"
    return {name: value for name, value in os.environ.items() if re.fullmatch(f"{wanted}|{others}", name)}


def _certificates() -> set[str]:
    named = {value for name, value in pip_variables().items() if "CERT" in name or "BUNDLE" in name}
    return named | {"/etc/ssl/certs/ca-certificates.crt"}


def _debootstrap() -> str:
    """The program, installed where that may be done."""
    if not shutil.which("debootstrap") and shutil.which("apt-get"):
        print("fresh: installing debootstrap …", flush=True)
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        install = ["apt-get", "install", "-y", "-qq", "debootstrap", "debian-archive-keyring"]
        subprocess.run(install, check=False, stdout=subprocess.DEVNULL)
    found = shutil.which("debootstrap")
    if not found:
        raise Missing("debootstrap is missing, and could not be installed: apt-get install debootstrap")
    return found
