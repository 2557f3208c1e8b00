"""Summaries of real bundles: each has the permissions, the definitions and the refusals of its bundle, and is small."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from catalogd.bundle_summaries.summary_task import MAX_COMPRESSED_BYTES, MAX_SUMMARY_BYTES
from olmctl.diff.definitions import broken_rules
from olmctl.diff.permissions import permissions
from olmkit.crd_safety.compare import storage_version
from olmkit.fbc.bundle_reduction import summarize
from olmkit.fbc.bundle_summary import load
from rukpak.format import BadBundle, read_registry
from rukpak.format.objects import BundleObject
from rukpak.permissions.needed import needed_permissions
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions, render

pytestmark = pytest.mark.corpus

EVERY = 40
"""One of so many bundles is compared in the short run."""


def bundle_directories(corpus: Path) -> list[Path]:
    return sorted(each for package in (corpus / "bundles").iterdir() for each in package.iterdir())


def rendered(files: Mapping[str, bytes]) -> tuple[BundleObject, ...] | str:
    """The objects of the bundle, or why it is refused."""
    why = ""
    for namespace in ("", "system", "other"):
        try:
            bundle = read_registry(files)
            return tuple(applicable(bundle, render(bundle, RenderOptions("system", (namespace,))))[0])
        except BadBundle as error:
            why = error.message
    return why


def definitions(objects: tuple[BundleObject, ...]) -> dict[str, Mapping[str, Any]]:
    return {
        item.name: {**item.body, "status": {"storedVersions": [storage_version(item.body)]}}
        for item in objects
        if item.kind == "CustomResourceDefinition" and item.version == "v1"
    }


def check(directory: Path) -> None:
    whole = {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
    summary = summarize(whole)
    data = summary.to_json()
    assert load(orjson.loads(data)) == summary
    assert len(data) <= MAX_SUMMARY_BYTES
    assert len(zstandard.ZstdCompressor(level=19).compress(data)) <= MAX_COMPRESSED_BYTES
    before, after = rendered(whole), rendered(summary.bundle_files())
    if isinstance(before, str) or isinstance(after, str):
        assert before == after
        return
    assert permissions(before) == permissions(after)
    assert [item.key for item in before] == [item.key for item in after]
    needed = [needed_permissions(objects, (), lambda _: "") for objects in (before, after)]
    assert needed[0] == needed[1]
    # Compared with each other in both directions, they differ in nothing that a rule is about.
    assert broken_rules(definitions(before), definitions(after)) == {}
    assert broken_rules(definitions(after), definitions(before)) == {}
    # Nor do those of the summary that is not rendered, which operator-controller compares.
    assert broken_rules(definitions(before), summary.definitions()) == {}


def test_some_summaries_have_what_their_bundles_have(corpus: Path) -> None:
    found = bundle_directories(corpus)[::EVERY]
    assert len(found) >= 10
    for directory in found:
        check(directory)


@pytest.mark.scale
def test_each_summary_has_what_its_bundle_has(corpus: Path) -> None:
    found = bundle_directories(corpus)
    assert len(found) >= 400
    for directory in found:
        check(directory)
