"""The webhookdefinitions of a ClusterServiceVersion: from webhook configurations, from conversions of CustomResourceDefinitions,
and from the Services that they name. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from olmctl.project.collection import DEPLOYMENT, MUTATING, SERVICE, VALIDATING, Collection, Typed

_HTTPS: Final = 443
IGNORED_FIELDS: Final = ("namespaceSelector", "matchConditions")
"""Fields of webhooks that a ClusterServiceVersion has no place for: they are kept in the file, and OLM ignores them."""
_COPIED: Final = (
    *("rules", "failurePolicy", "matchPolicy", "objectSelector", "timeoutSeconds", "reinvocationPolicy"),
    *IGNORED_FIELDS,
)
_KINDS: Final = ((VALIDATING, "ValidatingAdmissionWebhook"), (MUTATING, "MutatingAdmissionWebhook"))


def webhook_definitions(collection: Collection) -> tuple[list[dict[str, Any]], list[str]]:
    """The definitions, and notes about webhooks that OLM will run differently."""
    found: list[dict[str, Any]] = []
    notes: list[str] = []
    seen: list[tuple[str, Any]] = []
    for kind, type_name in _KINDS:
        for configuration in collection.of(kind):
            for index, webhook in enumerate(configuration.value.get("webhooks") or []):
                if (type_name, webhook) not in seen:
                    seen.append((type_name, webhook))
                    found.append(_admission(collection, webhook, type_name))
                    place = f"{configuration.manifest.file}:{configuration.manifest.line_of(('webhooks', index))}"
                    notes += _notes(collection, webhook, place)
    for service in collection.of(SERVICE):
        found += _conversions(collection, service)
    return sorted(found, key=lambda each: str(each["generateName"])), notes


def _admission(collection: Collection, webhook: Mapping[str, Any], type_name: str) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "type": type_name,
        "generateName": webhook["name"],
        "sideEffects": webhook["sideEffects"] or "None",
        "admissionReviewVersions": webhook["admissionReviewVersions"] or ["v1beta1"],
        **{name: webhook[name] for name in _COPIED if name in webhook},
    }
    reference = webhook["clientConfig"].get("service")
    if reference is None:
        return definition
    service = _named(collection, reference["name"])
    definition |= _ports(service, reference.get("port", _HTTPS))
    definition["deploymentName"] = _selected(collection, service) or reference["name"].removesuffix("-service")
    if "path" in reference:
        definition["webhookPath"] = reference["path"]
    return definition


def _notes(collection: Collection, webhook: Mapping[str, Any], place: str) -> Iterable[str]:
    name = webhook["name"]
    for field in IGNORED_FIELDS:
        if webhook.get(field):
            yield f"{place}: webhook {name}: its {field} is kept, but OLM ignores it"
    reference = webhook["clientConfig"].get("service")
    if reference is None:
        yield f"{place}: webhook {name}: it names no Service, so OLM does not know which Deployment serves it"
        return
    service = _named(collection, reference["name"])
    if service is None:
        yield f"{place}: webhook {name}: the Service {reference['name']} is not in the input"
    elif not _selected(collection, service):
        yield f"{place}: webhook {name}: the Service {service.name} selects no Deployment of the input"


def _named(collection: Collection, name: str) -> Typed | None:
    return next((each for each in collection.of(SERVICE) if each.name == name), None)


def _ports(service: Typed | None, wanted: int) -> dict[str, Any]:
    ports = service.spec.get("ports") or [] if service is not None else []
    port = next((each for each in ports if each["port"] == wanted), None)
    return {} if port is None else {"containerPort": port["port"], "targetPort": port["targetPort"]}


def _selected(collection: Collection, service: Typed | None) -> str:
    """The Deployment whose pods the Service selects; "" if there is none."""
    if service is None or service.spec.get("type") == "ExternalName" or not service.spec.get("selector"):
        return ""
    return _deployment(collection, service.spec["selector"])


def _deployment(collection: Collection, selector: Mapping[str, str]) -> str:
    for deployment in collection.of(DEPLOYMENT):
        labels = deployment.spec["template"]["metadata"].get("labels") or {}
        if labels and selector.items() <= labels.items():
            return deployment.name
    return ""


def _conversions(collection: Collection, service: Typed) -> Iterable[dict[str, Any]]:
    """One webhook for each port and path at which the Service converts custom resources."""
    groups: dict[tuple[int | None, str | None], list[tuple[str, Any]]] = {}
    for crd in collection.crds:
        reference, versions = _conversion(crd)
        if reference is not None and reference["name"] == service.name:
            groups.setdefault((reference.get("port"), reference.get("path")), []).append((crd.name, versions))
    for (port, path), members in groups.items():
        names = sorted(name for name, _ in members)
        yield {
            "type": "ConversionWebhook",
            "conversionCRDs": names,
            "admissionReviewVersions": dict(members)[names[0]],
            "deploymentName": _deployment(collection, service.spec.get("selector") or {})
            or service.name.removesuffix("-service"),
            "generateName": f"c{''.join(name.split('.')[0] for name in names)}.kb.io",
            "sideEffects": "None",
            **({} if path is None else {"webhookPath": path}),
            **_ports(service, _HTTPS if port is None else port),
        }


def _conversion(crd: Typed) -> tuple[Any, Any]:
    """The Service that converts, and the versions of reviews that it understands."""
    conversion = crd.spec.get("conversion") or {}
    if crd.manifest.version == "v1":
        conversion = conversion.get("webhook") or {}
        client = conversion.get("clientConfig") or {}
    else:
        client = conversion.get("webhookClientConfig") or {}
    return client.get("service"), conversion.get("conversionReviewVersions")
