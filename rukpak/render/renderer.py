"""A bundle -> the Kubernetes objects that install it. Called by rukpak.bundledeployment.reconciler and the render command. Pure.

registry+v1 follows upstream's renderer, names, hashes and order included. `upstream=True` gives exactly its output; without
it the Namespace comes first, what Kubernetes fills in by itself is dropped, so are the labels and annotations by which
rukpak knows its own, and objects of namespaced kinds that upstream takes for cluster-scoped go into the install namespace
too. Webhooks need rukpak.render.webhooks.
Bodies share what did not change with the bundle: never change them in place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rukpak.format.bundle import Body, Bundle, PlainBundle, RegistryBundle
from rukpak.format.errors import BadBundle
from rukpak.format.objects import BundleObject, mapping, unrepeated
from rukpak.format.validators import NAMESPACED_KINDS, validation_errors
from rukpak.render import webhooks
from rukpak.render.install_modes import REASON, check_targets, default_targets
from rukpak.render.namespaces import install_namespace, namespace_object, without_marks
from rukpak.render.scopes import Scopes, is_namespaced

__all__ = ["RenderOptions", "install_namespace", "render"]

RBAC = "rbac.authorization.k8s.io"
NAME_LIMIT = 63
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAMESPACES_RULE = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
_SERVER_FIELDS = frozenset({
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
    "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
})  # fmt: skip
"""Of metadata: what the API server writes, and what would tie an object to others of its old cluster."""
_TEMPLATED_GROUPS = frozenset({"", "apps", "batch"})


@dataclass(frozen=True)
class RenderOptions:
    """How a bundle is to be rendered."""

    install_namespace: str
    """Where namespaced objects go."""
    target_namespaces: tuple[str, ...] | None = None
    """Namespaces to watch; ("",) is all; None: what the bundle supports, AllNamespaces before OwnNamespace."""
    upstream: bool = False
    """Exactly what upstream's renderer gives, certificates by cert-manager included."""
    scopes: Scopes = field(default_factory=dict)
    """(group, kind) -> namespaced, as the cluster says; kinds that are not in it are looked up among Kubernetes' own."""


def render(bundle: Bundle, options: RenderOptions) -> list[BundleObject]:
    """The objects in the order of upstream's generators. Raises BadBundle with every fault."""
    if isinstance(bundle, PlainBundle):
        return _render_plain(bundle, options)
    broken = validation_errors(bundle)
    if broken:
        raise BadBundle.of(REASON, broken, separator="\n")
    targets = options.target_namespaces
    if targets is None:
        targets = default_targets(bundle, options.install_namespace)
    check_targets(bundle, options.install_namespace, targets)
    bodies = list(_generate(_Job(bundle, options.install_namespace, tuple(sorted(set(targets))))))
    if options.upstream:
        return [BundleObject(body) for body in bodies]
    namespace = namespace_object(bundle, options.install_namespace)
    manifests = [BundleObject(_applicable(body, options)) for body in bodies]
    return [BundleObject(namespace), *unrepeated(_without_second_accounts(manifests), _itself)]


def _without_second_accounts(manifests: list[BundleObject]) -> list[BundleObject]:
    """ServiceAccounts are generated first: where the bundle brings one of the same name, that one is the fuller."""
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
    return unrepeated(placed, _itself)


def _scopes_of(bodies: Sequence[Body]) -> dict[tuple[str, str], bool]:
    """Scopes of the kinds that CRDs among the bodies define."""
    scopes: dict[tuple[str, str], bool] = {}
    for body in bodies:
        if body["kind"] == "CustomResourceDefinition":
            spec = mapping(body.get("spec"))
            kind = str(mapping(spec.get("names")).get("kind"))
            scopes[str(spec.get("group")), kind] = spec.get("scope") == "Namespaced"
    return scopes


def _applicable(body: Body, options: RenderOptions, scopes: Scopes | None = None) -> Body:
    """The body without what only the API server and rukpak may say, and with the namespace where it belongs."""
    manifest = BundleObject(body)
    metadata = _unmarked({name: value for name, value in body["metadata"].items() if name not in _SERVER_FIELDS})
    namespaced = is_namespaced(manifest.group, manifest.kind, scopes if scopes is not None else options.scopes)
    if namespaced is False:
        metadata.pop("namespace", None)
    elif namespaced and not metadata.get("namespace"):
        metadata["namespace"] = options.install_namespace
    first = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata}
    rest = {name: value for name, value in body.items() if name not in first and name != "status"}
    if manifest.key[:2] == (RBAC, "ClusterRole") and rest.get("aggregationRule") is not None:
        rest.pop("rules", None)  # Kubernetes' own controller writes them, and would set back ours
    if "spec" in rest and manifest.group in _TEMPLATED_GROUPS:
        rest["spec"] = _templates_unmarked(rest["spec"])
    return first | rest


def _unmarked(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: without_marks(value) if name in ("labels", "annotations") and isinstance(value, Mapping) else value
        for name, value in metadata.items()
    }


