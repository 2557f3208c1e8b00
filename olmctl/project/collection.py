"""The manifests of a project by what becomes of them in a bundle. Pure.

An object counts once, however often the input has it. Every object has a place here: `left_out` has those that a bundle cannot
contain, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from olmctl.project.manifests import BadInput, Manifest

CSV: Final = ("operators.coreos.com", "ClusterServiceVersion")
CRD: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
DEPLOYMENT: Final = ("apps", "Deployment")
SCORECARD: Final = ("scorecard.operatorframework.io", "Configuration")
_RBAC: Final = "rbac.authorization.k8s.io"
ROLE, CLUSTER_ROLE = (_RBAC, "Role"), (_RBAC, "ClusterRole")
ROLE_BINDING, CLUSTER_ROLE_BINDING = (_RBAC, "RoleBinding"), (_RBAC, "ClusterRoleBinding")
SERVICE_ACCOUNT, SERVICE = ("", "ServiceAccount"), ("", "Service")
_ADMISSION: Final = "admissionregistration.k8s.io"
VALIDATING, MUTATING = (_ADMISSION, "ValidatingWebhookConfiguration"), (_ADMISSION, "MutatingWebhookConfiguration")

TYPES: Final = {
    CSV: "v1alpha1.ClusterServiceVersion",
    DEPLOYMENT: "v1.Deployment",
    ROLE: "v1.Role",
    CLUSTER_ROLE: "v1.ClusterRole",
    ROLE_BINDING: "v1.RoleBinding",
    CLUSTER_ROLE_BINDING: "v1.RoleBinding",
    SERVICE_ACCOUNT: "v1.ServiceAccount",
    SERVICE: "v1.Service",
    VALIDATING: "v1.ValidatingWebhookConfiguration",
    MUTATING: "v1.MutatingWebhookConfiguration",
    SCORECARD: "v1alpha3.Configuration",
}
"""The kinds that are read as Go types, CustomResourceDefinitions excepted: their type depends on their version."""
_CRD_TYPES: Final = {"v1": "CustomResourceDefinition", "v1beta1": "v1beta1.CustomResourceDefinition"}
BUNDLE_KINDS: Final = frozenset(
    [
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "ConsoleCLIDownload",
        "ConsoleLink",
        "ConsolePlugin",
        "ConsoleQuickStart",
        "ConsoleYAMLSample",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PriorityClass",
        "PrometheusRule",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
        "VerticalPodAutoscaler",
        "ClusterServiceVersion",
        "CustomResourceDefinition",
    ]
)
"""The kinds of objects that a bundle may contain, of any API group."""
_CERT_MANAGER: Final = "cert-manager.io"
_REASONS: Final = {
    ("", "Namespace"): "the install namespace is chosen when the bundle is installed",
    ("apps", "StatefulSet"): "a bundle runs Deployments only",
    ("apps", "DaemonSet"): "a bundle runs Deployments only",
}


@dataclass(frozen=True)
class Typed:
    """An object as Go writes it: its value has all fields that are always written, and none that Go does not know."""

    manifest: Manifest
    value: dict[str, Any]

    @property
    def name(self) -> str:
        """The name."""
        return self.manifest.name

    @property
    def namespace(self) -> str:
        """The namespace that the input has."""
        return str(self.manifest.metadata.get("namespace") or "")

    @property
    def spec(self) -> dict[str, Any]:
        """The spec."""
        found: dict[str, Any] = self.value["spec"]
        return found


@dataclass(frozen=True)
class LeftOut:
    """An object that is in no file of the bundle."""

    manifest: Manifest
    reason: str


@dataclass
class Collection:
    """The objects of the input, in its order."""

    typed: dict[tuple[str, str], list[Typed]] = field(default_factory=dict)
    crds: list[Typed] = field(default_factory=list)
    """Those of v1 before those of v1beta1, as upstream has them."""
    examples: list[Manifest] = field(default_factory=list)
    """Custom resources of the CustomResourceDefinitions."""
    others: list[Manifest] = field(default_factory=list)
    """The other objects that a bundle may contain."""
    left_out: list[LeftOut] = field(default_factory=list)
    dropped_fields: list[str] = field(default_factory=list)

    def of(self, kind: tuple[str, str]) -> list[Typed]:
        """The objects of a kind of TYPES."""
        return self.typed.get(kind, [])


def collect(manifests: Iterable[Manifest], crds: Iterable[Manifest] | None = None) -> Collection:
    """Sort the objects. With `crds`, the CustomResourceDefinitions are these instead. Raises BadInput."""
    found, untyped = Collection(), list[Manifest]()
    definitions = [] if crds is None else [each for each in _distinct(crds) if (each.group, each.kind) == CRD]
    for manifest in _distinct(manifests):
        key = (manifest.group, manifest.kind)
        if key == CRD:
            definitions += [manifest] if crds is None else []
        elif key in TYPES:
            _add_typed(found, key, manifest)
        else:
            untyped.append(manifest)
    found.crds = sorted(
        (_definition(found, each) for each in definitions), key=lambda crd: crd.manifest.version != "v1"
    )
    _sort_untyped(found, untyped)
    return found


def _distinct(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """The objects without those that are equal to an earlier one."""
    seen: dict[tuple[str, str, str, str], list[Any]] = {}
    for manifest in manifests:
        key = (manifest.api_version, manifest.kind, str(manifest.metadata.get("namespace")), manifest.name)
        equal = seen.setdefault(key, [])
        if manifest.body not in equal:
            equal.append(manifest.body)
            yield manifest


def _add_typed(found: Collection, key: tuple[str, str], manifest: Manifest) -> None:
    type_name = TYPES[key]
    earlier = found.typed.setdefault(key, [])
    if key == SCORECARD and earlier:
        raise BadInput(
            f"{manifest.place}: duplicate scorecard configurations in collector input: the other one is at "
            f"{earlier[0].manifest.place}"
        )
    earlier.append(Typed(manifest, manifest.typed(type_name)))
    found.dropped_fields += manifest.dropped_fields(type_name)


def _definition(found: Collection, manifest: Manifest) -> Typed:
    type_name = _CRD_TYPES.get(manifest.version)
    if type_name is None:
        problem = f'unrecognized CustomResourceDefinition version "{manifest.version}"'
        raise manifest.refuse(("apiVersion",), problem)
    found.dropped_fields += manifest.dropped_fields(type_name)
    return Typed(manifest, manifest.typed(type_name))


def served_versions(crd: Typed) -> list[str]:
    """The versions of a CustomResourceDefinition that are served."""
    versions = crd.spec.get("versions") or []
    if not versions:
        return [crd.spec["version"]] if crd.spec.get("version") else []
    return [each["name"] for each in versions if each["served"]]


def _sort_untyped(found: Collection, untyped: Iterable[Manifest]) -> None:
    defined = {(crd.spec["group"], crd.spec["names"]["kind"]) for crd in found.crds}
    served = {
        (crd.spec["group"], version, crd.spec["names"]["kind"])
        for crd in found.crds
        for version in served_versions(crd)
    }
    for manifest in untyped:
        is_example = (manifest.group, manifest.version, manifest.kind) in served
        if is_example:
            found.examples.append(manifest)
        if manifest.kind in BUNDLE_KINDS:
            found.others.append(manifest)
        elif not is_example:
            found.left_out.append(LeftOut(manifest, _reason(manifest, defined)))


def _reason(manifest: Manifest, defined: set[tuple[str, str]]) -> str:
    if (manifest.group, manifest.kind) in defined:
        return f"no CustomResourceDefinition of the input serves {manifest.api_version}"
    if manifest.group == _CERT_MANAGER or manifest.group.endswith(f".{_CERT_MANAGER}"):
        return "certificates of webhooks are issued when the bundle is installed"
    reason = _REASONS.get((manifest.group, manifest.kind))
    if reason is None and "." in manifest.group and not manifest.group.endswith(".k8s.io"):
        reason = f"no CustomResourceDefinition of the input defines {manifest.kind} of {manifest.group}"
    return reason or f"a bundle cannot contain objects of the kind {manifest.kind}"
