"""Package objects: their names, and what has to be written for them to be right."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.catalog import package_diff
from catalogd.catalog.package_diff import Difference, ExistingObject, ObjectWrite
from catalogd.ingest.package_objects import ObjectFingerprint, fingerprint, object_body
from olmkit.api.annotations import LATEST_VERSION_ANNOTATION
from olmkit.api.names import is_dns1123_subdomain

SAID = object_body(
    {
        "packageName": "p",
        "defaultChannel": "stable",
        "description": "",
        "channels": [{"name": "stable", "entries": []}],
    },
    {LATEST_VERSION_ANNOTATION: "1.0.0"},
)


@pytest.mark.parametrize(
    ("catalog", "package", "held", "expected"),
    [
        pytest.param("c", "quay", [], "c-quay", id="the guide's name"),
        pytest.param("c", "a.b", [], "c-a.b", id="dots are fine"),
        pytest.param("c", "A_b", [], "c-a-b-", id="letters and signs that no name may have"),
        pytest.param("c", "x" * 260, [], "c-" + "x" * 242 + "-", id="too long"),
        pytest.param("c", "d-p", ["c-d-p"], "c-d-p-", id="held by another package"),
        pytest.param("c", "-", [], "c-", id="an end that no name may have"),
    ],
)
def test_object_names(catalog: str, package: str, held: list[str], expected: str) -> None:
    name = package_diff.PACKAGES.object_name(catalog, package, held.__contains__)
    suffix = hashlib.sha256(f"{catalog}/{package}".encode()).hexdigest()[:8] if expected.endswith("-") else ""
    assert name == expected + suffix


@settings(deadline=None)
@given(st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?\Z"), st.text())
def test_any_package_gets_a_name_that_kubernetes_takes(catalog: str, package: str) -> None:
    """DESIGN 3: whatever a package is called, its object can be written."""
    if is_dns1123_subdomain(catalog):
        assert is_dns1123_subdomain(package_diff.PACKAGES.object_name(catalog, package, lambda name: True))


def there(name: str = "c-p", **changes: Any) -> ExistingObject:
    values: dict[str, Any] = {
        **{"name": name, "uid": f"uid of {name}", "catalog": "c", "subject": name.removeprefix("c-")},
        **{"owner": "ours", "has_labels": True, "fingerprint": "f"},
    }
    return ExistingObject(**{**values, **changes})


def differ(offers: list[ObjectFingerprint], *existing: ExistingObject) -> Difference:
    held = {each.name: (each.catalog, each.subject) for each in existing}
    own = [each for each in existing if each.catalog == "c"]
    return package_diff.difference(package_diff.PACKAGES, ("c", "ours"), offers, own, held.get)


P = ObjectFingerprint("p", "f")
CREATE, UPDATE = ObjectWrite("c-p", "p"), ObjectWrite("c-p", "p", "uid of c-p")
DELETE = ("c-p", "uid of c-p")


@pytest.mark.parametrize(
    ("offers", "existing", "writes", "deletes"),
    [
        pytest.param([], [], (), (), id="nothing offered, nothing there"),
        pytest.param([P], [], (CREATE,), (), id="one that is offered is created"),
        pytest.param([P], [there()], (), (), id="one that is right stays"),
        pytest.param([P], [there(fingerprint="old")], (UPDATE,), (), id="one whose spec differs is written"),
        pytest.param([P], [there(has_labels=False)], (UPDATE,), (), id="one without its label is written"),
        pytest.param([P], [there(owner="")], (UPDATE,), (), id="one that nobody owns is taken over"),
        pytest.param(
            [P], [there(fingerprint="x", drift_accepted=True)], (), (), id="one that others own fields of is left so"
        ),
        pytest.param([], [there()], (), (DELETE,), id="one that is offered no more goes"),
        pytest.param([], [there(owner="")], (), (), id="one that nobody owns and nobody offers is left alone"),
        pytest.param(
            [P], [there(owner="earlier")], (), (DELETE,), id="one of an earlier Catalog of the name goes first"
        ),
        pytest.param([], [there(deleting=True)], (), (), id="one that waits for finalizers is not deleted again"),
        pytest.param(
            [P],
            [there(owner="earlier", deleting=True)],
            (),
            (),
            id="one of an earlier Catalog of the name that waits for finalizers is awaited",
        ),
        pytest.param(
            [P],
            [there(catalog="d", subject="q", owner="d")],
            (ObjectWrite(f"c-p-{hashlib.sha256(b'c/p').hexdigest()[:8]}", "p"),),
            (),
            id="a name that another catalog's package has is left to it",
        ),
        pytest.param(
            [P],
            [there(subject="q")],
            (ObjectWrite(f"c-p-{hashlib.sha256(b'c/p').hexdigest()[:8]}", "p"),),
            (DELETE,),
            id="an object of ours that speaks of another package goes",
        ),
    ],
)
def test_differences(
    offers: list[ObjectFingerprint],
    existing: list[ExistingObject],
    writes: tuple[ObjectWrite, ...],
    deletes: tuple[tuple[str, str], ...],
) -> None:
    found = differ(offers, *existing)
    assert (found.writes, found.deletes) == (writes, deletes)


def test_names_that_are_not_the_guides_are_told() -> None:
    found = differ([ObjectFingerprint("A", "f"), P])
    assert [package for package, _ in found.renamed] == ["A"]


def test_two_packages_of_one_catalog_never_share_an_object() -> None:
    found = differ([ObjectFingerprint("a_b", "f"), ObjectFingerprint("a-b", "f"), ObjectFingerprint("A-B", "f")])
    assert len({write.name for write in found.writes}) == 3


def test_an_object_as_it_is_written_is_seen_as_right() -> None:
    written = package_diff.desired_object(package_diff.PACKAGES, "c", "ours", CREATE, SAID)
    assert written["metadata"]["resourceVersion"] == "1"
    assert written["metadata"]["labels"] == {"catalog": "c", "package": "p"}
    assert written["metadata"]["annotations"] == {LATEST_VERSION_ANNOTATION: "1.0.0"}
    written["metadata"]["uid"] = "uid of c-p"
    seen = package_diff.existing_object(package_diff.PACKAGES, package_diff.transform(written))
    assert differ([ObjectFingerprint("p", fingerprint(SAID))], seen) == Difference()


@pytest.mark.parametrize(
    ("catalog", "package", "labels"),
    [
        pytest.param("c", "Odd_Name.1", {"catalog": "c", "package": "Odd_Name.1"}, id="whatever a label may hold"),
        pytest.param("c", "-odd", {"catalog": "c"}, id="a package that no label may name"),
        pytest.param("c", "x" * 64, {"catalog": "c"}, id="a package whose name is too long"),
        pytest.param("x" * 64, "p", {"package": "p"}, id="a catalog whose name is too long"),
    ],
)
@pytest.mark.parametrize(
    "listed", [pytest.param(package_diff.PACKAGES, id="Package"), pytest.param(package_diff.BUNDLE_METADATA, id="both")]
)
def test_packages_are_selected_by_catalog_and_package(
    catalog: str, package: str, labels: dict[str, str], listed: package_diff.SyncedKind
) -> None:
    spec = {listed.identity_fields[0]: package, "bundleName": "b"}
    written = package_diff.desired_object(listed, catalog, "ours", ObjectWrite("n", package), object_body(spec))
    assert written["metadata"]["labels"] == labels
    assert package_diff.existing_object(listed, package_diff.transform(written)).has_labels
    del written["metadata"]["labels"]["package" if "package" in labels else "catalog"]
    assert not package_diff.existing_object(listed, package_diff.transform(written)).has_labels


def test_an_update_names_the_object_it_means() -> None:
    metadata = package_diff.desired_object(package_diff.PACKAGES, "c", "ours", UPDATE, object_body({}))["metadata"]
    assert metadata["uid"] == "uid of c-p"
    assert "resourceVersion" not in metadata


def test_an_object_is_left_as_it_is_only_at_the_version_it_was_left_at() -> None:
    obj = {"metadata": {"name": "c-p", "resourceVersion": "7"}, "spec": {}}
    assert package_diff.existing_object(package_diff.PACKAGES, obj, "7").drift_accepted
    assert not package_diff.existing_object(package_diff.PACKAGES, obj, "6").drift_accepted
    assert not package_diff.existing_object(package_diff.PACKAGES, obj).drift_accepted


def test_bundles_of_one_name_in_two_packages_get_an_object_each() -> None:
    offers = [ObjectFingerprint("a/x.v1", "f"), ObjectFingerprint("b/x.v1", "f")]
    first = package_diff.difference(package_diff.BUNDLE_METADATA, ("c", "ours"), offers, [], lambda name: None)
    safe = "c-x.v1-" + hashlib.sha256(b"c/b/x.v1").hexdigest()[:8]
    assert first.writes == (ObjectWrite("c-x.v1", "a/x.v1"), ObjectWrite(safe, "b/x.v1"))
    assert first.renamed == (("b/x.v1", safe),)


def test_a_bundle_is_known_by_its_package_and_its_name() -> None:
    write = ObjectWrite("c-x.v1", "a/x.v1")
    spec = {"package": "a", "bundleName": "x.v1", "image": "i"}
    written = package_diff.desired_object(package_diff.BUNDLE_METADATA, "c", "ours", write, object_body(spec))
    assert (written["kind"], written["spec"]["catalog"]) == ("BundleMetadata", {"name": "c"})
    seen = package_diff.existing_object(
        package_diff.BUNDLE_METADATA,
        package_diff.transform({**written, "metadata": {**written["metadata"], "uid": "u"}}),
    )
    assert (seen.catalog, seen.subject) == ("c", "a/x.v1")
    offers = [ObjectFingerprint("a/x.v1", fingerprint(object_body(spec)))]
    assert (
        package_diff.difference(
            package_diff.BUNDLE_METADATA, ("c", "ours"), offers, [seen], lambda name: ("c", "a/x.v1")
        )
        == Difference()
    )