def _templates_unmarked(spec: Any) -> Any:
    """Pods, jobs and claims made from templates are objects too, and would be taken for what their labels say."""
    if not isinstance(spec, Mapping):
        return spec
    changed = {name: _template_unmarked(spec[name]) for name in ("template", "jobTemplate") if name in spec}
    claims = spec.get("volumeClaimTemplates")
    if isinstance(claims, list):
        changed["volumeClaimTemplates"] = [_template_unmarked(claim) for claim in claims]
    return {**spec, **changed}


def _template_unmarked(template: Any) -> Any:
    if not isinstance(template, Mapping):
        return template
    result = dict(template)
    if isinstance(result.get("metadata"), Mapping):
        result["metadata"] = _unmarked(result["metadata"])
    if "spec" in result:
        result["spec"] = _templates_unmarked(result["spec"])
    return result


@dataclass(frozen=True)
class _Job:
    bundle: RegistryBundle
    namespace: str
    targets: tuple[str, ...]

    @property
    def everywhere(self) -> bool:
        return self.targets == ("",)


def _generate(job: _Job) -> Iterator[Body]:
    spec = job.bundle.install_spec
    permissions = list(spec.get("permissions") or ())
    cluster_permissions = list(spec.get("clusterPermissions") or ())
    yield from _service_accounts(job, [*permissions, *cluster_permissions])
    if job.everywhere:
        cluster_permissions += [_promoted(permission) for permission in permissions]
    else:
        for namespace in job.targets:
            for permission in permissions:
                yield from _role_pair(job, permission, namespace)
    for permission in cluster_permissions:
        yield from _role_pair(job, permission, "")
    hooks = webhooks.plan(job.bundle, job.namespace, job.targets)
    for crd in job.bundle.crds:
        yield webhooks.converted(crd, hooks)
    for other in job.bundle.others:
        yield _placed(other, job.namespace)
    for deployment in spec.get("deployments") or ():
        yield webhooks.mounted(_deployment(job, deployment), hooks)
    yield from webhooks.objects(hooks)


def _service_accounts(job: _Job, permissions: Sequence[Body]) -> Iterator[Body]:
    names = {permission["serviceAccountName"] for permission in permissions} - {"", "default"}
    for name in sorted(names):
        yield {
            "kind": "ServiceAccount",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": job.namespace},
        }


def _promoted(permission: Body) -> Body:
    return {**permission, "rules": [*(permission.get("rules") or ()), _NAMESPACES_RULE]}


def _role_pair(job: _Job, permission: Body, namespace: str) -> Iterator[Body]:
    """Role and RoleBinding in the namespace, or ClusterRole and ClusterRoleBinding when it is empty."""
    account = permission["serviceAccountName"]
    prefix = "" if namespace else "Cluster"
    metadata = {"name": role_name(job.bundle.csv_name, permission)} | ({"namespace": namespace} if namespace else {})
    api_version = f"{RBAC}/v1"
    yield {"kind": f"{prefix}Role", "apiVersion": api_version, "metadata": metadata, "rules": permission.get("rules")}
    yield {
        "kind": f"{prefix}RoleBinding",
        "apiVersion": api_version,
        "metadata": metadata,
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": job.namespace}],
        "roleRef": {"apiGroup": RBAC, "kind": f"{prefix}Role", "name": metadata["name"]},
    }


def role_name(csv_name: str, permission: Body) -> str:
    """`<csv>-<account>-<hash>` cut to 63; the hash is base36 of sha224 of the permission as Go writes it, with a newline."""
    rules = permission.get("rules")
    ordered = None if rules is None else [_ordered_rule(rule) for rule in rules]
    text = json.dumps(
        {"serviceAccountName": permission["serviceAccountName"], "rules": ordered},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    suffix = _base36(int.from_bytes(hashlib.sha224(text.encode() + b"\n").digest()))
    base = f"{csv_name}-{permission['serviceAccountName'] or 'default'}"
    if len(base) + len(suffix) > NAME_LIMIT:
        base = base[: NAME_LIMIT - len(suffix) - 1]
    return f"{base}-{suffix}"


def _ordered_rule(rule: Body) -> Mapping[str, Any]:
    lists = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return {"verbs": rule.get("verbs")} | {name: rule[name] for name in lists if rule.get(name)}


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _placed(body: Body, namespace: str) -> Body:
    if body["kind"] not in NAMESPACED_KINDS:
        return body
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def _deployment(job: _Job, deployment: Body) -> Body:
    metadata: dict[str, Any] = {"name": deployment["name"], "namespace": job.namespace}
    if deployment.get("label"):
        metadata["labels"] = deployment["label"]
    spec = deployment["spec"]
    template = spec["template"]
    template_metadata = template.get("metadata") or {}
    annotations = {
        **job.bundle.csv_annotations,
        **(template_metadata.get("annotations") or {}),
        "olm.targetNamespaces": ",".join(job.targets),
        "olm.operatorNamespace": job.namespace,
    }
    template = {**template, "metadata": {**template_metadata, "annotations": annotations}}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": metadata,
        "spec": {**spec, "template": template, "revisionHistoryLimit": 1},
        "status": {},
    }
