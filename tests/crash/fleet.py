"""Twenty packages in two versions, and the rounds of changes that a run makes to them.

Together they have what installing is made of: CRDs with and without custom resources, some of which leave the bundle; permissions
whose names change with the version; webhooks and their certificates; OperatorConditions; shared namespaces, namespaces of others;
workloads; objects that are kept or orphaned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from olmkit.api.provisioner_classes import PLAIN, REGISTRY
from tests.cluster.rukpak.harness import Object, config_map, definition, deployment, kind_of, namespace, plain, thing
from tests.e2e.packages import group, registry_bundle

Files = dict[str, bytes]
FOREIGN_NAMESPACE = "crash-foreign"
"""A namespace that exists before, and that two packages install into."""
MANY = 40
"""ConfigMaps of the largest package."""


@dataclass(frozen=True)
class FleetPackage:
    """A package: the files of its versions, and the fields of its BundleDeployment."""

    name: str
    versions: tuple[Files, Files]
    provisioner: str = PLAIN
    fields: Mapping[str, Any] = field(default_factory=dict)
    custom_resource: str = ""
    """The API group of the custom resource that a person creates; empty: nobody does."""


def fleet() -> list[FleetPackage]:
    """All packages, by name."""
    registry = [_registry(f"crash-{number:02}") for number in range(1, 5)]
    webhooks = [_with_webhooks(f"crash-{number:02}") for number in (5, 6)]
    shared = [_registry(f"crash-{number:02}", "crash-shared") for number in range(7, 10)]
    plains = [_plain(f"crash-{number:02}") for number in range(10, 15)]
    return [
        *registry,
        *webhooks,
        *shared,
        *plains,
        _with_leaving_crd("crash-15"),
        _with_leaving_crd("crash-16"),
        _in_foreign_namespace("crash-17"),
        _large("crash-18"),
        _plain("crash-19", {"deletionPolicy": "Orphan", "adoptionPolicy": "IfUnowned"}),
        _plain("crash-20", {"deletionPolicy": "KeepCRDs"}, is_used=True),
    ]


def group_of(name: str) -> str:
    """The API group of the CRD of a plain package."""
    return f"{name}.example.com"


def _registry(name: str, inside: str = "") -> FleetPackage:
    others = [[config_map("settings", "", v=version), *extra] for version, extra in _configs()]
    one, two = (
        registry_bundle(name, version, namespace=inside or None, others=_named(name, each))
        for version, each in zip(("1.0.0", "2.0.0"), others, strict=True)
    )
    return FleetPackage(name, (one, two), REGISTRY)


def _with_webhooks(name: str) -> FleetPackage:
    """Its webhooks have a certificate of their own; the second version has one webhook less."""
    one, two = ({**_registry(name).versions[index]} for index in (0, 1))
    for files, types in ((one, ("Validating", "Mutating")), (two, ("Validating",))):
        version: Object = yaml.safe_load(files["manifests/csv.yaml"])
        version["spec"]["webhookdefinitions"] = [_webhook(name, each) for each in types]
        files["manifests/csv.yaml"] = yaml.safe_dump(version).encode()
    return FleetPackage(name, (one, two), REGISTRY)


def _webhook(name: str, kind: str) -> Object:
    rule = {"apiGroups": [group(name)], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    return {
        "type": f"{kind}AdmissionWebhook",
        "generateName": f"{kind.lower()}.{name}.example.com",
        "deploymentName": name,
        "containerPort": 443,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [rule],
    }


def _configs() -> list[tuple[str, list[Object]]]:
    return [("1", [config_map("old", "")]), ("2", [config_map("new", "")])]


def _named(name: str, objects: Sequence[Object]) -> list[Object]:
    """The objects with names that no other package has: some share a namespace."""
    return [{**each, "metadata": {"name": f"{name}-{each['metadata']['name']}"}} for each in objects]


def _plain(name: str, fields: Mapping[str, Any] | None = None, *, is_used: bool = False) -> FleetPackage:
    space, crd, engine = namespace(name), definition(group_of(name)), deployment("engine", name)
    boat = thing(kind_of(group_of(name)), "dinghy", name)
    one = plain(space, crd, config_map("both", name, v="1"), config_map("old", name), engine)
    two = plain(space, crd, config_map("both", name, v="2"), config_map("new", name), engine, boat)
    return FleetPackage(name, (one, two), fields=fields or {}, custom_resource=group_of(name) if is_used else "")


def _with_leaving_crd(name: str) -> FleetPackage:
    space, crd = namespace(name), definition(group_of(name))
    return FleetPackage(
        name,
        (plain(space, crd, config_map("log", name)), plain(space, config_map("log", name))),
        custom_resource=group_of(name),
    )


def _in_foreign_namespace(name: str) -> FleetPackage:
    one, two = (plain(namespace(FOREIGN_NAMESPACE), config_map(name, FOREIGN_NAMESPACE, v=v)) for v in ("1", "2"))
    return FleetPackage(name, (one, two))


def _large(name: str) -> FleetPackage:
    one, two = (
        plain(namespace(name), *(config_map(f"page-{number:02}", name, v=version) for number in range(MANY)))
        for version in ("1", "2")
    )
    return FleetPackage(name, (one, two))


Wanted = dict[str, int]
"""Name of a package -> its version, 0 or 1; packages that are not in it are removed."""


def rounds(cycles: int) -> list[Wanted]:
    """What a run asks for, one round after the other: installations, then cycles of upgrades, removals and the way back."""
    names = [package.name for package in fleet()]
    first = dict.fromkeys(names, 0)
    upgraded = {name: 1 for name in names if name not in ("crash-17", "crash-19", "crash-20")}
    last = {
        name: int(name != "crash-01") for name in names if name not in ("crash-03", "crash-09", "crash-12", "crash-16")
    }
    return [first, *([upgraded, first] * (cycles - 1)), upgraded, last]
