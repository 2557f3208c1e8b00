"""What the Operator's controller looks at: the World of one Operator.

Filled by reconciler.py, judged by judge.py, decide.py and report.py. Values only, and how they are read out of the API server's
JSON. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import (
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    CHANNEL_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
    BundleDeployment,
)
from olmkit.api.bundles import Bundle
from olmkit.api.conditions import find_condition, is_condition_true
from olmkit.api.meta import Condition, OwnerReference
from olmkit.api.operators import KIND, InstalledBundle, Operator, ProvidedApi
from olmkit.fbc.schemas import GVK
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version
from operator_controller.resolve.explained_resolution import ExplainedResolution
from operator_controller.resolve.snapshot import CatalogOffer, RunningBundle

ConditionType = bundledeployments.ConditionType


@dataclass(frozen=True)
class PackageClaim:
    """An Operator's claim to a package. The senior of several is the smallest."""

    is_new: bool
    """It has not installed the package yet."""
    is_idle: bool
    """It has no BundleDeployment for the package yet."""
    created: str
    name: str
    is_deleting: bool = False
    """It is being deleted."""

    @property
    def seniority(self) -> tuple[bool, bool, str, str]:
        """Installed first, then under way, then the older, then by name."""
        return self.is_new, self.is_idle, self.created, self.name


@dataclass(frozen=True)
class ObservedBundleDeployment:
    """The BundleDeployment of the Operator's name, as read and as model."""

    raw: Mapping[str, Any]
    model: BundleDeployment

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> ObservedBundleDeployment:
        """From the API server's JSON."""
        return cls(raw, BundleDeployment.load(raw))

    @property
    def is_current(self) -> bool:
        """Its status speaks of its spec."""
        return self.model.status.observed_generation == self.model.metadata.generation

    @property
    def annotations(self) -> Mapping[str, str]:
        """What the template says of the bundle that is wanted."""
        metadata = self.model.spec.template.metadata
        return (metadata.annotations if metadata else None) or {}

    def condition(self, name: str) -> Condition | None:
        """A condition that speaks of the spec as it is now."""
        if not self.is_current:
            return None
        return find_condition(self.model.status.conditions, name)

    def is_true(self, name: str) -> bool:
        """Whether a condition of now is True."""
        return self.is_current and is_condition_true(self.model.status.conditions, name)

    @property
    def controller(self) -> OwnerReference | None:
        """Who owns it."""
        return next((owner for owner in self.model.metadata.owner_references if owner.controller), None)


@dataclass(frozen=True)
class World:
    """Everything one pass may look at."""

    now: datetime
    raw: Mapping[str, Any]
    """The Operator as read."""
    operator: Operator
    offers: tuple[CatalogOffer, ...] = ()
    """One per Catalog, sorted by name; empty for an Operator that is being deleted."""
    bundle_deployment: ObservedBundleDeployment | None = None
    running: RunningBundle | None = None
    """The bundle that the BundleDeployment calls active, read from that Bundle; when it is missing, from what is recorded."""
    installed_status: InstalledBundle | None = None
    """The same for the status."""
    missing_bundle: str = ""
    """Name of an active Bundle that could not be seen."""
    missing_since: datetime | None = None
    """When that began, as far as this process has seen."""
    claims: tuple[PackageClaim, ...] = ()
    """This Operator's claim to its package and those of others."""
    rejected_images: Mapping[str, str] = field(default_factory=dict)
    """Why rukpak refuses an image on every cluster, by its digest."""
    is_watch_open: bool = True
    """Whether the watch of BundleDeployments is open: there is none but those that are known."""
    needs_recheck: bool = False
    """Something that no event will tell of: a catalog is away, or answered with other content than its status names."""
    resolution: ExplainedResolution | None = None
    """The answer to judge.question(); None when that asks nothing."""

    @property
    def owned_bundle_deployment(self) -> ObservedBundleDeployment | None:
        """The BundleDeployment, if it is this Operator's."""
        deployment = self.bundle_deployment
        if deployment is None or not is_owned(deployment, self.operator.metadata.uid):
            return None
        return deployment


def is_owned(deployment: ObservedBundleDeployment, uid: str) -> bool:
    """Whether the Operator of this uid controls it."""
    owner = deployment.controller
    return owner is not None and owner.uid == uid and owner.kind == KIND.kind


def image_reference(spec: Any) -> str:
    """The image reference of a Bundle's spec."""
    return spec.source.image.ref if spec.source.image else ""


def read_running(raw: Mapping[str, Any]) -> tuple[RunningBundle, InstalledBundle]:
    """What a Bundle is, from its own annotations and source."""
    bundle = Bundle.load(raw)
    return _read_annotations(bundle.metadata.name, bundle.metadata.annotations, image_reference(bundle.spec))


def read_recorded(
    operator: Operator, deployment: ObservedBundleDeployment
) -> tuple[RunningBundle, InstalledBundle] | None:
    """What an active Bundle that is missing was: from its record on the BundleDeployment, else as the Operator last reported it.

    None when neither says.
    """
    status = deployment.model.status
    record = status.installed
    if record is not None and record.bundle == status.active_bundle:
        return _read_annotations(record.bundle, record.annotations(), image_reference(record.spec))
    image, installed = operator.status.installed_bundle_resource, operator.status.installed
    if not image or installed is None:
        return None
    running = RunningBundle(
        name=installed.name,
        image=image,
        package=deployment.annotations.get(PACKAGE_ANNOTATION, ""),
        version=_version(installed.version),
        version_text=installed.version,
        catalog=installed.catalog or "",
        channel=installed.channel or "",
    )
    return running, installed


def _read_annotations(name: str, notes: Mapping[str, str], image: str) -> tuple[RunningBundle, InstalledBundle]:
    running = RunningBundle(
        name=notes.get(BUNDLE_NAME_ANNOTATION, name),
        image=image,
        package=notes.get(PACKAGE_ANNOTATION, ""),
        version=_version(notes.get(VERSION_ANNOTATION, "")),
        version_text=notes.get(VERSION_ANNOTATION, ""),
        catalog=notes.get(CATALOG_ANNOTATION, ""),
        channel=notes.get(CHANNEL_ANNOTATION, ""),
    )
    installed = InstalledBundle(
        name=running.name,
        version=running.version_text,
        catalog=running.catalog or None,
        channel=running.channel or None,
        apis=sorted(_apis(notes.get(PROPERTIES_ANNOTATION, "")), key=lambda api: (api.group, api.kind, api.version)),
    )
    return running, installed


def _version(text: str) -> Version | None:
    try:
        return parse_bundle_version(text)
    except BadVersion:
        return None


def _apis(text: str) -> Iterable[ProvidedApi]:
    """The kinds that the properties annotation names; a person may have written anything into it."""
    for entry in parse_properties(text):
        value = entry.get("value")
        if entry.get("type") != GVK or not isinstance(value, dict):
            continue
        group, version, kind = (value.get(key) for key in ("group", "version", "kind"))
        if isinstance(group, str) and isinstance(version, str) and isinstance(kind, str):
            yield ProvidedApi(group=group, version=version, kind=kind)


def parse_properties(text: str) -> list[dict[str, Any]]:
    """The JSON array of the properties annotation; what is none counts as empty."""
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return []
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
