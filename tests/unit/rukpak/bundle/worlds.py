"""Worlds of the controller of Bundles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, Bundle, BundleStatus
from olmkit.errors import OlmError, Waiting
from olmkit.jobs.state import Failed, Finished, Queued, Running
from olmkit.sources.resolved_source import content_digest, resolved_image
from olmkit.sources.spec_source import InputReference, input_references
from olmkit.store.store import unreadable_error
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.uploads.stored_upload import StoredUpload
from rukpak.bundle.world import UnpackState, World

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TAG = "registry.example.com/bundles/a:v1"
DIGEST = "registry.example.com/bundles/a@sha256:" + "1" * 64
RECORDED = {IMAGE_BY_DIGEST_ANNOTATION: DIGEST}
UNREADABLE = unreadable_error("Too many open files")
NOT_FOUND = Waiting("ImageNotFound", f"image {TAG} not found", timedelta(seconds=5))
QUEUED = Queued("u/1")


def running(progress: str = "") -> UnpackState:
    """A job that runs."""
    return Running("u/1", progress)


def finished(ref: str = DIGEST, problem: str = "", identity: str = "u/1") -> UnpackState:
    """A job that found the image."""
    return Finished(identity, UnpackResult(resolved_image(ref), ref.partition("@")[2], problem=problem))


def found_commit(problem: str = "") -> UnpackState:
    """A job that found the commit."""
    return Finished("u/1", UnpackResult(RESOLVED_COMMIT, content_digest(RESOLVED_COMMIT), problem=problem))


def failed(error: OlmError, finished_at: float = 0.0) -> UnpackState:
    """A job whose last attempt failed."""
    return Failed("u/1", error, finished_at, 1)


def world(
    *,
    job: UnpackState | None = None,
    stored_type: str = "",
    conflicting: str = "",
    conflicting_deployment: str = "",
    unreadable: Waiting | None = None,
    resolved: str = "",
    observed: int = 1,
    recorded: str = "",
    monotonic: float = 0.0,
    pull_secret: str = "",
    secret_version: str | None = None,
    common_secret_version: str = "",
    **metadata: Any,
) -> World:
    """A Bundle of generation 1, whose status was observed at `observed` and names the image `resolved`."""
    status: dict[str, Any] = {"observedGeneration": observed, "conditions": []}
    if resolved:
        status["resolvedSource"] = resolved_image(resolved)
    image = {"ref": TAG, "pullSecret": pull_secret} if pull_secret else {"ref": TAG}
    raw = {
        "metadata": {"name": "a", "uid": "u", "generation": 1, **metadata},
        "spec": {"provisionerClassName": "core-rukpak-io-registry", "source": {"type": "image", "image": image}},
        "status": status,
    }
    inputs = {InputReference("Secret", pull_secret): secret_version} if pull_secret else {}
    return World(
        "a",
        NOW,
        raw,
        Bundle.load(raw),
        stored_type,
        job,
        conflicting,
        unreadable,
        frozenset({(IMAGE_BY_DIGEST_ANNOTATION, recorded)} if recorded else ()),
        monotonic=monotonic,
        conflicting_deployment=conflicting_deployment,
        namespace="the-suite",
        inputs=inputs,
        common_secret_version=common_secret_version,
    )


def with_spec(seen: World, **changes: Any) -> World:
    """The same World with another spec, whose Secret and ConfigMaps do not exist unless the World has them."""
    assert seen.raw is not None
    bundle = Bundle.load({**seen.raw, "spec": {**seen.raw["spec"], **changes}})
    inputs = {each: seen.inputs.get(each) for each in input_references(bundle.spec.source)}
    return replace(seen, bundle=bundle, inputs=inputs)


REPOSITORY = "https://git.example.com/combo.git"
COMMIT = "c" * 40
RESOLVED_COMMIT = {"type": "git", "git": {"repository": REPOSITORY, "commit": COMMIT}}


def of_git(**known: Any) -> World:
    """A Bundle of a tag of a git repository; `known` as for world()."""
    return with_source(world(**known), {"type": "git", "git": {"repository": REPOSITORY, "ref": {"tag": "v0.0.2"}}})


FILES_DIGEST = "sha256:" + "f" * 64
TWO_MAPS: Mapping[str, str | None] = {"a": "1", "b": "2"}
RESOLVED_FILES = {"type": "configMaps", "configMaps": {"digest": FILES_DIGEST}}


def of_maps(*, path: str = "manifests", versions: Mapping[str, str | None] = TWO_MAPS, **known: Any) -> World:
    """A Bundle of ConfigMaps with these resourceVersions; `known` as for world()."""
    members = [{"configMap": {"name": name}, "path": path} for name in versions]
    seen = with_source(world(**known), {"type": "configMaps", "configMaps": members})
    return replace(seen, inputs={InputReference("ConfigMap", name): version for name, version in versions.items()})


def with_source(seen: World, source: Any) -> World:
    """The same World with another source."""
    return with_spec(seen, source=source)


def resolved_as(seen: World, resolved: Any) -> World:
    """The same World, whose status has this resolved source."""
    assert seen.bundle is not None
    status = {**seen.bundle.status.dump(), "resolvedSource": resolved}
    return with_status(seen, BundleStatus.load(status))


def with_status(seen: World, status: Any) -> World:
    """The same World with that status written."""
    assert seen.bundle is not None
    return replace(seen, bundle=seen.bundle.model_copy(update={"status": status}))


IMAGE = "registry.example.com/a@sha256:" + "1" * 64
SPEC = {
    "provisionerClassName": "core-rukpak-io-registry",
    "source": {"type": "image", "image": {"ref": "registry.example.com/a:v1"}},
}
OTHER_SPEC = {**SPEC, "provisionerClassName": "core-rukpak-io-plain"}


def deployment(uid: str = "d", **record: Any) -> dict[str, Any]:
    """A BundleDeployment that records the Bundle "a"."""
    known = {"bundle": "a", "image": IMAGE, "spec": SPEC, **record}
    return {
        "metadata": {"name": "deployment", "uid": uid},
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": {"spec": SPEC}},
        "status": {"activeBundle": "a", "installed": known},
    }


def revision(**record: Any) -> dict[str, Any]:
    """A revision of the Bundle "a"."""
    known = {"revision": 1, "install": "{}", "outcome": "InProgress", "startedAt": "2026-01-01T10:00:00Z"}
    return {"bundle": "a", "image": IMAGE, "spec": SPEC, **known, **record}


def with_history(*revisions: dict[str, Any], bundle: str = "") -> dict[str, Any]:
    """A BundleDeployment with these revisions; `bundle` is installed, if that is given."""
    seen = deployment(bundle=bundle)
    status = seen["status"] if bundle else {}
    return {**seen, "status": {**status, "history": list(revisions)}}


ARCHIVE = "sha256:" + "a" * 64
OTHER_ARCHIVE = "sha256:" + "b" * 64
RESOLVED_UPLOAD = {"type": "upload", "upload": {"digest": ARCHIVE}}


def of_upload(digest: str = "", stored: str = "", **known: Any) -> World:
    """A Bundle of an upload, with this digest in its spec and this archive stored; `known` as for world()."""
    seen = with_source(world(**known), {"type": "upload", "upload": {"digest": digest} if digest else {}})
    return replace(seen, stored_upload=StoredUpload(stored, 1, "index") if stored else None)
