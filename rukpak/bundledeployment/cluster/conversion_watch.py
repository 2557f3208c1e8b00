"""Watches the Services of conversion webhooks, so that the status says when nobody converts custom resources.

Called by rukpak.bundledeployment.observe for the CustomResourceDefinitions of a BundleDeployment whose custom resources have
several versions and a webhook at a Service. Whoever brings the Service, it is watched by its name, with its EndpointSlices, as
long as the definition is installed. Whether the webhook answers as it should is not known. Never writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from olmkit.api.customresourcedefinitions import Conversion, CustomResourceDefinition
from olmkit.api.meta import Kind, Object
from olmkit.gocompat.text import list_names
from olmkit.runtime.api_server_addresses import ENDPOINT_SLICES
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.inventory import InformerFactory
from rukpak.bundledeployment.cluster.shared_watches import SharedWatches
from rukpak.bundledeployment.cluster.webhook_endpoints import SERVICE_LABEL, has_endpoint
from rukpak.bundledeployment.world import CRD, World
from rukpak.format.objects import ObjectKey, mapping

SERVICES = Kind("", "v1", "Service", "services", namespaced=True)
EXTERNAL_NAME = "ExternalName"
"""The type of a Service that is another host, and has no endpoints."""
_FACT = "fact"


class _Source(NamedTuple):
    """A Service, or the EndpointSlices of one."""

    kind: Kind
    namespace: str
    service: str


class ConversionWatch:
    """The Services of all BundleDeployments. `changed` is called with the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._watches = SharedWatches(informers, self._start)

    async def problems(self, world: World) -> dict[ObjectKey, str]:
        """Explain why nobody converts the custom resources of its CustomResourceDefinitions, for messages. Watches their
        Services, and no others."""
        found = {
            key: crd for key in world.owned if (crd := world.crds.get(key.name)) is not None and _is_converted(key, crd)
        }
        wanted = {
            _Source(kind, *_service(crd.conversion)) for crd in found.values() for kind in (SERVICES, ENDPOINT_SLICES)
        }
        watched = await self._watches.watch(world.name, wanted)
        problems = {key: _problem(crd, watched) for key, crd in found.items()}
        return {key: problem for key, problem in problems.items() if problem}

    async def forget(self, name: str) -> None:
        """The BundleDeployment is deleted."""
        await self._watches.forget(name)

    def _start(self, source: _Source) -> Informer:
        by_name = source.kind is SERVICES
        informer = self._informers.informer(
            source.kind,
            namespace=source.namespace,
            field_selector=f"metadata.name={source.service}" if by_name else None,
            label_selector=None if by_name else f"{SERVICE_LABEL}={source.service}",
            transform=_service_fact if by_name else _slice_fact,
            absent_is_empty=True,
        )

        def on_change(change: Change) -> None:
            """Handle a change; ignores what leaves the same fact. The first list may come after the pass that waits for it."""
            old, new = ((obj or {}).get(_FACT) for obj in (change.old, change.new))
            if old != new:
                for name in self._watches.names_of(source):
                    self._changed(name)

        informer.subscribe(on_change)
        return informer


def _is_converted(key: ObjectKey, crd: CustomResourceDefinition) -> bool:
    """Report whether the API server may ask a Service to convert its custom resources."""
    return key[:2] == CRD and crd.conversion.is_webhook and bool(crd.conversion.service and crd.converted_versions)


def _service(conversion: Conversion) -> tuple[str, str]:
    return conversion.namespace, conversion.service


def _problem(crd: CustomResourceDefinition, watched: Mapping[_Source, Informer]) -> str:
    named = _service(crd.conversion)
    services, slices = (watched[_Source(kind, *named)] for kind in (SERVICES, ENDPOINT_SLICES))
    types = [obj[_FACT] for obj in services.objects.values()]
    if EXTERNAL_NAME in types or (types and any(obj[_FACT] for obj in slices.objects.values())):
        return ""
    why = "has no ready endpoint; see to the pods that it selects"
    if not types:
        why = "does not exist; create the Service, or install what brings it"
    versions = list_names(crd.converted_versions, " and ")
    return f"nobody converts its custom resources between {versions}: its webhook is at {crd.conversion}, which {why}"


def _service_fact(obj: Object) -> Object:
    """The type of a Service."""
    return {"metadata": _named(obj), _FACT: mapping(obj.get("spec")).get("type", "")}


def _slice_fact(obj: Object) -> Object:
    """Make the object that shows whether an endpoint of an EndpointSlice is ready."""
    return {"metadata": _named(obj), _FACT: has_endpoint(obj)}


def _named(obj: Object) -> Object:
    return {name: obj["metadata"][name] for name in ("name", "namespace", "uid", "resourceVersion")}
