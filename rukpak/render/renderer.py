"""Renders a bundle as the Kubernetes objects that install it (formats 2.6, 2.7).

`upstream=True` gives exactly upstream's output. Without it the Namespace comes first; fields that the API server writes, and the
labels and annotations that only rukpak may write, are dropped; and objects of namespaced kinds that upstream treats as
cluster-scoped go into the install namespace too. Bodies share their unchanged parts with the bundle: never change them in place.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.api.install_policies import MUST_EXIST
from olmkit.gocompat.go_encoding import Mismatch, round_trip
from rukpak.format.bundle import Body, Bundle, PlainBundle, RegistryBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED, INVALID_CONFIGURATION, BadBundle
from rukpak.format.files import CRD_API_VERSION
from rukpak.format.objects import BundleObject, ObjectKey, mapping, without_duplicates
from rukpak.format.validators import NAMESPACED_KINDS, validation_errors
from rukpak.render import api_services, serving, webhooks
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.deployment_config import read_config, with_config
from rukpak.render.endpoints import CRD, CertificateMode, Endpoint, endpoints_of
from rukpak.render.install_modes import TARGET_NAMESPACES_ANNOTATION, check_targets, default_targets
from rukpak.render.install_options import InstallOptions
from rukpak.render.namespaces import (
    default_namespace,
    install_namespace,
    namespace_error,
    namespace_object,
    without_reserved_keys,
)
from rukpak.render.operator_condition import (
    condition_key,
    condition_objects,
    served_version,
    with_condition_name,
)
from rukpak.render.preflight import Preflight, check
from rukpak.render.rbac import RBAC_GROUP, rbac_objects
from rukpak.render.refusals import applicable
from rukpak.render.scopes import Scopes, is_namespaced

__all__ = ["RenderOptions", "install_namespace", "render"]

_SERVER_FIELDS = frozenset({
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
    "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
})  # fmt: skip
"""Fields of metadata that the API server writes, or that refer to other objects of the cluster they were exported from."""
_TEMPLATED_GROUPS = frozenset({"", "apps", "batch"})


@dataclass(frozen=True)
class RenderOptions:
    """The options for rendering a bundle."""

    install_namespace: str
    """The namespace of namespaced objects."""
    target_namespaces: tuple[str, ...] | None = None
    """Namespaces to watch; ("",) is all; None is what the bundle supports, AllNamespaces before OwnNamespace."""
    upstream: bool = False
    """Exactly the output of upstream's renderer."""
    certificates: CertificateMode | None = None
    """The issuer of the serving certificates; None: cert-manager with `upstream`, else rukpak."""
    scopes: Scopes = field(default_factory=dict)
    """The scopes of the cluster's kinds; those of other kinds are looked up in rukpak.render.scopes."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the Deployments, as the user has written them."""
    operator_condition: str = ""
    """The version in which the bundle gets an OperatorCondition; empty: it gets none."""
    is_strict: bool = False
    """True if the default of target_namespaces is AllNamespaces alone."""

    @property
    def certificate_mode(self) -> CertificateMode:
        """The issuer of the serving certificates."""
        return self.certificates or (CertificateMode.CERT_MANAGER if self.upstream else CertificateMode.SELF)


def render(bundle: Bundle, options: RenderOptions) -> list[BundleObject]:
    """The objects in the order of upstream's generators. Raises BadBundle with all errors."""
    if isinstance(bundle, PlainBundle):
        if options.target_namespaces:
            text = "a plain+v0 bundle has no install modes: leave watchNamespaces out, or install a registry+v1 bundle"
            raise BadBundle(INVALID_CONFIGURATION, text, subject=["watchNamespaces"])
        if options.config:
            text = "config changes the Deployments of a registry+v1 bundle: leave it out for a plain+v0 bundle"
            raise BadBundle(INVALID_CONFIGURATION, text, subject=["config"])
        return _render_plain(bundle, options)
    errors = validation_errors(bundle)
    if errors:
        raise BadBundle.of(BUNDLE_LOAD_FAILED, errors, separator="\n")
    targets = options.target_namespaces
    if targets is None:
        targets = default_targets(bundle, options.install_namespace, is_strict=options.is_strict)
    check_targets(bundle, options.install_namespace, targets, with_advice=not options.upstream)
    bodies = list(_generate(bundle, options, tuple(sorted(set(targets)))))
    if options.upstream:
        return [BundleObject(body) for body in bodies]
    namespace = namespace_object(bundle, options.install_namespace)
    manifests = [BundleObject(_applicable(body, options)) for body in bodies]
    return [BundleObject(namespace), *without_duplicates(_without_second_accounts(manifests), _itself)]


def _without_second_accounts(manifests: list[BundleObject]) -> list[BundleObject]:
    """The objects without the first of two ServiceAccounts of one name: it is generated, and the one that the bundle contains
    has more."""
    last = {manifest.key: manifest for manifest in manifests if manifest.kind == "ServiceAccount"}
    return [manifest for manifest in manifests if last.get(manifest.key, manifest) is manifest]


