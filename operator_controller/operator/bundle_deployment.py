"""The BundleDeployment of an Operator: makes the desired one for a bundle, and compares it with the existing one.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api import bundledeployments, operators
from olmkit.api.bundle_annotations import (
    ANNOTATION_PREFIX,
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    CHANNEL_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
)
from olmkit.api.bundledeployments import BundleDeploymentSpec, install_fields, template_spec
from olmkit.api.impersonation import Account
from olmkit.api.merge_patch import merge_patch
from olmkit.api.meta import controller_reference
from olmkit.api.operators import Install, Operator
from olmkit.api.provisioner_classes import PLAIN, REGISTRY
from operator_controller.operator.world import ObservedBundleDeployment, World, image_reference
from operator_controller.resolve.answers.answer import FollowedCatalog, SelectedBundle
from operator_controller.resolve.package.bundle_identity import is_same_image
from operator_controller.resolve.snapshot.package_snapshot import RunningBundle

PROVISIONER_BY_MEDIA_TYPE = {"registry+v1": REGISTRY, "plain+v0": PLAIN}
"""The provisioner that unpacks a bundle, by the bundle's media type."""

_DELETION_POLICY = "deletionPolicy"
_ACCOUNT_FIELDS = ("serviceAccount", "installNamespace")
"""The account, and the namespace that it is in if it names none."""
_HANDED_ON = ("pullSecret", "verify")
"""The fields of the image that are those of the Catalog."""


def bundle_deployment_for(world: World, bundle: SelectedBundle) -> dict[str, Any] | None:
    """The BundleDeployment that installs the bundle, with the fields of this controller only; None if the media type of the
    bundle is unknown."""
    provisioner = PROVISIONER_BY_MEDIA_TYPE.get(bundle.media_type)
    if provisioner is None:
        return None
    operator = world.operator
    handed_on = {"pullSecret": _desired_pull_secret(world), "verify": _desired_verification(world)}
    image = {"ref": bundle.image, **{name: value for name, value in handed_on.items() if value}}
    spec = {"provisionerClassName": provisioner, "source": {"type": "image", "image": image}}
    return _manifest(operator, _annotations(operator, bundle), spec)


def with_successor(
    operator: Operator, existing: ObservedBundleDeployment, successor: FollowedCatalog
) -> dict[str, Any]:
    """The existing BundleDeployment with the successor recorded as its catalog, and nothing else changed."""
    changed = {CATALOG_ANNOTATION: successor.catalog, CHANNEL_ANNOTATION: successor.channel}
    return _manifest(operator, {**_own_annotations(existing), **changed}, template_spec(dict(existing.raw)))


def with_install_settings(operator: Operator, existing: ObservedBundleDeployment) -> dict[str, Any]:
    """The existing BundleDeployment with the install settings of the Operator, and nothing else changed."""
    return _manifest(operator, _own_annotations(existing), template_spec(dict(existing.raw)))


def with_deletion_settings(operator: Operator, existing: ObservedBundleDeployment) -> dict[str, Any] | None:
    """The existing BundleDeployment with the deletion policy and the account of an Operator that is being deleted; None if it has
    both already. One whose Operator names no account keeps its own."""
    install, deployed = operator.spec.install or Install(), existing.model.spec
    policy, account = install.deletion_policy, _account_to_delete_as(install, deployed)
    if policy == deployed.deletion_policy and account is None:
        return None
    body = with_install_settings(operator, existing)
    kept = {name: value for name, value in existing.raw["spec"].items() if name != _DELETION_POLICY}
    if account is not None:
        kept[_ACCOUNT_FIELDS[0]] = {key: value for key, value in account._asdict().items() if value}
    return {**body, "spec": {**kept, **({_DELETION_POLICY: policy} if policy else {})}}


def _account_to_delete_as(install: Install, deployed: BundleDeploymentSpec) -> Account | None:
    """The account that an Operator names and its BundleDeployment does not; None if there is none."""
    named = install.account()
    if named is None:
        return None
    account = Account(named.namespace or deployed.install_namespace or "", named.name)
    return account if account != deployed.account() else None


def _manifest(operator: Operator, annotations: Mapping[str, str], spec: Mapping[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"annotations": dict(annotations)}, "spec": dict(spec)}
    owner = controller_reference(operators.KIND, operator.metadata.name, operator.metadata.uid)
    return {
        "apiVersion": bundledeployments.KIND.api_version,
        "kind": bundledeployments.KIND.kind,
        "metadata": {"name": operator.metadata.name, "ownerReferences": [owner]},
        "spec": {"provisionerClassName": PLAIN, "template": template, **(operator.spec.install or Install()).fields()},
    }


def _annotations(operator: Operator, bundle: SelectedBundle) -> dict[str, str]:
    """The annotations that record the bundle, so that it remains known when its catalog is deleted."""
    return {
        PACKAGE_ANNOTATION: operator.spec.package_name,
        BUNDLE_NAME_ANNOTATION: bundle.name,
        VERSION_ANNOTATION: bundle.version,
        CATALOG_ANNOTATION: bundle.catalog,
        CHANNEL_ANNOTATION: bundle.channel,
        PROPERTIES_ANNOTATION: bundle.properties,
    }


