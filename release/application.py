"""Installs the suite and its wheels into /app, in the build stage of the Dockerfile. Standard library only.

/app is a virtual environment, so that jobs, which get few environment variables, find it too. Nothing is downloaded. The same
sources and wheels give the same bytes: what names a directory or a time of the build is removed.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

APPLICATION = Path("/app")
WHEELS = Path("/wheels")
SOURCES = Path("/src")
DEVELOPMENT = Path("/development")
"""The directory that the stage `development` adds to the packages of /app."""
INSTALLERS = ("pip", "setuptools")
ADDED_FOR_DEVELOPMENT = ("debugpy",)
"""As in release.runtime_lock, which this file cannot import: it runs alone."""
PYTHON = Path("/usr/bin/python3")
"""The interpreter of the base. There is no other in the image."""
UNUSED = (
    "kubernetes_asyncio/client/api",  # docs/decisions/0031
    "kubernetes_asyncio/client/models",
    "zstandard/_cffi*.so",  # for PyPy; CPython uses backend_c
    "pysat/examples",
    "*.md",
    "*/tests",
    "*/test",
    "**/*.pyi",
    "**/*.pyx",
    "**/*.pxd",
    "**/*.[ch]",
)
"""Files of wheels that nothing imports."""
_LITTLE_ENDIAN_64_BIT = b"\x7fELF\x02\x01"
_OF_THE_BUILD = ("direct_url.json", "REQUESTED")


def main() -> int:
    """Fill /app. Returns the exit status."""
    site = APPLICATION / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    make_environment(APPLICATION, site)
    install(APPLICATION / "bin" / "python")
    keep_own_programs(site, APPLICATION / "bin")
    clean(site)
    compile_all(site)
    return 0


def make_environment(directory: Path, site: Path) -> None:
    """Write an empty virtual environment. The module venv would copy what differs between interpreters."""
    site.mkdir(parents=True)
    (directory / "bin").mkdir()
    for name in ("python", "python3"):
        (directory / "bin" / name).symlink_to(PYTHON)
    (directory / "pyvenv.cfg").write_text(f"home = {PYTHON.parent}\ninclude-system-site-packages = false\n")


def install(python: Path) -> None:
    """Install the wheels, whose hashes are checked again, and then the suite."""
    (pip,) = WHEELS.glob("pip-*.whl")
    listed = _requirements((WHEELS / "runtime.lock").read_text())
    added = "".join(listed.pop(name, "") for name in ADDED_FOR_DEVELOPMENT)
    wanted, development = Path("/tmp/runtime.lock"), Path("/tmp/development.lock")
    wanted.write_text("".join(text for name, text in listed.items() if name not in INSTALLERS))
    development.write_text(added)
    command = [str(python), f"{pip}/pip", "install", "--quiet", "--no-index", f"--find-links={WHEELS}", "--no-deps"]
    command += ["--no-compile", "--no-cache-dir", "--disable-pip-version-check", "--root-user-action=ignore"]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/tmp",
    }
    from_lock = "--require-hashes"
    for what in (
        (from_lock, f"--requirement={wanted}"),
        (str(SOURCES),),
        (from_lock, f"--requirement={development}", f"--target={DEVELOPMENT}"),
    ):
        subprocess.run([*command, *what], check=True, env=environment, stdin=subprocess.DEVNULL)
    shutil.rmtree(DEVELOPMENT / "bin")


def _requirements(lock: str) -> dict[str, str]:
    """Name -> the lines of the requirement."""
    blocks = re.split(r"(?m)^(?=[a-z0-9])", lock)
    return {block.partition("==")[0]: block for block in blocks if "==" in block}


def keep_own_programs(site: Path, programs: Path) -> None:
    """Remove the programs of other packages."""
    (listed,) = site.glob("olm_suite-*.dist-info/entry_points.txt")
    own = {line.partition(" =")[0] for line in listed.read_text().splitlines() if " = " in line}
    for path in programs.iterdir():
        if path.name not in own and not path.is_symlink():
            path.unlink()


def clean(site: Path) -> None:
    """Remove what nothing uses and what differs from build to build."""
    for pattern in UNUSED:
        for path in sorted(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    changed = {path for path in sorted(site.rglob("*.so*")) if drop_symbols(path)}
    for record in sorted(site.glob("*.dist-info/RECORD")):
        for name in _OF_THE_BUILD:
            (record.parent / name).unlink(missing_ok=True)
        paths = {_recorded(line): line for line in record.read_text().splitlines()}
        lines = [
            f"{path},," if site / path in changed else paths[path] for path in sorted(paths) if (site / path).exists()
        ]
        record.write_text("".join(f"{line}\n" for line in lines))


def drop_symbols(library: Path) -> bool:
    """Cut off what stands behind the segments of an ELF file, and whether there was any: debuggers read it, the loader does not.

    It is most of some libraries. Other files stay as they are.
    """
    with library.open("r+b") as file:
        header = bytearray(file.read(64))
        if not header.startswith(_LITTLE_ENDIAN_64_BIT):
            return False
        (table,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        end = table + size * count
        for number in range(count):
            file.seek(table + size * number)
            segment = file.read(size)
            offset, length = struct.unpack_from("<Q", segment, 8)[0], struct.unpack_from("<Q", segment, 32)[0]
            end = max(end, offset + length)
        if end >= library.stat().st_size:
            return False
        struct.pack_into("<Q", header, 40, 0)  # where the table of sections is
        struct.pack_into("<HHH", header, 58, 0, 0, 0)  # the size and number of its entries, and which one has the names
        file.seek(0)
        file.write(header)
        file.truncate(end)
    return True


def _recorded(line: str) -> str:
    """The path of a line of RECORD, which ends with a hash and a size."""
    return line.rsplit(",", 2)[0].strip('"')


def compile_all(site: Path) -> None:
    """Compile all modules. Python never compares these files with their sources, so times do not matter."""
    command = [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode=unchecked-hash", str(site)]
    subprocess.run(command, check=True, env={"PYTHONHASHSEED": "0"}, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
