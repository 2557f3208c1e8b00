"""Writes console/static/vendor: the JavaScript of others that the console serves. `python -m release.console_vendor [--check]`

Each package is fetched by npm in one version, checked by its digest, and nothing of it is run. What is taken of it stands beside
its licence and the digests of both, and is committed: nobody needs npm to build or to test. --check compares the files with
their digests, and fetches nothing.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "console" / "static" / "vendor"
SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Package:
    """A package of npm: the file that is taken, what is appended to it, and the SHA-512 of its archive."""

    name: str
    version: str
    sha512: str
    taken: str
    appended: str = ""


PACKAGES = (
    Package(
        "idiomorph",
        "0.8.0",
        "478ec904bfba8c70d0bdc9dba69214b575dcc62e61ebec2e0841195e7461525b"
        "6c8333c52b34e12f93ee1e9a4ff72a49bb2fbb59ac1c6354ec4810ff8906cc87",
        "dist/idiomorph.min.js",
        "\nexport { Idiomorph };\n",
    ),
)


def fetch(package: Package) -> bytes:
    """The archive of a package. Raises SystemExit if it is another one than it was."""
    with tempfile.TemporaryDirectory() as directory:
        command = ["npm", "pack", "--ignore-scripts", "--silent", f"{package.name}@{package.version}"]
        subprocess.run(command, cwd=directory, check=True, stdin=subprocess.DEVNULL)
        archive = next(Path(directory).glob("*.tgz")).read_bytes()
    if hashlib.sha512(archive).hexdigest() != package.sha512:
        raise SystemExit(f"{package.name} {package.version} is another archive than the one that was taken before")
    return archive


def contents(package: Package, archive: bytes) -> dict[str, bytes]:
    """The files of the vendor directory of a package, by name."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        found = {name: _read(opened, f"package/{name}") for name in (package.taken, "LICENSE")}
    script = found[package.taken] + package.appended.encode()
    files = {f"{package.name}.js": script, "LICENSE": found["LICENSE"]}
    sums = "".join(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(files.items()))
    return {**files, SUMS: sums.encode()}


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None
    return member.read()


def differences(directory: Path = VENDOR) -> list[str]:
    """The files that are not those of their digests, and the packages that are missing."""
    found = []
    for package in PACKAGES:
        own = directory / package.name
        if not (own / SUMS).is_file():
            found.append(f"{package.name}: there is no {SUMS}")
            continue
        for line in (own / SUMS).read_text().splitlines():
            digest, _, name = line.partition("  ")
            if hashlib.sha256((own / name).read_bytes()).hexdigest() != digest:
                found.append(f"{package.name}: {name} is not the file of its digest")
    return found


def main() -> int:
    """Write the directory, or check it. Returns the exit status."""
    if "--check" in sys.argv[1:]:
        found = differences()
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    for package in PACKAGES:
        directory = VENDOR / package.name
        directory.mkdir(parents=True, exist_ok=True)
        for name, body in contents(package, fetch(package)).items():
            (directory / name).write_bytes(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
