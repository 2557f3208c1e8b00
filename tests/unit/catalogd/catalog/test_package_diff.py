"""Package objects: their names, and how those on the cluster differ from the desired ones."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.catalog import package_diff
from catalogd.catalog.package_diff import Difference, ExistingObject, ObjectWrite
from catalogd.ingest.package_objects import ObjectFingerprint, fingerprint, object_body
from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.package_annotations import LATEST_VERSION_ANNOTATION

BODY = object_body(
    {
        "packageName": "p",
        "defaultChannel": "stable",
        "description": "",
        "channels": [{"name": "stable", "entries": []}],
    },
    {LATEST_VERSION_ANNOTATION: "1.0.0"},
)


@pytest.mark.parametrize(
    ("catalog", "package", "taken", "expected"),
    [
        pytest.param("c", "quay", [], "c-quay", id="the guide's name"),
        pytest.param("c", "a.b", [], "c-a.b", id="dots are fine"),
        pytest.param("c", "A_b", [], "c-a-b-", id="characters that no name may have"),
        pytest.param("c", "x" * 260, [], "c-" + "x" * 242 + "-", id="too long"),
        pytest.param("c", "d-p", ["c-d-p"], "c-d-p-", id="taken by another package"),
        pytest.param("c", "-", [], "c-", id="an end that no name may have"),
    ],
)
def test_object_names(catalog: str, package: str, taken: list[str], expected: str) -> None:
    name = package_diff.object_name(catalog, package, taken.__contains__)
    suffix = hashlib.sha256(f"{catalog}/{package}".encode()).hexdigest()[:8] if expected.endswith("-") else ""
    assert name == expected + suffix


@settings(deadline=None)
@given(st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?\Z"), st.text())
def test_every_package_gets_a_valid_object_name(catalog: str, package: str) -> None:
    """DESIGN 3: whatever the name of a package, its object can be written."""
    if is_dns1123_subdomain(catalog):
        assert is_dns1123_subdomain(package_diff.object_name(catalog, package, lambda name: True))


def existing_object(name: str = "c-p", **changes: Any) -> ExistingObject:
    values: dict[str, Any] = {
        **{"name": name, "uid": f"uid of {name}", "catalog": "c", "package": name.removeprefix("c-")},
        **{"owner": "ours", "has_labels": True, "fingerprint": "f"},
    }
    return ExistingObject(**{**values, **changes})


def differ(desired: list[ObjectFingerprint], *existing: ExistingObject) -> Difference:
    packages_by_name = {each.name: (each.catalog, each.package) for each in existing}
    own = [each for each in existing if each.catalog == "c"]
    return package_diff.difference(("c", "ours"), desired, own, packages_by_name.get)


P = ObjectFingerprint("p", "f")
CREATE, UPDATE = ObjectWrite("c-p", "p"), ObjectWrite("c-p", "p", "uid of c-p")
DELETE = ("c-p", "uid of c-p")


@pytest.mark.parametrize(
    ("desired", "existing", "writes", "deletes"),
    [
        pytest.param([], [], (), (), id="nothing desired, nothing exists"),
        pytest.param([P], [], (CREATE,), (), id="a desired object is created"),
        pytest.param([P], [existing_object()], (), (), id="an object that is as desired stays"),
        pytest.param([P], [existing_object(fingerprint="old")], (UPDATE,), (), id="one whose spec differs is written"),
        pytest.param([P], [existing_object(has_labels=False)], (UPDATE,), (), id="one without its labels is written"),
        pytest.param([P], [existing_object(owner="")], (UPDATE,), (), id="one without a controller is adopted"),
        pytest.param(
            [P],
            [existing_object(fingerprint="x", drift_accepted=True)],
            (),
            (),
            id="one some fields of which others own is left as it is",
        ),
        pytest.param([], [existing_object()], (), (DELETE,), id="one that is not desired is deleted"),
        pytest.param(
            [], [existing_object(owner="")], (), (), id="one without a controller that is not desired is left as it is"
        ),
        pytest.param(
            [P],
            [existing_object(owner="earlier")],
            (),
            (DELETE,),
            id="one of an earlier Catalog of the name is deleted first",
        ),
        pytest.param(
            [], [existing_object(deleting=True)], (), (), id="one that waits for finalizers is not deleted again"
        ),
        pytest.param(
            [P],
            [existing_object(owner="earlier", deleting=True)],
            (),
            (),
            id="one of an earlier Catalog of the name that waits for finalizers is waited for",
        ),
        pytest.param(
            [P],
            [existing_object(catalog="d", package="q", owner="d")],
            (ObjectWrite(f"c-p-{hashlib.sha256(b'c/p').hexdigest()[:8]}", "p"),),
            (),
            id="a name that a package of another catalog has is not used",
        ),
        pytest.param(
            [P],
            [existing_object(package="q")],
            (ObjectWrite(f"c-p-{hashlib.sha256(b'c/p').hexdigest()[:8]}", "p"),),
            (DELETE,),
            id="an own object for another package is deleted",
        ),
    ],
)
def test_differences(
    desired: list[ObjectFingerprint],
    existing: list[ExistingObject],
    writes: tuple[ObjectWrite, ...],
    deletes: tuple[tuple[str, str], ...],
) -> None:
    found = differ(desired, *existing)
    assert (found.writes, found.deletes) == (writes, deletes)


def test_names_that_are_not_plain_are_reported() -> None:
    found = differ([ObjectFingerprint("A", "f"), P])
    assert [package for package, _ in found.renamed] == ["A"]


def test_two_packages_of_one_catalog_never_share_an_object() -> None:
    found = differ([ObjectFingerprint("a_b", "f"), ObjectFingerprint("a-b", "f"), ObjectFingerprint("A-B", "f")])
    assert len({write.name for write in found.writes}) == 3


def test_an_object_does_not_differ_after_it_was_written() -> None:
    written = package_diff.desired_object("c", "ours", CREATE, BODY)
    assert written["metadata"]["resourceVersion"] == "1"
    assert written["metadata"]["labels"] == {"catalog": "c", "package": "p"}
    assert written["metadata"]["annotations"] == {LATEST_VERSION_ANNOTATION: "1.0.0"}
    written["metadata"]["uid"] = "uid of c-p"
    existing = package_diff.existing_object(package_diff.transform(written))
    assert differ([ObjectFingerprint("p", fingerprint(BODY))], existing) == Difference()


@pytest.mark.parametrize(
    ("catalog", "package", "labels"),
    [
        pytest.param("c", "Odd_Name.1", {"catalog": "c", "package": "Odd_Name.1"}, id="any valid label value"),
        pytest.param("c", "-odd", {"catalog": "c"}, id="a package whose name is no label value"),
        pytest.param("c", "x" * 64, {"catalog": "c"}, id="a package whose name is too long"),
        pytest.param("x" * 64, "p", {"package": "p"}, id="a catalog whose name is too long"),
    ],
)
def test_packages_are_selected_by_catalog_and_package(catalog: str, package: str, labels: dict[str, str]) -> None:
    spec = {"packageName": package}
    written = package_diff.desired_object(catalog, "ours", ObjectWrite("n", package), object_body(spec))
    assert written["metadata"]["labels"] == labels
    assert package_diff.existing_object(package_diff.transform(written)).has_labels
    del written["metadata"]["labels"]["package" if "package" in labels else "catalog"]
    assert not package_diff.existing_object(package_diff.transform(written)).has_labels


def test_an_update_has_the_uid_of_its_object() -> None:
    metadata = package_diff.desired_object("c", "ours", UPDATE, object_body({}))["metadata"]
    assert metadata["uid"] == "uid of c-p"
    assert "resourceVersion" not in metadata


def test_drift_is_accepted_only_at_the_version_it_was_accepted_at() -> None:
    obj = {"metadata": {"name": "c-p", "resourceVersion": "7"}, "spec": {}}
    assert package_diff.existing_object(obj, "7").drift_accepted
    assert not package_diff.existing_object(obj, "6").drift_accepted
    assert not package_diff.existing_object(obj).drift_accepted