def _own_annotations(existing: ObservedBundleDeployment) -> dict[str, str]:
    """The annotations of the template that this controller writes."""
    return {key: text for key, text in existing.annotations.items() if key.startswith(ANNOTATION_PREFIX)}


def foreign_fields(applied: ObservedBundleDeployment, desired: Mapping[str, Any]) -> Mapping[str, Any]:
    """A patch of the spec that removes fields that others have added: install settings, annotations of the template that describe
    a bundle, the pull secret, and the policy for signatures. Empty if there is nothing to remove.

    An apply removes only the fields of its own field manager.
    """
    patch = merge_patch(install_fields(dict(applied.raw)), install_fields(dict(desired)))
    template = _foreign_fields_of_template(applied, desired)
    return patch | ({"template": template} if template else {})


def replaced_fields(existing: Mapping[str, Any], desired: Mapping[str, Any]) -> Mapping[str, Any]:
    """A patch of the spec of a BundleDeployment as read that comes before its apply, which keeps what others have added: it
    replaces the source, if that has fields of another type, and the whole spec, if that has another account. So nothing is
    installed as an account that was written for another one. Empty if neither differs."""
    before, after = existing["spec"], desired["spec"]
    if any(before.get(name) != after.get(name) for name in _ACCOUNT_FIELDS) and _ACCOUNT_FIELDS[0] in {*before, *after}:
        return merge_patch(before, after)
    old, new = (each["template"]["spec"]["source"] for each in (before, after))
    others = old.keys() - new.keys()
    return {"template": {"spec": {"source": {**dict.fromkeys(sorted(others)), **new}}}} if others else {}


def _foreign_fields_of_template(applied: ObservedBundleDeployment, desired: Mapping[str, Any]) -> dict[str, Any]:
    change: dict[str, Any] = {}
    template = desired["spec"]["template"]
    annotations = sorted(_own_annotations(applied).keys() - template["metadata"]["annotations"].keys())
    if annotations:
        change["metadata"] = {"annotations": dict.fromkeys(annotations)}
    image = template["spec"]["source"].get("image") or {}
    if foreign := [name for name in _HANDED_ON if _image(applied).get(name) and name not in image]:
        change["spec"] = {"source": {"image": dict.fromkeys(foreign)}}
    return change


def _desired_pull_secret(world: World) -> str:
    """The pull secret of the bundle's Catalog. If the Catalog was deleted after the answer was made, the pull secret stays as it
    is."""
    if world.pull_secret is None:
        return str(_existing_image(world).get("pullSecret") or "")
    return world.pull_secret


def _desired_verification(world: World) -> Mapping[str, Any]:
    """The policy for the signatures of the image: spec.bundles.verify of the bundle's Catalog, in the same way."""
    if world.verification is None:
        return _existing_image(world).get("verify") or {}
    return world.verification


def _existing_image(world: World) -> Mapping[str, Any]:
    existing = world.owned_bundle_deployment
    return _image(existing) if existing is not None else {}


def _image(existing: ObservedBundleDeployment) -> Mapping[str, Any]:
    """The image of the template as read; empty for another source."""
    return template_spec(dict(existing.raw))["source"].get("image") or {}


def differs(existing: ObservedBundleDeployment, desired: Mapping[str, Any]) -> bool:
    """Report whether a field of this controller differs. Fields that others added are ignored."""
    spec: Mapping[str, Any] = existing.raw["spec"]
    return bool(
        spec["provisionerClassName"] != desired["spec"]["provisionerClassName"]
        or template_spec(dict(existing.raw)) != desired["spec"]["template"]["spec"]
        or _own_annotations(existing) != desired["spec"]["template"]["metadata"]["annotations"]
        or install_fields(dict(existing.raw)) != install_fields(dict(desired))
    )


def requests_bundle(existing: ObservedBundleDeployment, bundle: SelectedBundle) -> bool:
    """Report whether the existing BundleDeployment requests the bundle: by name, version and image."""
    annotations, image = existing.annotations, image_reference(existing.model.spec.template.spec)
    named = annotations.get(BUNDLE_NAME_ANNOTATION), annotations.get(VERSION_ANNOTATION)
    return named == (bundle.name, bundle.version) and (image == bundle.image or is_same_image(image, bundle.image))


def runs_template(running: RunningBundle | None, existing: ObservedBundleDeployment) -> bool:
    """Report whether the running bundle is the bundle of the template, by name and by image, because a name may get another
    image."""
    if running is None:
        return False
    name = existing.annotations.get(BUNDLE_NAME_ANNOTATION, running.name)
    return running.name == name and has_image(running, image_reference(existing.model.spec.template.spec))


def has_image(running: RunningBundle, image: str) -> bool:
    """Report whether the running bundle has this image, on any registry."""
    return image != "" and (running.image == image or is_same_image(running.image, image))
