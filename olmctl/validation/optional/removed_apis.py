"""The validator alpha-deprecated-apis: objects of APIs that Kubernetes 1.22, 1.25 or 1.26 removed. Pure.

As upstream up to api v0.42, permissions on resources whose stable version has the same name are reported too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.loaded_bundle import CSV, Document, Gvk, LoadedBundle
from olmctl.validation.optional.csv_findings import Path, Reporter, Values, install_spec, quoted_list, text_of, texts_of
from olmkit.gocompat.versions import BadVersion, Version, parse_tolerant_version
from rukpak.format.objects import mapping, mappings

Found = dict[str, list[str]]
"""Kind or resource -> the names of what uses it."""

VERSION_VALUE: Final = "k8s-version"
_CSV_VERSION: Final = "operators.coreos.com/v1alpha1"
_GUIDE: Final = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"
_REMOVED_IN_1_22: Final[Mapping[str, frozenset[str]]] = {
    f"{group}/v1beta1": frozenset(kinds.split())
    for group, kinds in (
        ("scheduling.k8s.io", "PriorityClass"),
        ("rbac.authorization.k8s.io", "Role ClusterRole RoleBinding ClusterRoleBinding"),
        ("apiregistration.k8s.io", "APIService"),
        ("authentication.k8s.io", "TokenReview"),
        ("authorization.k8s.io", "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration ValidatingWebhookConfiguration"),
        ("coordination.k8s.io", "Lease"),
        ("extensions", "Ingress"),
        ("networking.k8s.io", "Ingress IngressClass"),
        ("storage.k8s.io", "CSIDriver CSINode StorageClass VolumeAttachment"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
    )
}
"""apiVersion -> kinds."""
_REMOVED_IN_1_25: Final = frozenset({
    Gvk("batch", "v1beta1", "CronJob"),
    Gvk("discovery.k8s.io", "v1beta1", "EndpointSlice"),
    Gvk("events.k8s.io", "v1beta1", "Event"),
    Gvk("autoscaling", "v2beta1", "HorizontalPodAutoscaler"),
    Gvk("policy", "v1beta1", "PodDisruptionBudget"),
    Gvk("policy", "v1beta1", "PodSecurityPolicy"),
    Gvk("node.k8s.io", "v1beta1", "RuntimeClass"),
})  # fmt: skip
_REMOVED_IN_1_26: Final = Gvk("autoscaling", "v2beta2", "HorizontalPodAutoscaler")
_PERMISSIONS_OF_1_25: Final = frozenset({
    ("batch", "cronjobs"),
    ("discovery.k8s.io", "endpointslices"),
    ("events.k8s.io", "events"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("policy", "poddisruptionbudgets"),
    ("policy", "podsecuritypolicies"),
    ("node.k8s.io", "runtimeclasses"),
})  # fmt: skip
"""(group, resource) of _REMOVED_IN_1_25."""
_ONLY_REMOVED: Final = "podsecuritypolicies"
"""The only resource of these that has no stable version."""
_HINT: Final = "Write these objects with an API version that Kubernetes serves."
_PERMISSION_HINT: Final = (
    "If the operator uses the stable version of these resources, this can be ignored: their names are the same."
)


def alpha_deprecated_apis(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of alpha-deprecated-apis."""
    if report := Reporter.of("alpha-deprecated-apis", bundle):
        yield from removed_api_findings(report, bundle, values)


