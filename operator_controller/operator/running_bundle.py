"""Reads the running bundle of an Operator from its Bundle, or from a record if the Bundle is missing.

Never reads the desired bundle. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from olmkit.api.bundle_annotations import (
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    CHANNEL_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
)
from olmkit.api.bundles import Bundle
from olmkit.api.operator_status import InstalledBundle, ProvidedApi
from olmkit.api.operators import Operator
from olmkit.fbc.schemas import GVK
from olmkit.gocompat.text import one_line
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version
from operator_controller.operator.world import ObservedBundleDeployment, image_reference
from operator_controller.resolve.package.package_content import (
    Property,
    parse_recorded_properties,
    recorded_display_names,
)
from operator_controller.resolve.snapshot.package_snapshot import RunningBundle


def read_running(raw: Mapping[str, Any]) -> tuple[RunningBundle, InstalledBundle]:
    """The bundle, from the annotations and the source of its Bundle."""
    bundle = Bundle.load(raw)
    return _read_annotations(bundle.metadata.name, bundle.metadata.annotations, image_reference(bundle.spec))


def read_recorded(
    operator: Operator, deployment: ObservedBundleDeployment
) -> tuple[RunningBundle, InstalledBundle] | None:
    """A missing active Bundle, from its record on the BundleDeployment, else as the Operator's status last reported it.

    None if neither has the bundle.
    """
    recorded = read_installed_record(deployment)
    if recorded is not None:
        return recorded
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
        properties=_properties(installed.apis),
    )
    return running, installed


def read_installed_record(deployment: ObservedBundleDeployment) -> tuple[RunningBundle, InstalledBundle] | None:
    """The active Bundle, from its record on the BundleDeployment; None if there is no record."""
    status = deployment.model.status
    record = status.installed
    if record is None or record.bundle != status.active_bundle:
        return None
    return _read_annotations(record.bundle, record.annotations(), image_reference(record.spec))


def _read_annotations(name: str, annotations: Mapping[str, str], image: str) -> tuple[RunningBundle, InstalledBundle]:
    running = RunningBundle(
        name=annotations.get(BUNDLE_NAME_ANNOTATION, name),
        image=image,
        package=annotations.get(PACKAGE_ANNOTATION, ""),
        version=_version(annotations.get(VERSION_ANNOTATION, "")),
        version_text=annotations.get(VERSION_ANNOTATION, ""),
        catalog=annotations.get(CATALOG_ANNOTATION, ""),
        channel=annotations.get(CHANNEL_ANNOTATION, ""),
        properties=annotations.get(PROPERTIES_ANNOTATION, ""),
    )
    installed = InstalledBundle(
        name=running.name,
        version=running.version_text,
        catalog=running.catalog or None,
        channel=running.channel or None,
        apis=sorted(
            provided_apis(annotations.get(PROPERTIES_ANNOTATION, "")),
            key=lambda api: (api.group, api.kind, api.version),
        ),
    )
    return running, installed


def _version(text: str) -> Version | None:
    try:
        return parse_bundle_version(text)
    except BadVersion:
        return None


def provided_apis(text: str) -> Iterable[ProvidedApi]:
    """The kinds in a properties annotation. The annotation may contain anything, because a person can edit it."""
    properties = parse_recorded_properties(text)
    names = recorded_display_names(Property(str(entry.get("type")), entry.get("value")) for entry in properties)
    for entry in properties:
        value = entry.get("value")
        if entry.get("type") != GVK or not isinstance(value, dict):
            continue
        group, version, kind = (value.get(key) for key in ("group", "version", "kind"))
        if isinstance(group, str) and isinstance(version, str) and isinstance(kind, str):
            display_name = one_line(names.get(f"{group}/{version}/{kind}", "")) or None
            yield ProvidedApi(group=group, version=version, kind=kind, display_name=display_name)


def _properties(apis: Iterable[ProvidedApi]) -> str:
    """The properties annotation of these kinds."""
    entries = [{"type": GVK, "value": {"group": api.group, "kind": api.kind, "version": api.version}} for api in apis]
    return json.dumps(entries, separators=(",", ":"))
