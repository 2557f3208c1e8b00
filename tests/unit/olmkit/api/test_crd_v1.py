"""The schemas of the kinds of OLM v1: each field with its type, its limits and its default, as clients of OLM v1 know them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from olmkit.api.crd import V1_DEFINITIONS, CrdDefinition, custom_resource_definition

CATALOG, EXTENSION = V1_DEFINITIONS
CONDITIONS = {
    "status.conditions": "array type",
    "status.conditions[].type": "string! <=316 pattern",
    "status.conditions[].status": "string! True|False|Unknown",
    "status.conditions[].reason": "string! >=1 <=1024 pattern",
    "status.conditions[].message": "string! <=32768",
    "status.conditions[].observedGeneration": "integer int64 >=-1",
    "status.conditions[].lastTransitionTime": "string! date-time",
}
FIELDS: dict[str, dict[str, str]] = {
    "ClusterCatalog": {
        "spec": "object!",
        "spec.source": "object! 1 rule",
        "spec.source.type": "string! Image",
        "spec.source.image": "object 1 rule",
        "spec.source.image.ref": "string! <=1000 8 rules",
        "spec.source.image.pollIntervalMinutes": "integer >=1",
        "spec.priority": "integer int32 >=-2147483648 <=2147483647 default 0",
        "spec.availabilityMode": "string Available|Unavailable default Available",
        "status": "object",
        **CONDITIONS,
        "status.resolvedSource": "object 1 rule",
        "status.resolvedSource.type": "string! Image",
        "status.resolvedSource.image": "object!",
        "status.resolvedSource.image.ref": "string! <=1000 6 rules",
        "status.urls": "object",
        "status.urls.base": "string! <=525 2 rules",
        "status.lastUnpacked": "string date-time",
    },
    "ClusterExtension": {
        "spec": "object!",
        "spec.namespace": "string! <=63 2 rules",
        "spec.serviceAccount": "object >=1",
        "spec.serviceAccount.name": "string >=1 <=253 2 rules",
        "spec.source": "object! 1 rule",
        "spec.source.sourceType": "string! Catalog",
        "spec.source.catalog": "object",
        "spec.source.catalog.packageName": "string! <=253 2 rules",
        "spec.source.catalog.version": "string <=64 1 rule",
        "spec.source.catalog.channels": "array <=256",
        "spec.source.catalog.channels[]": "string <=253 1 rule",
        "spec.source.catalog.selector": "object",
        "spec.source.catalog.selector.matchLabels": "object",
        "spec.source.catalog.selector.matchExpressions": "array",
        "spec.source.catalog.selector.matchExpressions[].key": "string!",
        "spec.source.catalog.selector.matchExpressions[].operator": "string!",
        "spec.source.catalog.selector.matchExpressions[].values": "array",
        "spec.source.catalog.selector.matchExpressions[].values[]": "string",
        "spec.source.catalog.upgradeConstraintPolicy": "string CatalogProvided|SelfCertified default CatalogProvided",
        "spec.install": "object 1 rule",
        "spec.install.preflight": "object 1 rule",
        "spec.install.preflight.crdUpgradeSafety": "object!",
        "spec.install.preflight.crdUpgradeSafety.enforcement": "string! None|Strict",
        "spec.config": "object 1 rule",
        "spec.config.configType": "string! Inline",
        "spec.config.inline": "object >=1 any",
        "spec.progressDeadlineMinutes": "integer int32 >=10 <=720",
        "status": "object",
        **CONDITIONS,
        "status.install": "object",
        "status.install.bundle": "object!",
        "status.install.bundle.name": "string! 1 rule",
        "status.install.bundle.version": "string! 1 rule",
    },
}


def words(field: dict[str, Any]) -> Iterator[str]:
    """What a schema demands of the value of a field."""
    yield from filter(None, [field.get("format"), "|".join(field.get("enum", ()))])
    yield from (f">={field[key]}" for key in ("minLength", "minProperties", "minimum") if key in field)
    yield from (f"<={field[key]}" for key in ("maxLength", "maxItems", "maximum") if key in field)
    yield from field.get("x-kubernetes-list-map-keys", ())
    if "pattern" in field:
        yield "pattern"
    if field.get("x-kubernetes-preserve-unknown-fields"):
        yield "any"
    if rules := len(field.get("x-kubernetes-validations", ())):
        yield "1 rule" if rules == 1 else f"{rules} rules"
    if "default" in field:
        yield f"default {field['default']}"


def fields(path: str, field: dict[str, Any], is_required: bool) -> Iterator[tuple[str, str]]:
    """(path, type and demands) of a field and of all below it; `!` is that of a required one."""
    yield path, " ".join((field["type"] + "!" * is_required, *words(field)))
    for parent, schema in ((path, field), (f"{path}[]", field.get("items", {}))):
        for name, inner in schema.get("properties", {}).items():
            yield from fields(f"{parent}.{name}", inner, name in schema.get("required", ()))
    if "items" in field and "properties" not in field["items"]:
        yield from fields(f"{path}[]", field["items"], is_required=False)


def version(definition: CrdDefinition) -> dict[str, Any]:
    (found,) = custom_resource_definition(definition)["spec"]["versions"]
    return dict(found)


@pytest.mark.parametrize("definition", V1_DEFINITIONS, ids=lambda each: each.kind.kind)
def test_each_field(definition: CrdDefinition) -> None:
    schema = version(definition)["schema"]["openAPIV3Schema"]
    found = [pair for part in ("spec", "status") for pair in fields(part, schema["properties"][part], part == "spec")]
    assert dict(found) == FIELDS[definition.kind.kind]
    assert schema["required"] == ["metadata", "spec"]


@pytest.mark.parametrize(
    ("definition", "columns"),
    [
        (
            CATALOG,
            {
                "LastUnpacked": ("date", ".status.lastUnpacked"),
                "Serving": ("string", '.status.conditions[?(@.type=="Serving")].status'),
                "Age": ("date", ".metadata.creationTimestamp"),
            },
        ),
        (
            EXTENSION,
            {
                "Installed Bundle": ("string", ".status.install.bundle.name"),
                "Version": ("string", ".status.install.bundle.version"),
                "Installed": ("string", '.status.conditions[?(@.type=="Installed")].status'),
                "Progressing": ("string", '.status.conditions[?(@.type=="Progressing")].status'),
                "Age": ("date", ".metadata.creationTimestamp"),
            },
        ),
    ],
    ids=lambda each: each.kind.kind if isinstance(each, CrdDefinition) else "",
)
def test_names_and_columns(definition: CrdDefinition, columns: dict[str, tuple[str, str]]) -> None:
    found, kind = custom_resource_definition(definition), definition.kind
    assert found["metadata"]["name"] == f"{kind.plural}.olm.operatorframework.io"
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": kind.kind.lower()}
    assert found["spec"]["names"] == names
    served = version(definition)
    assert (served["name"], served["subresources"]) == ("v1", {"status": {}})
    shown = {each["name"]: (each["type"], each["jsonPath"]) for each in served["additionalPrinterColumns"]}
    assert list(shown.items()) == list(columns.items())


def test_the_minimum_of_the_deadline_is_where_tests_of_olm_v1_patch_it() -> None:
    spec: dict[str, Any] = custom_resource_definition(EXTENSION)["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["progressDeadlineMinutes"]["minimum"] == 10
