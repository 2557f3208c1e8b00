"""Runs the image with runc: the command, and a config.json that restricts the container as the Deployments do.

A container has the network of the machine, so that it reaches a local cluster; everything else is its own. Starts nothing itself;
the command needs root.
"""

from __future__ import annotations

import json
import platform
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from release.base import USER
from release.suite import SUITE

SECCOMP_PROFILE = Path("/usr/share/containers/seccomp.json")
"""The default profile of Debian's container tools, which RuntimeDefault of Kubernetes corresponds to."""
CACHE = Path("/var/cache") / SUITE
_ARCHITECTURES = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}
_NAMESPACES = ("pid", "mount", "ipc", "uts")
_MASKED = ("/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware")


def command(runc: Path, directory: Path, configuration: Mapping[str, Any]) -> list[str]:
    """The command that runs a container with this config.json (see `bundle`) until its process ends. `directory` is new.

    SIGTERM passes to the container. What it leaves is below `directory`.
    """
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(configuration))
    root = ["--root", str(directory / "state")]
    return [str(runc), *root, "run", "--bundle", str(directory), f"{SUITE}-{uuid.uuid4().hex[:12]}"]


def bundle(
    tree: Path,
    configuration: Mapping[str, Any],
    arguments: Sequence[str],
    mounts: Sequence[tuple[Path, Path]] = (),
    readonly: bool = True,
) -> dict[str, Any]:
    """The config.json of an OCI bundle: no capabilities, no new privileges, nothing to write to but /tmp and the cache.

    `tree` is the unpacked image and `configuration` its `config`; `mounts` are files of the machine and the paths
    where it sees them.
    """
    user, _, group = configuration["User"].partition(":")
    nothing: list[str] = []
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": int(user), "gid": int(group or user)},
            "args": list(arguments),
            "env": list(configuration["Env"]),
            "cwd": configuration.get("WorkingDir") or "/",
            "noNewPrivileges": True,
            "capabilities": dict.fromkeys(("bounding", "effective", "inheritable", "permitted", "ambient"), nothing),
        },
        "root": {"path": str(tree), "readonly": readonly},
        "hostname": SUITE,
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            _memory("/dev", "nosuid", "strictatime", "mode=755", "size=65536k"),
            _memory("/tmp", "nosuid", "nodev", "mode=1777"),
            _memory(str(CACHE), "nosuid", "nodev", f"mode=0700,uid={USER},gid={USER}"),
            *(_bound(path, path) for path in (Path("/etc/resolv.conf"), Path("/etc/hosts"))),
            *(_bound(*each) for each in mounts),
        ],
        "linux": {
            "namespaces": [{"type": each} for each in _NAMESPACES],
            "seccomp": seccomp_rules(json.loads(SECCOMP_PROFILE.read_text()), platform.machine()),
            "maskedPaths": list(_MASKED),
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }


def _memory(path: str, *options: str) -> dict[str, Any]:
    return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": list(options)}


def _bound(source: Path, path: Path) -> dict[str, Any]:
    return {
        "destination": str(path),
        "type": "bind",
        "source": str(source),
        "options": ["bind", "ro", "nosuid", "nodev"],
    }


def seccomp_rules(profile: Mapping[str, Any], machine: str) -> dict[str, Any]:
    """The profile of containers, which has rules for capabilities and architectures, as OCI rules without any capability."""
    name, constant = _ARCHITECTURES[machine]

    def applies(rule: Mapping[str, Any]) -> bool:
        included = rule.get("includes") or {}
        architectures = included.get("arches")
        return not included.get("caps") and (not architectures or name in architectures)

    kept = ("names", "action", "args", "errnoRet")
    rules = [{key: rule[key] for key in kept if rule.get(key)} for rule in profile["syscalls"] if applies(rule)]
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
        "architectures": [constant],
        "syscalls": rules,
    }
