"""Which changes of a Catalog make the Resolver read it, and which reads it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.api.catalogs import Catalog
from operator_controller.catalog_cache.client import CatalogContentResult
from operator_controller.resolution.snapshot_inputs import CatalogReads, catalog_source, is_outdated, resolution_inputs
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.operator.worlds import catalog

Object = dict[str, Any]


def being_deleted() -> Object:
    raw = catalog()
    return {**raw, "metadata": {**raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def labelled(**labels: str) -> Object:
    raw = catalog()
    return {**raw, "metadata": {**raw["metadata"], "labels": labels}}


@pytest.mark.parametrize(
    ("after", "is_relevant"),
    [
        pytest.param(catalog(), False, id="nothing"),
        pytest.param(
            catalog({"lastUnpacked": "2026-01-01T00:00:00Z", "packageCount": 3}), False, id="fields for information"
        ),
        pytest.param(
            catalog({"phase": "Failing"}), False, id="new content that cannot be read, while the old is served"
        ),
        pytest.param(catalog({"contentDigest": "sha256:2"}), True, id="a new digest"),
        pytest.param(
            catalog({"resolvedSource": {"type": "image", "image": {"ref": "m@sha256:1"}}}), False, id="the same digest"
        ),
        pytest.param(catalog({"contentURL": "http://other/catalogs/c/all.json"}), True, id="another address"),
        pytest.param(catalog({"conditions": []}), True, id="no longer served"),
        pytest.param(catalog(priority=1), True, id="another priority"),
        pytest.param(catalog(packages=["p"]), True, id="a list of packages"),
        pytest.param(labelled(team="a"), True, id="another label"),
        pytest.param(catalog(availability="Unavailable"), True, id="unavailable"),
        pytest.param(being_deleted(), True, id="being deleted"),
        pytest.param(None, True, id="deleted"),
    ],
)
def test_resolution_inputs(after: Object | None, is_relevant: bool) -> None:
    assert (resolution_inputs(catalog()) != resolution_inputs(after)) is is_relevant


def unserved(reason: str, message: str) -> Object:
    """A Catalog that serves nothing, with this condition Unpacked."""
    unpacked = {"type": "Unpacked", "status": "False", "reason": reason, "message": message}
    return catalog({"conditions": [{**unpacked, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})


@pytest.mark.parametrize(
    ("before", "after", "is_relevant"),
    [
        pytest.param(
            unserved("UnpackPending", "waiting to read r:v1"), unserved("Unpacking", "1 MB"), False, id="its progress"
        ),
        pytest.param(catalog({"conditions": []}), unserved("UnpackFailed", "no such tag"), True, id="its first error"),
        pytest.param(
            unserved("UnpackFailed", "no such tag"), unserved("UnpackFailed", "no such host"), True, id="another error"
        ),
        pytest.param(unserved("UnpackFailed", "no such tag"), unserved("Unpacking", ""), True, id="it has gone"),
    ],
)
def test_the_error_of_a_catalog_that_is_not_served_is_what_operators_report(
    before: Object, after: Object, is_relevant: bool
) -> None:
    assert (resolution_inputs(before) != resolution_inputs(after)) is is_relevant


def reporting(ready: str, reconciling: str = "", **status: Any) -> Object:
    """A Catalog that serves, with the reasons of Ready and of Reconciling."""
    raw = catalog(status)
    condition = {**raw["status"]["conditions"][0], "status": "True"}
    for type, reason in (("Ready", ready), ("Reconciling", reconciling)):
        if reason:
            raw["status"]["conditions"].append({**condition, "type": type, "reason": reason})
    return raw


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(reporting("Succeeded"), False, id="a Catalog that serves what its spec asks for"),
        pytest.param(reporting("Succeeded", observedGeneration=0), True, id="a spec that catalogd has not observed"),
        pytest.param(reporting("ServingOldContent", "Unpacking"), True, id="new content that is being read"),
        pytest.param(reporting("ServingOldContent", "Retrying"), True, id="new content that cannot be read now"),
        pytest.param(reporting("ServingOldContent"), False, id="new content that cannot be read before someone acts"),
        pytest.param(reporting("Succeeded", "WritingPackages"), False, id="Package objects that are being written"),
        pytest.param(catalog({"conditions": [], "observedGeneration": 0}), False, id="a Catalog that serves nothing"),
        pytest.param(catalog({"observedGeneration": 0}, availability="Unavailable"), False, id="an unavailable one"),
        pytest.param(None, False, id="a Catalog that does not exist"),
    ],
)
def test_is_outdated(raw: Object | None, expected: bool) -> None:
    assert is_outdated(raw) is expected


@pytest.mark.parametrize(
    ("names", "listed", "expected", "withheld", "is_complete"),
    [
        pytest.param(None, "p,q", ("p", "q"), (), True, id="all packages without a list"),
        pytest.param(["q", "z"], "p,q", ("q",), ("p",), True, id="those of the list that the catalog has"),
        pytest.param(["q"], "q", ("q",), (), False, id="a status with too many packages for its field"),
        pytest.param(["Q"], "p,q", (), ("p", "q"), True, id="names are compared as they are written"),
    ],
)
def test_a_list_limits_the_packages_that_are_suggested_and_waited_for(
    names: list[str] | None, listed: str, expected: tuple[str, ...], withheld: tuple[str, ...], is_complete: bool
) -> None:
    found = Catalog.load(catalog({"packages": listed, "packageCount": 2}, packages=names))
    source = catalog_source(found, CatalogContentResult(CatalogState.UNREACHABLE))
    assert (source.package_names, source.lists_all_packages) == (expected, is_complete)
    assert source.withheld_names == withheld
    assert source.selected_packages == (None if names is None else tuple(names))


async def test_the_first_content_of_a_catalog_is_waited_for_and_newer_content_is_not() -> None:
    may_answer = asyncio.Event()

    async def read(raw: Mapping[str, Any]) -> CatalogContentResult:
        if not Catalog.load(raw).status.conditions:
            return CatalogContentResult(CatalogState.PENDING)
        await may_answer.wait()
        return CatalogContentResult(CatalogState.SERVING)

    reads = CatalogReads(read, lambda: None)

    async def states() -> list[CatalogState]:
        await reads.first_reads()
        return [each.source.state for each in reads.reads]

    reads.update(catalog({"conditions": []}))
    assert await states() == [CatalogState.PENDING]
    reads.update(catalog())
    waiting = asyncio.create_task(states())
    asyncio.get_running_loop().call_soon(may_answer.set)
    assert await waiting == [CatalogState.SERVING]
    may_answer.clear()
    reads.update(catalog({"contentDigest": "sha256:2"}))
    assert await states() == [CatalogState.SERVING]
    await reads.close()