def _itself(manifest: BundleObject) -> BundleObject:
    return manifest


def _render_plain(bundle: PlainBundle, options: RenderOptions) -> list[BundleObject]:
    if options.upstream:
        return [BundleObject(body) for body in bundle.objects]
    scopes = {**_scopes_of(bundle.objects), **options.scopes}
    placed = [BundleObject(_applicable(body, options, scopes)) for body in bundle.objects]
    given = {manifest.name for manifest in placed if manifest.key[:2] == ("", "Namespace")}
    used = any(manifest.namespace == options.install_namespace for manifest in placed)
    if used and options.install_namespace not in given:
        placed.insert(0, BundleObject(namespace_object(None, options.install_namespace)))
    return without_duplicates(placed, _itself)


def _scopes_of(bodies: Sequence[Body]) -> dict[tuple[str, str], bool]:
    """The scopes of the kinds that CRDs among the bodies define."""
    scopes: dict[tuple[str, str], bool] = {}
    for body in bodies:
        if body["kind"] == "CustomResourceDefinition":
            spec = mapping(body.get("spec"))
            kind = str(mapping(spec.get("names")).get("kind"))
            scopes[str(spec.get("group")), kind] = spec.get("scope") == "Namespaced"
    return scopes


def _applicable(body: Body, options: RenderOptions, scopes: Scopes | None = None) -> Body:
    """The body to apply: with its namespace, without the fields that only the API server and rukpak write."""
    manifest = BundleObject(body)
    metadata = _metadata_without_reserved(
        {name: value for name, value in body["metadata"].items() if name not in _SERVER_FIELDS}
    )
    namespaced = is_namespaced(manifest.group, manifest.kind, scopes if scopes is not None else options.scopes)
    if namespaced is False:
        metadata.pop("namespace", None)
    elif namespaced and not metadata.get("namespace"):
        metadata["namespace"] = options.install_namespace
    first = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata}
    rest = {name: value for name, value in body.items() if name not in first and name != "status"}
    if manifest.key[:2] == (RBAC_GROUP, "ClusterRole") and rest.get("aggregationRule") is not None:
        rest.pop("rules", None)  # a controller of Kubernetes writes them, and would revert ours
    if "spec" in rest and manifest.group in _TEMPLATED_GROUPS:
        rest["spec"] = _without_reserved_in_templates(rest["spec"])
    return first | rest


def _metadata_without_reserved(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: without_reserved_keys(value)
        if name in ("labels", "annotations") and isinstance(value, Mapping)
        else value
        for name, value in metadata.items()
    }


def _without_reserved_in_templates(spec: Any) -> Any:
    """The spec without reserved labels and annotations in its templates, because controllers make objects from them."""
    if not isinstance(spec, Mapping):
        return spec
    changed = {name: _template_without_reserved(spec[name]) for name in ("template", "jobTemplate") if name in spec}
    claims = spec.get("volumeClaimTemplates")
    if isinstance(claims, list):
        changed["volumeClaimTemplates"] = [_template_without_reserved(claim) for claim in claims]
    return {**spec, **changed}


def _template_without_reserved(template: Any) -> Any:
    if not isinstance(template, Mapping):
        return template
    result = dict(template)
    if isinstance(result.get("metadata"), Mapping):
        result["metadata"] = _metadata_without_reserved(result["metadata"])
    if "spec" in result:
        result["spec"] = _without_reserved_in_templates(result["spec"])
    return result


def _generate(bundle: RegistryBundle, options: RenderOptions, targets: tuple[str, ...]) -> Iterator[Body]:
    """The bodies as upstream generates them; `targets` are the namespaces to watch."""
    namespace, deployments = options.install_namespace, bundle.install_spec.get("deployments") or ()
    endpoints = endpoints_of(bundle, namespace, options.certificate_mode, with_api_services=not options.upstream)
    converting, config = webhooks.conversions(bundle), read_config(options.config)
    yield from rbac_objects(bundle, namespace, targets)
    for crd in map(_as_upstream_reads, bundle.crds) if options.upstream else bundle.crds:
        yield webhooks.with_conversion(crd, converting.get(crd["metadata"]["name"]), endpoints)
    for other in bundle.others:
        yield _placed(other, namespace)
    for deployment in deployments:
        body = _deployment(bundle, namespace, targets, deployment)
        if options.upstream:  # its config comes last: what it mounts stands after the certificate, or in its place
            yield with_config(serving.with_certificate(body, endpoints, upstream=True), config)
        else:
            body = serving.with_certificate(with_config(body, config), endpoints, upstream=False)
            yield with_condition_name(body, bundle.csv_name) if options.operator_condition else body
    if options.operator_condition:
        yield from condition_objects(bundle, namespace, options.operator_condition)
    yield from webhooks.configurations(bundle, endpoints, targets)
    if not options.upstream:
        serving.check_secrets(endpoints.values(), bundle.others)
        yield from api_services.api_service_objects(bundle, endpoints)
    yield from serving.services(endpoints.values(), deployments, () if options.upstream else bundle.others)
    yield from serving.certificate_objects(endpoints.values(), upstream=options.upstream)


