"""Renders the OperatorCondition of a registry+v1 bundle, what its operator needs to find it, and the permission to write it.

    OperatorCondition          named as the ClusterServiceVersion, in the install namespace, with Deployments and accounts
    Role, RoleBinding          the accounts may read it and write its conditions
    OPERATOR_CONDITION_NAME    in each container of the Deployments, not in init containers

The name of the OperatorCondition, the rules and the variable are those of OLM v0. spec.conditions belongs to the operator and
spec.overrides to administrators: neither is rendered. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.operator_condition_names import GROUP, GROUP_KIND, KIND_NAME, NAME_VARIABLE, PLURAL, V1, V2
from rukpak.format.bundle import Body, Bundle, RegistryBundle
from rukpak.format.objects import ObjectKey
from rukpak.render.cluster_info import Served
from rukpak.render.rbac import RBAC_GROUP

ROLE_SUFFIX = "-operator-condition"
"""The end of the names of Role and RoleBinding. A running OLM v0 gives each OperatorCondition of the cluster a Role and a
RoleBinding of its plain name, and replaces what others have under that name."""
DEFAULT_ACCOUNT = "default"
"""The account of an operator whose ClusterServiceVersion names none."""
_STATUS_VERBS = ["get", "update", "patch"]
_VERBS = {V1: ["get"], V2: ["get", "update", "patch"]}
"""The verbs on the object. In v1 the operator writes the status alone."""


def condition_key(bundle: Bundle, namespace: str) -> ObjectKey | None:
    """The key of the OperatorCondition; None if the bundle has no ClusterServiceVersion, or one of a name that no object can
    have."""
    if not isinstance(bundle, RegistryBundle) or not is_dns1123_subdomain(bundle.csv_name):
        return None
    return ObjectKey(*GROUP_KIND, namespace, bundle.csv_name)


def served_version(served: Collection[Served]) -> str:
    """The version in which the cluster serves OperatorConditions; the preferred one if it does not serve them."""
    return next((version for version in (V2, V1) if (GROUP, version, KIND_NAME) in served), V2)


def condition_objects(bundle: RegistryBundle, namespace: str, version: str) -> Iterator[Body]:
    """The OperatorCondition in this version, then the Role and its binding."""
    name, accounts = bundle.csv_name, _accounts(bundle)
    metadata = {"name": name, "namespace": namespace}
    access = {**metadata, "name": f"{name}{ROLE_SUFFIX}"}
    deployments = [deployment["name"] for deployment in bundle.install_spec.get("deployments") or ()]
    yield {
        "apiVersion": f"{GROUP}/{version}",
        "kind": KIND_NAME,
        "metadata": metadata,
        "spec": {"deployments": deployments, "serviceAccounts": accounts},
    }
    yield {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "Role",
        "metadata": access,
        "rules": [_rule(PLURAL, name, _VERBS[version]), _rule(f"{PLURAL}/status", name, _STATUS_VERBS)],
    }
    yield {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": access,
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": access["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace} for account in accounts],
    }


def with_condition_name(deployment: Body, name: str) -> Body:
    """The Deployment with the variable in each container. A value that the bundle or the config gives it is replaced."""
    template = deployment["spec"]["template"]
    pod = template["spec"]
    containers = [_with_variable(container, name) for container in pod.get("containers") or ()]
    template = {**template, "spec": {**pod, "containers": containers}}
    return {**deployment, "spec": {**deployment["spec"], "template": template}}


def _with_variable(container: Body, name: str) -> Body:
    given = [dict(each) for each in container.get("env") or ()]
    variable: dict[str, Any] = {"name": NAME_VARIABLE, "value": name}
    if not any(each.get("name") == NAME_VARIABLE for each in given):
        return {**container, "env": [*given, variable]}
    return {**container, "env": [variable if each.get("name") == NAME_VARIABLE else each for each in given]}


def _accounts(bundle: RegistryBundle) -> list[str]:
    install = bundle.install_spec
    permissions = [*(install.get("permissions") or ()), *(install.get("clusterPermissions") or ())]
    names = {permission["serviceAccountName"] or DEFAULT_ACCOUNT for permission in permissions}
    return sorted(names) or [DEFAULT_ACCOUNT]


def _rule(resource: str, name: str, verbs: list[str]) -> Body:
    return {"verbs": verbs, "apiGroups": [GROUP], "resources": [resource], "resourceNames": [name]}
