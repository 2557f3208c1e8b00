"""Checks what must hold before a command changes anything: the version of Kubernetes, and the permissions of the user.

Creates reviews only, which the API server answers and does not store.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.questions.port_forward import POD
from olmctl.suite.controllers import FOLLOWED, REPLICA_SET
from olmctl.suite.installed import KEPT_KINDS
from olmctl.suite.manifests import Manifests
from olmctl.suite.objects import MAX_CONCURRENT_REQUESTS, kind_of
from olmctl.suite.removal import CUSTOM_KINDS
from olmkit.api.meta import Kind
from olmkit.api.package_manifests import API_SERVICE
from olmkit.runtime.access_reviews import is_allowed
from olmkit.runtime.client import Client
from olmkit.runtime.lease_holder import LEASE
from olmkit.tls.service import CONFIG_MAP

MINIMUM_KUBERNETES = (1, 28)
"""The match conditions of webhooks need it: an older version would ask them about every write."""
_EVERY_KIND = Kind("*", "*", "*", "*")
_ROLES = ("Role", "ClusterRole")
Permission = tuple[str, Kind]
"""A verb, and the kind whose objects it concerns, in all namespaces."""
_PATTERN = re.compile(r"v?(\d+)\.(\d+)")


async def check_version(client: Client) -> None:
    """Raises CommandError if the cluster is too old."""
    version = await client.version()
    found = _PATTERN.match(version)
    if found is not None and (int(found[1]), int(found[2])) < MINIMUM_KUBERNETES:
        minimum = ".".join(map(str, MINIMUM_KUBERNETES))
        raise CommandError(FAILED, f"the cluster runs Kubernetes {version}: olm-suite needs {minimum} or later")


def install_permissions(manifests: Manifests) -> list[Permission]:
    """The permissions for `olm suite install`: it applies objects, waits for them and for leaders, and deletes what the version
    before had."""
    kinds = dict.fromkeys(map(kind_of, (*manifests.all, *manifests.v1)))
    wanted = [(verb, kind) for kind in kinds for verb in ("get", "list", "watch", "create", "patch")]
    wanted += [(verb, kind) for kind in kinds for verb in ("escalate", "bind") if kind.kind in _ROLES]
    wanted += [("delete", kind) for kind in kinds if kind.kind not in KEPT_KINDS]
    wanted += _of(API_SERVICE, "get", "list")
    return [*wanted, *((verb, kind) for kind in FOLLOWED if kind not in kinds for verb in ("list", "watch"))]


def uninstall_permissions(manifests: Manifests) -> list[Permission]:
    """The permissions for `olm suite uninstall`: it deletes objects and waits for their end, removes finalizers of stopped
    controllers, and names what else is in the namespaces."""
    kinds = dict.fromkeys(map(kind_of, (*manifests.all, *manifests.v1)))
    wanted = [(verb, kind) for kind in kinds for verb in ("get", "list", "watch", "delete")]
    wanted += [(verb, kind) for kind in CUSTOM_KINDS for verb in ("list", "watch", "delete", "patch")]
    wanted += [*_of(POD, "list", "watch"), *_of(REPLICA_SET, "list", "watch"), *_of(LEASE, "list", "watch", "delete")]
    wanted += _of(API_SERVICE, "get", "list", "watch", "delete")
    return [*wanted, *_of(CONFIG_MAP, "delete"), *_of(_EVERY_KIND, "list")]


def _of(kind: Kind, *verbs: str) -> list[Permission]:
    return [(verb, kind) for verb in verbs]


async def check_permissions(client: Client, wanted: Sequence[Permission]) -> None:
    """Raises CommandError that names what the user may not do. rukpak's role has all permissions: granting it needs `escalate`,
    or these permissions themselves."""
    if await _is_allowed(client, "*", _EVERY_KIND):
        return
    limit = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def one(verb: str, kind: Kind) -> bool:
        async with limit:
            return await _is_allowed(client, verb, kind)

    allowed = await asyncio.gather(*(one(*each) for each in wanted))
    missing: dict[str, list[str]] = {}
    for (verb, kind), may in zip(wanted, allowed, strict=True):
        if not may:
            missing.setdefault(f"{kind.plural}{'.' if kind.group else ''}{kind.group}", []).append(verb)
    if missing:
        texts = (f"{', '.join(denied)} {resource}" for resource, denied in missing.items())
        raise CommandError(REFUSED, f"the user may not {'; '.join(texts)}: this needs the permissions of cluster-admin")


async def _is_allowed(client: Client, verb: str, kind: Kind) -> bool:
    attributes = {"verb": verb, "group": kind.group, "resource": kind.plural}
    return await is_allowed(client, {"resourceAttributes": attributes})
