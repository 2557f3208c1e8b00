"""Permissions of a bundle that name nothing, or nobody, or too much. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olmctl.validation.extra.report import Checked, Path, entries, found_at, shown
from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.go_values import format_value
from olmctl.validation.loaded_bundle import CSV, Document
from rukpak.format.objects import mapping, texts
from rukpak.render.rbac import RBAC_GROUP

_DEFAULT_SCCS: Final = frozenset({
    "privileged", "restricted", "anyuid", "hostaccess", "hostmount-anyuid", "hostnetwork", "node-exporter", "nonroot",
})  # fmt: skip
_SCC_GROUP, _SCCS = "security.openshift.io", "securitycontextconstraints"
_CHANGES: Final = frozenset({"*", "delete", "update", "patch"})
_CLUSTER_ROLES: Final = frozenset({
    "admin", "cluster-admin", "edit", "view", "basic-user", "cluster-monitoring-view", "cluster-reader", "cluster-status",
    "monitoring-edit", "monitoring-rules-edit", "monitoring-rules-view", "registry-admin", "registry-editor", "registry-viewer",
    "self-provisioner", "storage-admin",
})  # fmt: skip
_OTHER_ROLES: Final = frozenset({"extension-apiserver-authentication-reader"})
"""Roles of Kubernetes and OpenShift that bindings refer to."""


def rbac_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about permissions of the ClusterServiceVersion, and about roles and bindings."""
    if checked.bundle.csv is not None:
        yield from _permission_findings(checked)
    for document in checked.bundle.objects:
        if document.gvk.group != RBAC_GROUP:
            continue
        if document.kind in ("Role", "ClusterRole"):
            aggregated = document.kind == "ClusterRole" and document.body.get("aggregationRule") is not None
            for index, rule in entries(None if aggregated else document.body.get("rules")):
                path: Path = ("rules", index)
                yield from _rule_findings(document, path, rule, is_cluster=document.kind == "ClusterRole")
        elif document.kind in ("RoleBinding", "ClusterRoleBinding"):
            yield from _binding_findings(checked, document)


def _permission_findings(checked: Checked) -> Iterator[Finding]:
    accounts = {_account(deployment) for _, deployment in checked.deployments}
    known = {document.name for document in checked.bundle.objects if document.kind == "ServiceAccount"}
    for field in ("permissions", "clusterPermissions"):
        for index, entry in entries(checked.install_spec.get(field)):
            path: Path = ("spec", "install", "spec", field, index)
            account = format_value(entry.get("serviceAccountName") or "default")
            if accounts and account not in accounts and account not in known:
                text = (
                    f"gives permissions to {shown(account)}, the account of no Deployment and of no ServiceAccount here"
                )
                hint = f"Use the account of a Deployment: {', '.join(sorted(accounts))}."
                yield found_at(WARNING, "permission-account", text, checked.csv, (*path, "serviceAccountName"), hint)
            for number, rule in entries(entry.get("rules")):
                is_cluster = field == "clusterPermissions"
                yield from _rule_findings(checked.csv, (*path, "rules", number), rule, is_cluster=is_cluster)


def _account(deployment: Mapping[str, Any]) -> str:
    pod = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    return format_value(pod.get("serviceAccountName") or pod.get("serviceAccount") or "default")


def _rule_findings(document: Document, path: Path, rule: Mapping[str, Any], *, is_cluster: bool) -> Iterator[Finding]:
    urls, groups, resources = (texts(rule.get(name)) for name in ("nonResourceURLs", "apiGroups", "resources"))
    lacks = [] if texts(rule.get("verbs")) else ["verbs"]
    if urls and not is_cluster:
        text = "nonResourceURLs belong to the cluster: the API server refuses them in permissions for a namespace"
        yield found_at(ERROR, "rule-urls", text, document, path, "Move the rule to the permissions for the cluster.")
    elif urls and (groups or resources):
        text = "has nonResourceURLs beside apiGroups or resources, which the API server refuses"
        yield found_at(ERROR, "rule-urls", text, document, path, "Make two rules of it.")
    if not urls:
        lacks += [name for name, value in (("apiGroups", groups), ("resources", resources)) if not value]
    if lacks:
        text = f"the rule names no {' and no '.join(lacks)}, and the API server refuses it"
        yield found_at(
            ERROR, "rule-names-nothing", text, document, path, f"Add {' and '.join(lacks)}, or remove the rule."
        )
    if (
        _SCC_GROUP in groups
        and _SCCS in resources
        and not _CHANGES.isdisjoint(texts(rule.get("verbs")))
        and (named := sorted(_DEFAULT_SCCS.intersection(texts(rule.get("resourceNames")))))
    ):
        text = f"permits to change the default SecurityContextConstraints {', '.join(named)}"
        level = WARNING if document.kind == CSV else ERROR
        yield found_at(
            level, "default-scc", text, document, path, "Permit only the verb use, or bring constraints of your own."
        )


def _binding_findings(checked: Checked, document: Document) -> Iterator[Finding]:
    reference = mapping(document.body.get("roleRef"))
    kind, name = format_value(reference.get("kind") or ""), format_value(reference.get("name") or "")
    allowed = ("ClusterRole",) if document.kind == "ClusterRoleBinding" else ("Role", "ClusterRole")
    path: Path = ("roleRef",)
    if kind not in allowed or not name:
        text = f"{document.kind} {document.name} refers to no role"
        yield found_at(
            ERROR, "binding-names-nothing", text, document, path, f"Write kind {' or '.join(allowed)} and its name."
        )
    elif not _is_known(checked, kind, name):
        text = f"{document.kind} {document.name} refers to the {kind} {name}, which is not in the bundle"
        hint = "Add the role to the bundle, or refer to one that every cluster has."
        yield found_at(WARNING, "role-missing", text, document, path, hint)
    for index, subject in entries(document.body.get("subjects")):
        if not format_value(subject.get("name") or ""):
            text = f"{document.kind} {document.name} names no subject"
            yield found_at(
                ERROR, "binding-names-nothing", text, document, ("subjects", index), "Write its kind and name."
            )
    if not list(entries(document.body.get("subjects"))):
        text = f"{document.kind} {document.name} has no subjects: it gives nobody permissions"
        yield found_at(
            WARNING,
            "binding-without-subjects",
            text,
            document,
            ("subjects",),
            "Add the ServiceAccount of the operator.",
        )


def _is_known(checked: Checked, kind: str, name: str) -> bool:
    """Report whether the role is in the bundle, or is one that Kubernetes or OpenShift brings."""
    if name.startswith("system:") or name in (_CLUSTER_ROLES if kind == "ClusterRole" else _OTHER_ROLES):
        return True
    return any(each.kind == kind and each.name == name for each in checked.bundle.objects)
