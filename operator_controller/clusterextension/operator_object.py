"""The Operator of a ClusterExtension: makes it, and compares it with the existing one.

The translation owns some fields of the Operator and writes them as the ClusterExtension says, whatever others have written there.
All other fields are left to people: approval, paused, excludedVersions, and of install deletionPolicy, adoptionPolicy, rollback,
certificates and crdUpgradeSafety.ignoredRules. What was decided for another account does not count for a new one. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from olmkit.api import clusterextensions, operators
from olmkit.api.clustercatalogs import KIND as CATALOG_KIND
from olmkit.api.clusterextensions import (
    OWNER_KIND_LABEL,
    CatalogFilter,
    ClusterExtension,
    UpgradeConstraintPolicy,
    operator_name,
    owned_fields,
    owner_labels,
)
from olmkit.api.impersonation import Account
from olmkit.api.install_policies import MUST_EXIST
from olmkit.api.merge_patch import merge_patch
from olmkit.api.meta import Object, controller_reference
from olmkit.api.operators import (
    DELETION_PROTECTION_ANNOTATION,
    EVERY_CHANNEL,
    FINALIZER,
    PROTECTED,
    OperatorSpec,
    has_protection,
)
from operator_controller.clusterextension.configuration import Configuration

_CONSTRAINTS = {UpgradeConstraintPolicy.CATALOG_PROVIDED: "Enforce", UpgradeConstraintPolicy.SELF_CERTIFIED: "Ignore"}
_ENFORCEMENT = {"Strict": "Enforce", "None": "None"}


def operator_for(extension: ClusterExtension, configuration: Configuration) -> Object:
    """The Operator with the fields that the translation owns. It has the finalizer of Operators from the beginning, which saves
    the write that adds it. A configuration with problems has no Operator. Raises ValueError if the annotation with the account
    cannot be read."""
    name, spec = extension.metadata.name, extension.spec
    is_protected = has_protection(extension.metadata.annotations)
    return {
        "apiVersion": operators.KIND.api_version,
        "kind": operators.KIND.kind,
        "metadata": {
            "name": operator_name(name),
            "ownerReferences": [controller_reference(clusterextensions.KIND, name, extension.metadata.uid)],
            "finalizers": [FINALIZER],
            **({"annotations": {DELETION_PROTECTION_ANNOTATION: PROTECTED}} if is_protected else {}),
        },
        "spec": {**_choice(spec.source.catalog), "install": _install(extension, configuration)},
    }


def _choice(catalog: CatalogFilter | None) -> Object:
    """The fields that choose a bundle."""
    if catalog is None:  # the API server accepts no such ClusterExtension
        return {}
    return {
        "packageName": catalog.package_name,
        **({"version": version_range(catalog.version)} if catalog.version else {}),
        "channels": catalog.channels or [EVERY_CHANNEL],
        "catalogSelector": _selector(catalog),
        "upgradeConstraintPolicy": _CONSTRAINTS[catalog.upgrade_constraint_policy],
    }


def version_range(text: str) -> str:
    """The range with blanks where it has other white space, which an Operator does not accept."""
    return re.sub(r"\s", " ", text)


def _selector(catalog: CatalogFilter) -> Object:
    """The selector of the ClusterExtension, and that it selects Catalogs of ClusterCatalogs only: its user cannot see others, and
    they would be in the way of the choice."""
    given = catalog.selector.dump() if catalog.selector is not None else {}
    own = {"key": OWNER_KIND_LABEL, "operator": "In", "values": [CATALOG_KIND.kind]}
    return {**given, "matchExpressions": [*given.get("matchExpressions", ()), own]}


def _install(extension: ClusterExtension, configuration: Configuration) -> Object:
    spec = extension.spec
    preflight = spec.install.preflight if spec.install else None
    enforcement = preflight.crd_upgrade_safety.enforcement if preflight else "Strict"
    watched, deadline = configuration.watch_namespace, spec.progress_deadline_minutes
    account = extension.account()
    return {
        "namespace": spec.namespace,
        "namespacePolicy": MUST_EXIST,
        **({"watchNamespaces": [watched]} if watched else {}),
        "installModePolicy": "Strict",
        "objectLabels": owner_labels(extension.metadata.name),
        "crdUpgradeSafety": {"policy": _ENFORCEMENT[enforcement]},
        **({"config": dict(configuration.deployment_config)} if configuration.deployment_config else {}),
        **({"progressDeadline": f"{deadline}m"} if deadline else {}),
        **({"serviceAccount": account._asdict()} if account is not None else {}),
    }


def change_of(existing: Mapping[str, Any], desired: Mapping[str, Any]) -> Object:
    """The merge patch that gives the existing Operator the owned fields of the desired one, and removes what others have written
    into them; empty if they are equal. It is one write: between two, an Operator could follow a half of each. With a new account
    the whole spec is replaced: nobody decides how it is used who was not permitted to use it."""
    before, after = existing["spec"], desired["spec"]
    is_new_account = account_of(desired) is not None and account_of(existing) != account_of(desired)
    spec = merge_patch(before, after) if is_new_account else merge_patch(owned_fields(before), owned_fields(after))
    protection = protection_change(existing, desired)
    return {**({"metadata": protection} if protection else {}), **({"spec": spec} if spec else {})}


def account_of(operator: Mapping[str, Any]) -> Account | None:
    """The account that an Operator is installed as; None if it names none."""
    install = OperatorSpec.load(operator["spec"]).install
    return install.account() if install is not None else None


def protection_change(existing: Mapping[str, Any], protector: Mapping[str, Any]) -> Object:
    """The change of the metadata of the Operator after which it is protected from deletion exactly if the other object is; empty
    if it is so already."""
    before, after = (has_protection(each["metadata"].get("annotations")) for each in (existing, protector))
    return {"annotations": {DELETION_PROTECTION_ANNOTATION: PROTECTED if after else None}} if before != after else {}
