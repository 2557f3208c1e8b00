"""Lists what the namespaces of the suite contain that is not the suite's, such as pull secrets: it would be deleted with them.

Reads metadata only, so that no Secret's data leaves the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from olmctl.questions.operator_state import part, text_at
from olmctl.suite.manifests import Manifests
from olmctl.suite.objects import MAX_CONCURRENT_REQUESTS, find, is_own, resource_name
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.service import TLS_SERVICES

MAX_NAMES_SHOWN = 20
METRICS_GROUP = "metrics.k8s.io"
"""The group, and the end of the names of groups, whose objects are figures."""
_IGNORED_KINDS = frozenset({"Event", "Endpoints", "EndpointSlice", "Lease"})
"""Kinds whose objects are about other objects: deleting them loses nothing."""
_MADE_BY_KUBERNETES = frozenset(
    {
        *(("ServiceAccount", name) for name in ("default", "builder", "deployer")),
        *(("ConfigMap", name) for name in ("kube-root-ca.crt", "openshift-service-ca.crt")),
    }
)
"""In each namespace, also those of OpenShift."""
_MADE_BY_CONTROLLERS = frozenset(
    {*(("Secret", each.secret) for each in TLS_SERVICES), *(("ConfigMap", each.config_map) for each in TLS_SERVICES)}
)
"""By name: people copy the labels of the suite to Secrets and ConfigMaps of their own."""
_ACCOUNT = "kubernetes.io/service-account.name"
"""The annotation of a Secret with a token that Kubernetes has made for a ServiceAccount."""
_METHOD_NOT_ALLOWED = 405


@dataclass(frozen=True)
class Contents:
    """The contents of a namespace that are not the suite's: names of objects, and sentences about what cannot be listed."""

    namespace: str
    objects: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The reason why the namespace stays; "" if nothing is in it."""
        more = len(self.objects) - MAX_NAMES_SHOWN
        shown = [*self.objects[:MAX_NAMES_SHOWN], *([f"{more} more"] if more > 0 else ()), *self.unknown]
        if not shown:
            return ""
        return (
            f"namespace/{self.namespace} stays, for what is not olm-suite's in it: {', '.join(shown)}. "
            f"`kubectl delete namespace {self.namespace}` deletes it with them"
        )


async def kept_namespaces(client: Client, manifests: Manifests) -> list[Contents]:
    """The namespaces of the suite that contain objects of others."""
    found = [await find(client, each) for each in manifests.namespaces]
    own = [each["metadata"]["name"] for each in found if each is not None and is_own(each)]
    contents = [await _contents(client, each, manifests) for each in own]
    return [each for each in contents if each.text]


async def _contents(client: Client, namespace: str, manifests: Manifests) -> Contents:
    discovery = await client.discover()
    can_be_lost = discovery.listable & discovery.deletable
    kinds = [
        kind
        for (group, _), kind in discovery.kinds.items()
        if kind.namespaced and (group, kind.version, kind.kind) in can_be_lost and kind.kind not in _IGNORED_KINDS
    ]
    limit = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def listed(kind: Kind) -> list[Object]:
        async with limit:
            try:
                return (await client.list(kind, namespace, metadata_only=True))[0]
            except NotFound:
                return []
            except ApiError as error:
                if error.status == _METHOD_NOT_ALLOWED:
                    return []
                raise

    found = zip(kinds, await asyncio.gather(*map(listed, kinds)), strict=True)
    names = {
        resource_name(kind, each) for kind, objects in found for each in objects if _is_of_others(kind, each, manifests)
    }
    unknown = (
        f"objects of the API group {group}, which does not answer"
        for group in sorted(discovery.failed_groups)
        if not group.endswith(METRICS_GROUP)
    )
    return Contents(namespace, tuple(sorted(names)), tuple(unknown))


def _is_of_others(kind: Kind, obj: Object, manifests: Manifests) -> bool:
    """Report whether someone would miss the object. What has an owner goes and stays with it."""
    metadata = obj["metadata"]
    place = kind.kind, metadata["name"]
    if metadata.get("ownerReferences") or place in _MADE_BY_KUBERNETES or place in _MADE_BY_CONTROLLERS:
        return False
    own = {(each["kind"], each["metadata"]["name"]) for each in (*manifests.objects, *manifests.v1)}
    if is_own(obj) and (place in own or kind.kind in {each for each, _ in own} - {SECRET.kind}):
        return False
    account = text_at(part(metadata, "annotations"), _ACCOUNT)
    return not (kind.kind == "Secret" and account and _is_account_of_suite(account, manifests.objects))


def _is_account_of_suite(name: str, objects: Iterable[Object]) -> bool:
    accounts = {("ServiceAccount", each["metadata"]["name"]) for each in objects if each["kind"] == "ServiceAccount"}
    return ("ServiceAccount", name) in accounts | _MADE_BY_KUBERNETES
