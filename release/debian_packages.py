"""The Debian packages of the image's base, downloaded by mmdebstrap from the apt sources of this machine.

The packages are kept in the cache directory: the same ones make the same image.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devcluster import debian
from devcluster.cache import cache_directory, publish_once
from devcluster.errors import DevclusterError

RELEASE_NAME = "bookworm"
"""Debian 12: its Python is 3.11."""
INCLUDED = (
    "base-files",
    "busybox-static",  # SHELL
    "ca-certificates",
    "libpython3.11-stdlib",
    "libstdc++6",  # google-re2, python-sat
    "media-types",
    "netbase",  # the names of ports and protocols
    "python3.11-minimal",
    "tzdata",
)
SHELL = "busybox-static"
"""Only in the base of the stage `development`."""
LEFT_OUT = frozenset(
    {
        # What installs and configures packages.
        *(
            "debconf",
            "dpkg",
            "gcc-12-base",
            "libacl1",
            "libmd0",
            "libpcre2-8-0",
            "libselinux1",
            "mawk",
            "openssl",
            "tar",
        ),
        # For the modules curses, dbm, nis, readline and sqlite3, which base.UNUSED names.
        *("libdb5.3", "libncursesw6", "libreadline8", "libsqlite3-0", "libtinfo6", "readline-common"),
        *("libcom-err2", "libgssapi-krb5-2", "libk5crypto3", "libkeyutils1", "libkrb5-3", "libkrb5support0"),
        *("libnsl2", "libtirpc-common", "libtirpc3"),
    }
)
"""Packages that those of INCLUDED depend on, and that nothing in the image uses."""
APT_SOURCES = Path("/etc/apt")
"""The directory in which apt looks for its sources."""


@dataclass(frozen=True)
class DebianPackage:
    """A package file, what it says of itself, and its checksum in hex."""

    file: Path
    name: str
    version: str
    architecture: str
    source: str
    sha256: str


def fetch(report: Callable[[str], None], refresh: bool = False) -> list[DebianPackage]:
    """The packages of the base and SHELL, by name. With `refresh` those that apt offers today, otherwise those of the cache.

    Raises DevclusterError.
    """
    key = hashlib.sha256("\n".join((RELEASE_NAME, *INCLUDED)).encode()).hexdigest()[:16]
    directory = cache_directory() / "image" / f"debian-{key}"
    if refresh:
        shutil.rmtree(directory, ignore_errors=True)

    def fill(staging: Path) -> None:
        report(f"Downloading the Debian packages of the base ({RELEASE_NAME}) ...")
        _download(debian.find_or_install("mmdebstrap", report), staging)

    publish_once(directory, fill, lambda: report("Another process downloads the packages; waiting ..."))
    found = [_read(file) for file in sorted(directory.glob("*.deb"))]
    return [package for package in found if package.name not in LEFT_OUT]


def apt_sources(directory: Path = APT_SOURCES) -> list[Path]:
    """The files of this machine that name RELEASE_NAME as a suite. Without one, mmdebstrap uses Debian's own server."""
    files = [directory / "sources.list", *sorted((directory / "sources.list.d").glob("*"))]
    suite = re.compile(rf"(?m)^(?:Suites:.*|deb\s.*\s){RELEASE_NAME}(?:\s|$)")
    return [file for file in files if file.is_file() and suite.search(file.read_text())]


def _download(mmdebstrap: Path, directory: Path) -> None:
    archives = "/var/cache/apt/archives"
    command = [
        *(str(mmdebstrap), "--quiet", "--variant=extract", "--format=null", f"--include={','.join(INCLUDED)}"),
        # After the packages are extracted: copy them out of the tree, which is thrown away.
        f"--extract-hook=sync-out {archives} {directory}",
        "--skip=download/empty",
        *(RELEASE_NAME, "-", *map(str, apt_sources())),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            command, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise DevclusterError(f"mmdebstrap: {done.stderr.strip() or done.stdout.strip()}")
    shutil.rmtree(directory / "partial", ignore_errors=True)
    (directory / "lock").unlink(missing_ok=True)
    if not any(directory.glob("*.deb")):
        raise DevclusterError("mmdebstrap downloaded no packages.")


def _read(file: Path) -> DebianPackage:
    form = "${Package}\n${Version}\n${Architecture}\n${source:Package}\n"
    done = subprocess.run(
        ["dpkg-deb", "--show", f"--showformat={form}", file], capture_output=True, text=True, check=True
    )
    name, version, architecture, source = done.stdout.splitlines()
    return DebianPackage(file, name, version, architecture, source, hashlib.sha256(file.read_bytes()).hexdigest())
