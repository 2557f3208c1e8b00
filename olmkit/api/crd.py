"""Makes structural CustomResourceDefinitions of the API models.

Never connects to a cluster. CRD_DEFINITIONS and V1_DEFINITIONS have the names, columns and rules that are not in the models.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from olmkit.api import (
    bundledeployments,
    bundles,
    catalogs,
    clustercatalogs,
    clusterextensions,
    operator_condition_names,
    operator_conditions,
    operators,
    packages,
)
from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION, VERSION_ANNOTATION
from olmkit.api.content import SourceType, source_rules
from olmkit.api.meta import Kind, Resource
from olmkit.api.package_annotations import CHANNELS_ANNOTATION, LATEST_VERSION_ANNOTATION, VERSIONS_ANNOTATION
from olmkit.api.v1_rules import API_DEFAULT
from olmkit.gocompat.yaml_dumper import TreeDumper


@dataclass(frozen=True)
class PrinterColumn:
    """A column of `kubectl get`; priority 1 is shown by `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


def _condition(name: str, aspect: str, *, of: str = "status", priority: int = 0) -> PrinterColumn:
    return PrinterColumn(name, f'.status.conditions[?(@.type=="{aspect}")].{of}', priority=priority)


def _annotation(name: str) -> str:
    """The path of an annotation."""
    return ".metadata.annotations." + name.replace(".", r"\.")


AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
SIGNED_BY = PrinterColumn("Signed by", ".status.signedBy['key','subject']", priority=1)
"""A signer has one of the two: kubectl shows the one that is there."""
MESSAGE = _condition("Message", "Ready", of="message", priority=1)


@dataclass(frozen=True)
class CrdDefinition:
    """One CRD. `rules` are CEL rules on the whole object: (rule, message)."""

    kind: Kind
    model: type[Resource]
    short_names: tuple[str, ...]
    columns: tuple[PrinterColumn, ...]
    name_limit: int = 253
    spec_rules: tuple[tuple[str, str], ...] = ()
    source_rules: tuple[tuple[str, str], ...] = ()
    has_webhook: bool = False
    """True if a webhook says what is wrong with the members of the source, with the directory of a repository, and with the paths
    of ConfigMaps."""
    reconciled: bool = True
    status_default: bool = True
    """False if the API server writes no status into a new object."""
    required: tuple[str, ...] = ("spec",)
    categories: tuple[str, ...] = field(default=("olm",))


BUNDLE_SOURCE_RULES = source_rules(*SourceType)
CATALOG_SOURCE_RULES = source_rules(SourceType.IMAGE, SourceType.GIT, SourceType.HTTP, SourceType.CONFIG_MAPS)

CRD_DEFINITIONS = (
    CrdDefinition(
        catalogs.KIND,
        catalogs.Catalog,
        ("ocat",),
        (
            _condition("Ready", "Ready"),
            _condition("Reason", "Ready", of="reason"),
            PrinterColumn("Priority", ".spec.priority", "integer"),
            PrinterColumn("Packages", ".status.packageCount", "integer"),
            PrinterColumn("Digest", ".status.shortDigest"),
            PrinterColumn("Unpacked", ".status.lastUnpacked", "date"),
            AGE,
            PrinterColumn("Source", ".spec.source.type", priority=1),
            PrinterColumn("Image", ".spec.source.image.ref", priority=1),
            PrinterColumn("Poll", ".spec.source.image.pollInterval", priority=1),
            PrinterColumn("Content", ".status.contentDigest", priority=1),
            SIGNED_BY,
            PrinterColumn("Display name", ".spec.displayName", priority=1),
            PrinterColumn("Publisher", ".spec.publisher", priority=1),
            MESSAGE,
        ),
        name_limit=63,
        source_rules=CATALOG_SOURCE_RULES,
    ),
    CrdDefinition(
        packages.KIND,
        packages.Package,
        ("opkg",),
        (
            PrinterColumn("Package", ".spec.packageName"),
            PrinterColumn("Catalog", ".spec.catalog.name"),
            PrinterColumn("Default channel", ".spec.defaultChannel"),
            PrinterColumn("Latest", _annotation(LATEST_VERSION_ANNOTATION)),
            PrinterColumn("Channels", _annotation(CHANNELS_ANNOTATION)),
            AGE,
            PrinterColumn("Versions", _annotation(VERSIONS_ANNOTATION), priority=1),
        ),
        reconciled=False,
    ),
    CrdDefinition(
        operators.KIND,
        operators.Operator,
        ("oop",),
        (
            _condition("Ready", "Ready"),
            _condition("Reason", "Ready", of="reason"),
            PrinterColumn("Package", ".spec.packageName"),
            PrinterColumn("Version", ".status.installed.version"),
            PrinterColumn("Wanted", ".status.wantedVersion"),
            PrinterColumn("Available", ".status.available.version"),
            PrinterColumn("Channel", ".status.installed.channel"),
            AGE,
            PrinterColumn("Asked", ".spec.version", priority=1),
            PrinterColumn("Catalog", ".status.installed.catalog", priority=1),
            PrinterColumn("Bundle", ".status.installedBundleResource", priority=1),
            MESSAGE,
        ),
        name_limit=operators.MAX_NAME_LENGTH,
    ),
    CrdDefinition(
        bundles.KIND,
        bundles.Bundle,
        ("bun",),
        (
            _condition("Ready", "Ready"),
            PrinterColumn("Package", _annotation(PACKAGE_ANNOTATION)),
            PrinterColumn("Version", _annotation(VERSION_ANNOTATION)),
            PrinterColumn("Type", ".spec.source.type"),
            PrinterColumn("Phase", ".status.phase"),
            AGE,
            PrinterColumn("Provisioner", ".spec.provisionerClassName", priority=1),
            PrinterColumn("Resolved source", ".status.resolvedSource.image.ref", priority=1),
            PrinterColumn("Commit", ".status.resolvedSource.git.commit", priority=1),
            PrinterColumn("Chart", ".status.chart.name", priority=1),
            PrinterColumn("Chart version", ".status.chart.version", priority=1),
            PrinterColumn("Content", ".status.contentDigest", priority=1),
            SIGNED_BY,
            MESSAGE,
        ),
        name_limit=bundles.MAX_NAME_LENGTH,
        has_webhook=True,
    ),
    CrdDefinition(
        bundledeployments.KIND,
        bundledeployments.BundleDeployment,
        ("bd", "bds"),
        (
            _condition("Ready", "Ready"),
            PrinterColumn("Active bundle", ".status.activeBundle"),
            _condition("Install state", "Installed", of="reason"),
            AGE,
            PrinterColumn("Namespace", ".status.installNamespace", priority=1),
            PrinterColumn("Provisioner", ".spec.provisionerClassName", priority=1),
            MESSAGE,
        ),
        name_limit=bundledeployments.MAX_NAME_LENGTH,
        spec_rules=((bundledeployments.VALUES_RULE, bundledeployments.VALUES_WITH_ACCOUNT),),
        source_rules=BUNDLE_SOURCE_RULES,
    ),
)

V1_DEFINITIONS = (
    CrdDefinition(
        clustercatalogs.KIND,
        clustercatalogs.ClusterCatalog,
        (),
        (
            PrinterColumn("LastUnpacked", ".status.lastUnpacked", "date"),
            _condition("Serving", "Serving"),
            AGE,
        ),
        name_limit=clustercatalogs.MAX_NAME_LENGTH,
        status_default=False,
        required=("metadata", "spec"),
        categories=(),
    ),
    CrdDefinition(
        clusterextensions.KIND,
        clusterextensions.ClusterExtension,
        (),
        (
            PrinterColumn("Installed Bundle", ".status.install.bundle.name"),
            PrinterColumn("Version", ".status.install.bundle.version"),
            _condition("Installed", "Installed"),
            _condition("Progressing", "Progressing"),
            AGE,
        ),
        status_default=False,
        required=("metadata", "spec"),
        categories=(),
    ),
)
"""The kinds of OLM v1, which are no part of every installation. Clients know their columns; they have no other names."""

_OPERATOR_CONDITION_COLUMNS = (
    _condition("Upgradeable", operator_condition_names.UPGRADEABLE),
    PrinterColumn("Override", f'.spec.overrides[?(@.type=="{operator_condition_names.UPGRADEABLE}")].status'),
    AGE,
    _condition("Message", operator_condition_names.UPGRADEABLE, of="message", priority=1),
)
_DROPPED = ("title", "discriminator")
_CONDITION_LISTS = {"conditions", "overrides"}
"""The fields of an OperatorCondition with conditions."""


def structural_schema(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A pydantic JSON schema as a structural one: references inlined, `X | None` as X, constants as enums."""
    if "$ref" in schema:
        target = definitions[schema["$ref"].rsplit("/", 1)[1]]
        return structural_schema(
            {**target, **{key: value for key, value in schema.items() if key != "$ref"}}, definitions
        )
    if "anyOf" in schema:
        real = [option for option in schema["anyOf"] if option.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        if len(real) != 1:
            raise ValueError(f"a field may have one type: {schema}")
        return structural_schema({**real[0], **rest}, definitions)
    result = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "const" in result:
        result["enum"] = [result.pop("const")]
    result.pop("default", None)  # no defaults: a spec that the API server changes is a difference for GitOps tools
    if API_DEFAULT in result:
        result["default"] = result.pop(API_DEFAULT)
    if "properties" in result:
        result["properties"] = {
            name: structural_schema(value, definitions) for name, value in result["properties"].items()
        }
    for inner in ("items", "additionalProperties"):
        if isinstance(result.get(inner), dict):
            result[inner] = structural_schema(result[inner], definitions)
    return result


def openapi_schema(definition: CrdDefinition) -> dict[str, Any]:
    """The openAPIV3Schema of one kind: a copy of the caller's own. It is made of the model once."""
    schema: dict[str, Any] = orjson.loads(_encoded_schema(definition))
    return schema


@functools.cache
def _encoded_schema(definition: CrdDefinition) -> bytes:
    raw = definition.model.model_json_schema(by_alias=True)
    parts = structural_schema(raw, raw.get("$defs", {}))["properties"]
    spec, status = parts["spec"], parts["status"]
    if definition.reconciled:
        status["properties"]["conditions"]["items"]["properties"]["observedGeneration"]["format"] = "int64"
        if definition.status_default:
            status["default"] = {"observedGeneration": -1}
            status["properties"]["observedGeneration"]["format"] = "int64"
    else:
        status["default"] = {}
        # The API server drops what is empty: a client-side apply would send it again each time.
        del status["properties"]
    _add_rules(spec, definition)
    if definition.has_webhook:
        _leave_to_webhook(spec)
    limit = definition.name_limit
    metadata = {"type": "object", "properties": {"name": {"type": "string", "maxLength": limit}}}
    return orjson.dumps(_object_schema(definition.model, metadata, spec, status, {"required": [*definition.required]}))


def _object_schema(
    model: type[Resource],
    metadata: dict[str, Any],
    spec: dict[str, Any],
    status: dict[str, Any],
    required: Mapping[str, list[str]],
) -> dict[str, Any]:
    return {
        "type": "object",
        "description": (model.__doc__ or "").strip(),
        **required,
        "properties": {
            "apiVersion": {"type": "string", "description": "Version of this representation of the object."},
            "kind": {"type": "string", "description": "Kind of the object."},
            "metadata": metadata,
            "spec": spec,
            "status": status,
        },
    }


def _add_rules(spec: dict[str, Any], definition: CrdDefinition) -> None:
    """Add the CEL rules to the spec, and to the source, which may be within a template."""
    if definition.spec_rules:
        of_model = spec.get("x-kubernetes-validations", [])
        spec["x-kubernetes-validations"] = [*of_model, *({"rule": r, "message": m} for r, m in definition.spec_rules)]
    if definition.source_rules:
        holder = spec["properties"]
        if "template" in holder:
            holder = holder["template"]["properties"]["spec"]["properties"]
        holder["source"]["x-kubernetes-validations"] = [{"rule": r, "message": m} for r, m in definition.source_rules]


def _leave_to_webhook(spec: dict[str, Any]) -> None:
    """Remove the rules whose violation the webhook reports in its own words: the API server would answer first."""
    source = spec["properties"]["source"]["properties"]
    del source["git"]["properties"]["directory"]["x-kubernetes-validations"]
    del source["configMaps"]["minItems"]
    del source["configMaps"]["items"]["properties"]["path"]["x-kubernetes-validations"]


def custom_resource_definition(definition: CrdDefinition) -> dict[str, Any]:
    """One CustomResourceDefinition."""
    kind = definition.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"app.kubernetes.io/part-of": "olm-suite"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                **({"shortNames": list(definition.short_names)} if definition.short_names else {}),
                **({"categories": list(definition.categories)} if definition.categories else {}),
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": openapi_schema(definition)},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(definition.columns),
                }
            ],
        },
    }


def _columns(columns: Iterable[PrinterColumn]) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "type": each.type, "jsonPath": each.path}
        | ({"priority": each.priority} if each.priority else {})
        for each in columns
    ]


def operator_condition_definition() -> dict[str, Any]:
    """The CustomResourceDefinition of OperatorConditions, which is not a part of every installation."""
    kind = operator_conditions.KIND
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"app.kubernetes.io/part-of": "olm-suite"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": ["condition"],
                "categories": ["olm"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == kind.version,
                    "schema": {"openAPIV3Schema": _operator_condition_schema(model)},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(_OPERATOR_CONDITION_COLUMNS),
                }
                for version, model in operator_conditions.MODELS.items()
            ],
        },
    }


def _operator_condition_schema(model: type[Resource]) -> dict[str, Any]:
    raw = model.model_json_schema(by_alias=True)
    parts = structural_schema(raw, raw["$defs"])["properties"]
    spec, status = parts["spec"], parts["status"]
    lists = [
        each["properties"][name] for each in (spec, status) for name in _CONDITION_LISTS & each["properties"].keys()
    ]
    for each in lists:
        each["items"]["properties"]["observedGeneration"]["format"] = "int64"
    return _object_schema(model, {"type": "object"}, spec, status, {})


def _as_yaml(definition: dict[str, Any]) -> str:
    return yaml.dump(definition, Dumper=TreeDumper, sort_keys=False, width=120)


def kustomization(files: Iterable[str]) -> str:
    """The text of a kustomization of these files."""
    content = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": sorted(files)}
    return yaml.safe_dump(content, sort_keys=False)


def render(definitions: Iterable[dict[str, Any]]) -> dict[str, str]:
    """File name -> YAML of these CRDs, and the kustomization that lists them."""
    files = {f"{each['spec']['names']['plural']}.yaml": _as_yaml(each) for each in definitions}
    return files | {"kustomization.yaml": kustomization(files)}
