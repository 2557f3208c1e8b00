"""Worlds of Catalogs in every state, for the tests of decide and report."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from catalogd.catalog.decide import WRITE_BATCH_SIZE, desired_source
from catalogd.catalog.package_diff import Difference, ObjectWrite
from catalogd.catalog.world import DesiredSource, Load, Record, ServedContent, World
from catalogd.ingest.catalog_summary import CatalogSummary
from olmkit.api.catalogs import NAME_LABEL, Catalog
from olmkit.errors import Blocked, Waiting
from olmkit.sources.errors import BadContent
from olmkit.sources.spec_source import InputReference

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
STAMP = "2026-01-01T12:00:00Z"
TAG, DIGEST = "registry.example/c:v1", "registry.example/c@sha256:" + "a" * 64
ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64
IMAGE_ONE, IMAGE_TWO = f"registry.example/c@{ONE}", f"registry.example/c@{TWO}"
AWAY = Waiting("RegistryUnavailable", "the registry does not answer", timedelta(seconds=20))
BAD = BadContent("UnpackFailed", "load FBC from filesystem: a.yaml: line 1", IMAGE_TWO)
WRONG = Blocked("InvalidReference", "the reference cannot be read")
MINUTE = timedelta(minutes=1)


def record(ref: str = TAG, digest: str = ONE, unpacked: str = "2026-01-01T00:00:00Z") -> Record:
    return Record(ref, f"registry.example/c@{digest}", digest, unpacked)


def served(of: Record | None = None, **changes: Any) -> ServedContent:
    values: dict[str, Any] = {
        **{"package_names": ("a", "b"), "bundle_count": 5, "blob_count": 9},
        **{"problem_count": 0, "problems": (), "notes": ()},
    }
    return ServedContent(of or record(), CatalogSummary(**{**values, **changes}))


def world(
    ref: str | None = TAG, poll: str | None = None, *, ready: bool = False, deleting: bool = False, **changes: Any
) -> World:
    """A Catalog that was just created, except for what is given."""
    handled = changes.pop("handled", "")
    image = {"ref": ref, **({"pollInterval": poll} if poll else {})} if ref else None
    source = {"type": "image", **({"image": image} if image else {})}
    reported = changes.pop("reported", changes["served"].record.digest if changes.get("served") else "")
    condition = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": STAMP}
    failed = {**condition, "type": "Unpacked", "status": "False", "reason": "UnpackFailed"}
    was_failing = changes.pop("was_failing", False)
    raw = {
        "metadata": {
            **{"name": "c", "generation": 3, "labels": changes.pop("labels", {NAME_LABEL: "c"})},
            **({"deletionTimestamp": STAMP} if deleting else {}),
        },
        "spec": {"source": changes.pop("source", source), **changes.pop("spec", {})},
        "status": {
            **{"observedGeneration": 2, "conditions": [condition] * ready + [failed] * was_failing},
            **({"contentDigest": reported} if reported else {}),
            **({"lastHandledRefresh": handled} if handled else {}),
        },
    }
    values: dict[str, Any] = {
        **{"name": "c", "raw": raw, "catalog": Catalog.load(raw), "job": None, "served": None},
        **{
            "package_diff": Difference(),
            "last_checked": None,
            "content_url": "http://x/catalogs/c/all.json",
            "now": NOW,
        },
        "namespace": "the-suite",
    }
    return World(**{**values, **changes})


def desired(ref: str = TAG, poll: str | None = None) -> DesiredSource:
    """The desired source of a Catalog of an image."""
    found = desired_source(world(ref, poll))
    assert isinstance(found, DesiredSource)
    return found


def load(ref: str = TAG, poll: str | None = None, **changes: Any) -> Load:
    """The action that loads it."""
    return replace(Load(desired(ref, poll)), **changes)


WRITES = Difference(
    writes=tuple(ObjectWrite(f"c-{number:03}", f"{number:03}") for number in range(WRITE_BATCH_SIZE + 1))
)
CHECKED: dict[str, Any] = {"served": served(), "last_checked": NOW - MINUTE}
OFF: dict[str, Any] = {"spec": {"availability": "Unavailable"}}
SECRET = InputReference("Secret", "login")
WITH_SECRET: dict[str, Any] = {"source": {"type": "image", "image": {"ref": TAG, "pullSecret": "login"}}}