def _as_upstream_reads(crd: Body) -> Body:
    """The CRD in the form of apiextensions.k8s.io/v1, in which upstream reads a CRD of any version: other fields are dropped.

    One of v1 has that form since its file was read.
    """
    if crd["apiVersion"] == CRD_API_VERSION:
        return crd
    try:
        typed: Body = round_trip("CustomResourceDefinition", crd)
    except Mismatch as error:
        text = f"CustomResourceDefinition {crd['metadata']['name']}: {error}"
        raise BadBundle(BUNDLE_LOAD_FAILED, text) from None
    return typed


def _placed(body: Body, namespace: str) -> Body:
    if body["kind"] not in NAMESPACED_KINDS:
        return body
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def _deployment(bundle: RegistryBundle, namespace: str, targets: tuple[str, ...], deployment: Body) -> Body:
    metadata: dict[str, Any] = {"name": deployment["name"], "namespace": namespace}
    if deployment.get("label"):
        metadata["labels"] = deployment["label"]
    spec = deployment["spec"]
    template = spec["template"]
    template_metadata = template.get("metadata") or {}
    annotations = {
        **bundle.csv_annotations,
        **(template_metadata.get("annotations") or {}),
        TARGET_NAMESPACES_ANNOTATION: ",".join(targets),
        "olm.operatorNamespace": namespace,
    }
    template = {**template, "metadata": {**template_metadata, "annotations": annotations}}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": metadata,
        "spec": {**spec, "template": template, "revisionHistoryLimit": 1},
        "status": {},
    }


@dataclass(frozen=True)
class Installation:
    """A bundle that is rendered and checked for one BundleDeployment."""

    namespace: str
    warnings: tuple[str, ...]
    ready: Preflight
    endpoints: tuple[Endpoint, ...] = ()
    """Its Deployments that the API server calls."""
    operator_condition: ObjectKey | None = None
    """The key of its OperatorCondition, also if the cluster does not serve the kind; None if it has none."""

    @property
    def awaited_definitions(self) -> frozenset[str]:
        """The names of the CustomResourceDefinitions whose conversion webhook an upgrade waits for."""
        return frozenset(key.name for one in self.endpoints if one.is_awaited for key in one.clients if key[:2] == CRD)


def installation(
    content: Bundle, options: InstallOptions, deployment: str, cluster: ClusterInfo, scopes: Scopes
) -> Installation:
    """The bundle as the BundleDeployment of that name installs it. Raises BadBundle."""
    namespace, warnings = _namespace(content, options, deployment, cluster)
    condition = condition_key(content, namespace) if options.operator_condition else None
    wanted = RenderOptions(
        namespace,
        options.watch_namespaces or None,
        is_strict=options.is_strict,
        certificates=options.certificates,
        scopes=scopes,
        config=options.config,
        operator_condition=served_version(cluster.served) if condition is not None else "",
    )
    manifests, notes = applicable(content, render(content, wanted))
    if options.must_exist:
        manifests = [one for one in manifests if one.key != ObjectKey("", "Namespace", "", namespace)]
        warnings += _left_out_namespace(content, namespace)
    endpoints = (
        endpoints_of(content, namespace, options.certificates).values() if isinstance(content, RegistryBundle) else ()
    )
    ready = check(manifests, content, cluster, optional=(condition,) if condition is not None else ())
    return Installation(namespace, (*warnings, *notes), ready, tuple(endpoints), condition)


def _left_out_namespace(content: Bundle, name: str) -> tuple[str, ...]:
    """A warning if a plain bundle contains the Namespace that it is installed into, and that is somebody else's."""
    bodies = content.objects if isinstance(content, PlainBundle) else ()
    is_given = any(BundleObject(body).key == ("", "Namespace", "", name) for body in bodies)
    return (
        (f"Namespace {name} of the bundle is not applied, because namespacePolicy is {MUST_EXIST}",) if is_given else ()
    )


def _namespace(
    content: Bundle, options: InstallOptions, deployment: str, cluster: ClusterInfo
) -> tuple[str, tuple[str, ...]]:
    given = options.namespace
    if options.must_exist and not given:
        text = f"namespacePolicy {MUST_EXIST} requires the namespace to install into: name it"
        raise BadBundle(INVALID_CONFIGURATION, text, subject=["namespacePolicy"])
    if given and (problem := namespace_error(given, cluster.suite_namespaces, must_exist=options.must_exist)):
        text = (
            f'nothing may be installed into namespace "{given}", which {problem}: name another install namespace; '
            "a ClusterExtension keeps its spec.namespace: delete it, and create it with another one"
        )
        raise BadBundle(INVALID_CONFIGURATION, text, subject=[given])
    if given:
        return given, ()
    if isinstance(content, PlainBundle):
        return default_namespace(deployment), ()
    return install_namespace(content, cluster.suite_namespaces)
