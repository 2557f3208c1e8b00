"""Makes the base of the image out of Debian packages: an interpreter and its libraries, and for development a shell.

The packages are unpacked, not installed: nothing of the machine that builds is copied, neither names of hosts nor certificate
authorities. No program of a package runs but Python, which compiles its own library, and the shell, which lists its commands.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from release.debian_packages import SHELL, DebianPackage

USER = 65532
UNUSED = (
    *("usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/bug", "usr/share/gdb"),
    *(
        "usr/share/gcc",
        "usr/share/base-files",
        "usr/share/binfmts",
        "usr/lib/binfmt.d",
        "usr/lib/*/gconv",
        "usr/lib/*/audit",
    ),
    *("usr/share/zoneinfo/right", "usr/share/zoneinfo/posix", "usr/sbin", "usr/games", "usr/include", "usr/src"),
    *(
        "etc/dpkg",
        "etc/skel",
        "etc/update-motd.d",
        "etc/default",
        "etc/profile.d",
        "etc/issue*",
        "etc/gss",
        "etc/netconfig",
    ),
    *(
        "boot",
        "bin",
        "sbin",
        "root",
        "var/backups",
        "var/local",
        "var/lock",
        "var/run",
        "var/spool",
        "usr/share/applications",
    ),
    # Modules of Python that need a terminal, a window, a compiler or a library that is left out.
    *(
        "usr/lib/python3.11/curses",
        "usr/lib/python3.11/lib-dynload/_curses*",
        "usr/lib/python3.11/lib-dynload/readline*",
    ),
    *("usr/lib/python3.11/lib-dynload/nis*", "usr/lib/python3.11/pydoc_data", "usr/lib/python3.11/test"),
    *("usr/lib/python3.11/turtle.py", "usr/lib/python3.11/lib2to3", "usr/lib/python3.11/sqlite3"),
    *("usr/lib/python3.11/lib-dynload/_sqlite3*", "usr/lib/python3.11/lib-dynload/_dbm*"),
)
"""Files of packages that the image does not need."""
FILES = {
    "etc/passwd": f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/home/nonroot:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
CERTIFICATE_AUTHORITIES = Path("etc/ssl/certs/ca-certificates.crt")
"""Those of the package ca-certificates, and no others."""
PACKAGE_STATUS = Path("var/lib/dpkg/status.d")
"""The directory in which scanners of images look up Debian packages that no dpkg installed."""


def make_base(packages: Sequence[DebianPackage], tree: Path, with_shell: bool = False) -> int:
    """Make the directory `tree` and fill it, with the package SHELL only if `with_shell`.

    Returns the time of its newest file in seconds since 1970, which depends on the packages alone. Raises
    subprocess.CalledProcessError.
    """
    tree.mkdir()
    packages = [each for each in packages if with_shell or each.name != SHELL]
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", package.file, tree], check=True, stdin=subprocess.DEVNULL)
    if with_shell:
        _move_shell(tree)
    newest = max(int(path.lstat().st_mtime) for path in tree.rglob("*") if not path.is_dir())
    _remove_unused(tree)
    _complete(tree, packages)
    _compile_library(tree)
    return newest


def write_tar(tree: Path, target: Path, time: int) -> None:
    """Write the directory as a tar archive that depends on nothing but contents: sorted, owned by root, of one time."""

    def normal(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = USER if member.name.startswith("home/nonroot") else 0
        member.uname = member.gname = ""
        member.mtime = time
        return member

    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(tree.rglob("*")):
            archive.add(path, path.relative_to(tree).as_posix(), recursive=False, filter=normal)


def _move_shell(tree: Path) -> None:
    """Give busybox a directory of its own, with its commands by their names, as in the `debug` images of Distroless."""
    directory = tree / "busybox"
    directory.mkdir()
    program = directory / "busybox"
    (tree / "bin/busybox").rename(program)
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        if name != program.name:
            (directory / name).symlink_to(program.name)


def _remove_unused(tree: Path) -> None:
    for pattern in UNUSED:
        for path in tree.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in (tree / "usr/share/doc").rglob("*"):
        if not path.is_dir() and path.name != "copyright":
            path.unlink()
    for path in (tree / "usr/bin").iterdir():
        if path.name != "python3.11":
            path.unlink()


def _complete(tree: Path, packages: Sequence[DebianPackage]) -> None:
    """Add what programs of the packages would do when they are installed."""
    (tree / "usr/bin/python3").symlink_to("python3.11")
    for name, text in FILES.items():
        (tree / name).write_text(text)
    authorities = sorted((tree / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    bundle = tree / CERTIFICATE_AUTHORITIES
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(path.read_text().rstrip("\n") + "\n" for path in authorities))
    shutil.rmtree(tree / "usr/share/ca-certificates")
    for name in ("tmp", "var/tmp"):
        (tree / name).mkdir(parents=True, exist_ok=True)
        (tree / name).chmod(0o1777)
    (tree / "home/nonroot").mkdir()
    status = tree / PACKAGE_STATUS
    status.mkdir(parents=True)
    for package in packages:
        fields = subprocess.run(["dpkg-deb", "--field", package.file], capture_output=True, check=True).stdout
        (status / package.name).write_bytes(fields)


def _compile_library(tree: Path) -> None:
    """Compile Python's library with the Python of the tree, by the tree's own loader and libraries."""
    (loader,) = (tree / "lib").glob("*/ld-linux-*.so.*")
    libraries = f"{loader.parent}:{tree / 'usr/lib' / loader.parent.name}"
    library = tree / "usr/lib/python3.11"
    command: list[str | Path] = [
        loader,
        "--library-path",
        libraries,
        tree / "usr/bin/python3.11",
        "-m",
        "compileall",
        "-q",
        "-f",
    ]
    command += ["--invalidation-mode=unchecked-hash", "-s", tree, "-p", "/", library]
    environment = {"PYTHONHOME": str(tree / "usr"), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    # The modules that Python imports while it compiles are compiled too, in the order of their names.
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)
