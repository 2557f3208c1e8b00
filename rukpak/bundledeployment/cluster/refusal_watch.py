"""Watches what may have refused an object, so that it is applied again as soon as the refusal may be lifted.

What refuses is not known from the answer of the API server, so all admission policies and webhooks of the cluster are watched,
the quotas, limits and labels of the Namespaces, and the roles and bindings if an account was refused: as metadata alone, and only
while an object is refused. Never reads what they say, and never writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from olmkit.api.meta import Kind, Object
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.inventory import InformerFactory
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.bundledeployment.cluster.shared_watches import SharedWatches

_ADMISSION_GROUP = "admissionregistration.k8s.io"
ADMISSION_KINDS = (
    Kind(_ADMISSION_GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    Kind(_ADMISSION_GROUP, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    Kind(_ADMISSION_GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    Kind(_ADMISSION_GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
)
"""Kinds of the whole cluster. One that the API server does not serve is empty."""
NAMESPACED_KINDS = (
    Kind("", "v1", "ResourceQuota", "resourcequotas", namespaced=True),
    Kind("", "v1", "LimitRange", "limitranges", namespaced=True),
)
PERMISSION_KINDS = (
    Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles"),
    Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings"),
    Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True),
    Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True),
)
"""Kinds of all namespaces, which decide what an account may do."""
CHANGE_DELAY = timedelta(seconds=2)
"""The time from a change to the next attempt: the API server reads changed policies once a second, and a quota changes often."""


class _Source(NamedTuple):
    """Objects that may refuse others: all of a kind, those in a namespace, or one of a name."""

    kind: Kind
    namespace: str = ""
    name: str = ""


class RefusalWatch:
    """Watches the rules that may refuse objects of all BundleDeployments. `changed` is called with the name of the
    BundleDeployment and the time after which it is worth another attempt."""

    def __init__(self, informers: InformerFactory, changed: Callable[[str, timedelta], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._changed_for: set[str] = set()
        self._watches = SharedWatches(informers, self._start)

    async def watch(self, name: str, namespaces: Iterable[str], *, permissions: bool = False) -> None:
        """Watch what may refuse the objects of a BundleDeployment in these namespaces, "" for objects of the whole cluster; and
        the `permissions` of accounts."""
        rules = map(_Source, PERMISSION_KINDS) if permissions else ()
        await self._watches.watch(name, (*_sources(namespaces), *rules))

    def take_change(self, name: str) -> bool:
        """Report whether something has changed since the last call, so that the times between two attempts begin anew."""
        has_changed = name in self._changed_for
        self._changed_for.discard(name)
        return has_changed

    async def forget(self, name: str) -> None:
        """Nothing of the BundleDeployment is refused, or it is deleted."""
        self._changed_for.discard(name)
        await self._watches.forget(name)

    def _start(self, source: _Source) -> Informer:
        informer = self._informers.informer(
            source.kind,
            namespace=source.namespace or None,
            field_selector=f"metadata.name={source.name}" if source.name else None,
            metadata_only=True,
            transform=_version,
            absent_is_empty=True,
        )

        def on_change(change: Change) -> None:
            """Handle a change; ignores the first list, and what does not change a rule."""
            if informer.synced.is_set() and _rule(change.old) != _rule(change.new):
                for name in self._watches.names_of(source):
                    self._changed_for.add(name)
                    self._changed(name, CHANGE_DELAY)

        informer.subscribe(on_change)
        return informer


def _sources(namespaces: Iterable[str]) -> Iterator[_Source]:
    named = sorted(namespaces)
    if named:
        yield from map(_Source, ADMISSION_KINDS)
    for namespace in filter(None, named):
        yield from (_Source(kind, namespace) for kind in NAMESPACED_KINDS)
        yield _Source(NAMESPACES, name=namespace)


def _version(obj: Object) -> Object:
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in ("generation", "labels") if key in metadata}
    return {"kind": obj.get("kind", ""), "metadata": kept}


def _rule(obj: Object | None) -> object:
    """The fields that identify the state of a rule. The status of a policy is no part of it; that of a quota is its usage, and a
    quota has no generation."""
    if obj is None:
        return None
    metadata = obj["metadata"]
    return metadata["uid"], metadata.get("labels"), metadata.get("generation", metadata["resourceVersion"])