def removed_api_findings(report: Reporter, bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings about removed APIs, as three validators report them."""
    given, minimum = values.get(VERSION_VALUE, ""), text_of(report.csv.spec.get("minKubeVersion"))
    versions = [_version(given), _version(minimum)]
    if given and versions[0] is None:
        text = f"invalid value informed via the k8s key option : {given}"
        yield report.failed(ERROR, "k8s-version", text, hint=f"Write {VERSION_VALUE}=1.30.0, for example.")
    path: Path = ("spec", "minKubeVersion")
    if minimum and versions[1] is None:
        text = f"unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an invalid value: {minimum}"
        yield report.failed(ERROR, "min-kube-version", text, path, "Write three numbers, such as 1.28.0.")
    references, permissions = _csv_uses(report.csv)
    uses = ((22, removed_in_1_22(bundle)), (25, _uses_of_1_25(bundle, references)), (26, _uses_of_1_26(bundle)))
    for minor, found in uses:
        if found:
            is_gone = any(each is not None and each >= Version(1, minor, 0) for each in versions)
            text = removed_message(minor, found)
            yield report.failed(ERROR if is_gone else WARNING, f"removed-api-1-{minor}", text, path, _HINT)
        if minor == 25 and permissions:
            hint = _HINT if _ONLY_REMOVED in permissions else _PERMISSION_HINT
            place = ("spec", "install", "spec")
            yield report.failed(WARNING, "removed-api-permission", removed_message(25, permissions), place, hint)


def removed_message(minor: int, found: Found) -> str:
    """Upstream's text about the APIs that a release of Kubernetes removed."""
    return (
        f"this bundle is using APIs which were deprecated and removed in v1.{minor}. More info: {_GUIDE}#v1-{minor}. Migrate the "
        f"API(s) for {used_apis(found)}"
    )


def used_apis(found: Found) -> str:
    """`KIND: (["name" "name"]),` for each kind, in their order; of only one, without the comma."""
    texts = [f"{kind}: ({quoted_list(found[kind])})" for kind in sorted(found)]
    return texts[0] if len(texts) == 1 else "".join(f"{text}," for text in texts)


def removed_release(gvk: Gvk) -> str:
    """The release of Kubernetes that removed an API; empty if none did. CustomResourceDefinitions are not among them."""
    if gvk.kind in _REMOVED_IN_1_22.get(f"{gvk.group}/{gvk.version}", ()):
        return "1.22"
    if gvk in _REMOVED_IN_1_25:
        return "1.25"
    return "1.26" if gvk == _REMOVED_IN_1_26 else ""


def removed_in_1_22(bundle: LoadedBundle) -> Found:
    """The objects of APIs that Kubernetes 1.22 removed."""
    found: Found = {}
    if crds := [document.name for document in bundle.v1beta1_crds]:
        found["CRD"] = crds
    for document in bundle.documents:
        if document.kind in _REMOVED_IN_1_22.get(document.api_version, ()):
            found.setdefault(document.kind, []).append(document.name)
    return found


def _uses_of_1_25(bundle: LoadedBundle, references: Found) -> Found:
    found: Found = {}
    for document in bundle.documents:
        if document.gvk in _REMOVED_IN_1_25:
            found.setdefault(document.kind, []).append(document.name)
        if document is bundle.csv:
            for kind, names in references.items():
                found.setdefault(kind, []).extend(names)
    return found


def _uses_of_1_26(bundle: LoadedBundle) -> Found:
    names = [document.name for document in bundle.documents if document.gvk == _REMOVED_IN_1_26]
    return {_REMOVED_IN_1_26.kind: names} if names else {}


def _csv_uses(csv: Document) -> tuple[Found, Found]:
    """The removed APIs that the ClusterServiceVersion names as resources of its definitions, and those that it has permissions
    on."""
    if csv.kind != CSV or csv.api_version != _CSV_VERSION or not _is_read(csv):
        return {}, {}
    references: Found = {}
    named: set[str] = set()
    definitions = mapping(csv.spec.get("customresourcedefinitions"))
    for relation in ("owned", "required"):
        for index, item in enumerate(mappings(definitions.get(relation))):
            for number, resource in enumerate(mappings(item.get("resources"))):
                kind = text_of(resource.get("kind"))
                named.add(f"{kind.lower()}s")
                group, _, version = text_of(resource.get("version")).rpartition("/")
                if Gvk(group, version, kind) in _REMOVED_IN_1_25:
                    name = f"CustomResourceDefinitions.{relation.title()}[{index}].Resource[{number}]"
                    references.setdefault(kind, []).append(f"ClusterServiceVersion.Spec.{name}")
    return references, _permissions(csv, named)


def _permissions(csv: Document, named: set[str]) -> Found:
    found: Found = {}
    for field in ("ClusterPermissions", "Permissions"):
        entries = install_spec(csv).get(field[0].lower() + field[1:])
        for index, entry in enumerate(mappings(entries)):
            for number, rule in enumerate(mappings(entry.get("rules"))):
                name = f"ClusterServiceVersion.Spec.InstallStrategy.StrategySpec.{field}[{index}].Rules[{number}]"
                for group in texts_of(rule.get("apiGroups")):
                    for resource in texts_of(rule.get("resources")):
                        if resource not in named and (group, resource) in _PERMISSIONS_OF_1_25:
                            found.setdefault(resource, []).append(name)
    return found


def _is_read(csv: Document) -> bool:
    """Report whether upstream's second reading of the ClusterServiceVersion gets to its spec: it takes no number as text."""
    texts = [*mapping(csv.metadata.get("labels")).values(), *csv.annotations.values()]
    return all(isinstance(each, str | None) for each in texts)


def _version(text: str) -> Version | None:
    try:
        return parse_tolerant_version(text) if text else None
    except BadVersion:
        return None
