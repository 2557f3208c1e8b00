"""What must hold before a command changes anything: the version of Kubernetes, and the permissions of the user.

Called by olmctl.suite.install and olmctl.suite.uninstall. Creates reviews only, which the API server answers and does not store.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.suite.objects import MAX_CONCURRENT_REQUESTS
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client

MINIMUM_KUBERNETES = (1, 27)
"""CEL rules of the CRDs, and field ownership of status, need it."""
REVIEW = Kind("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews")
_ROLES = ("Role", "ClusterRole")
_PATTERN = re.compile(r"v?(\d+)\.(\d+)")


async def check_version(client: Client) -> None:
    """Raises CommandError if the cluster is too old."""
    version = await client.version()
    found = _PATTERN.match(version)
    if found is not None and (int(found[1]), int(found[2])) < MINIMUM_KUBERNETES:
        minimum = ".".join(map(str, MINIMUM_KUBERNETES))
        raise CommandError(FAILED, f"the cluster runs Kubernetes {version}: olm-suite needs {minimum} or later")


async def check_permissions(client: Client, kinds: Iterable[Kind], verbs: Sequence[str]) -> None:
    """Raises CommandError that names what the user may not do. rukpak's role has all permissions: granting it needs `escalate`,
    or these permissions themselves."""
    kinds = tuple(dict.fromkeys(kinds))
    wanted = [(verb, kind) for kind in kinds for verb in verbs]
    if "create" in verbs and not await _is_allowed(client, "*", Kind("*", "*", "*", "*")):
        wanted += [(verb, kind) for kind in kinds if kind.kind in _ROLES for verb in ("escalate", "bind")]
    limit = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def one(verb: str, kind: Kind) -> bool:
        async with limit:
            return await _is_allowed(client, verb, kind)

    allowed = await asyncio.gather(*(one(*each) for each in wanted))
    missing: dict[str, list[str]] = {}
    for (verb, kind), is_allowed in zip(wanted, allowed, strict=True):
        if not is_allowed:
            missing.setdefault(f"{kind.plural}{'.' if kind.group else ''}{kind.group}", []).append(verb)
    if missing:
        texts = (f"{', '.join(denied)} {resource}" for resource, denied in missing.items())
        raise CommandError(REFUSED, f"the user may not {'; '.join(texts)}: this needs the permissions of cluster-admin")


async def _is_allowed(client: Client, verb: str, kind: Kind) -> bool:
    attributes = {"verb": verb, "group": kind.group, "resource": kind.plural}
    body = {"apiVersion": REVIEW.api_version, "kind": REVIEW.kind, "spec": {"resourceAttributes": attributes}}
    answer = await client.create(REVIEW, body)
    return bool(answer["status"]["allowed"])
