"""The document a resolver gets of one package."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmkit.fbc import catalog
from olmkit.fbc.resolution_document import ResolutionBlobs, build_document, bundle_part, invalid_bundle_part

BUNDLE: dict[str, Any] = {
    "name": "p.v1",
    "package": "p",
    "image": "registry.example/p@sha256:1",
    "properties": [
        {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0", "release": "3"}},
        {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}},
        {"type": "olm.package.required", "value": {"packageName": "q", "versionRange": ">1.0.0"}},
        {"type": "olm.csv.metadata", "value": {"minKubeVersion": "1.25.0", "description": "long"}},
        {"type": "my.own", "value": 5},
    ],
}


def parts(**changes: Any) -> ResolutionBlobs:
    values: dict[str, Any] = {
        "name": "p",
        "package": catalog.Package("p", "stable", "", None),
        "channels": [
            catalog.Channel(
                "stable", "p", (catalog.Entry("p.v1", "", (), ""), catalog.Entry("p.v2", "p.v1", ("p.v0",), "<2"))
            )
        ],
        "bundles": [bundle_part(catalog.bundle(BUNDLE))],
        "deprecations": [],
        "errors": [],
    }
    return ResolutionBlobs(**{**values, **changes})


def read(given: ResolutionBlobs, digest: str = "sha256:c") -> dict[str, Any]:
    line = build_document(given, digest)
    assert line.endswith(b"}\n")
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_document_contains_what_affects_resolution_and_nothing_else() -> None:
    found = read(parts())
    del found["digest"]
    assert found == {
        "catalogDigest": "sha256:c",
        "package": "p",
        "defaultChannel": "stable",
        "channels": [
            {
                "name": "stable",
                "entries": [
                    {"name": "p.v1", "replaces": "", "skips": [], "skipRange": ""},
                    {"name": "p.v2", "replaces": "p.v1", "skips": ["p.v0"], "skipRange": "<2"},
                ],
            }
        ],
        "bundles": [
            {
                "name": "p.v1",
                "image": "registry.example/p@sha256:1",
                "version": "1.0.0",
                "release": "3",
                "mediaType": "registry+v1",
                "properties": [
                    {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}},
                    {"type": "olm.package.required", "value": {"packageName": "q", "versionRange": ">1.0.0"}},
                    {"type": "my.own", "value": 5},
                ],
                "minKubeVersion": "1.25.0",
            }
        ],
        "deprecations": [],
    }


def test_deprecations_name_a_bundle_or_the_package() -> None:
    entries = (
        catalog.Deprecation("olm.package", "", "all of it"),
        catalog.Deprecation("olm.bundle", "p.v1", "this one"),
    )
    assert read(parts(deprecations=[catalog.Deprecations("p", entries)]))["deprecations"] == [
        {"reference": {"schema": "olm.package"}, "message": "all of it"},
        {"reference": {"schema": "olm.bundle", "name": "p.v1"}, "message": "this one"},
    ]


def test_the_digest_is_that_of_the_package_not_of_the_catalog() -> None:
    assert read(parts(), "sha256:c")["digest"] == read(parts(), "sha256:d")["digest"]
    assert read(parts())["digest"] != read(parts(channels=[]))["digest"]


def test_a_bundle_without_version_has_a_problem() -> None:
    part = bundle_part(catalog.bundle({**BUNDLE, "properties": []}))
    assert part["problem"] == 'package "p" bundle "p.v1" must have exactly 1 "olm.package" property, found 0'
    assert part["version"] == ""


def test_an_error_of_the_package_is_a_problem_of_all_its_bundles() -> None:
    bundles = [bundle_part(catalog.bundle(BUNDLE)), invalid_bundle_part("p.v2", "its own")]
    found = read(parts(bundles=bundles, errors=["parse channel: x", "parse package: y"], package=None))
    assert [each["problem"] for each in found["bundles"]] == ["parse channel: x; parse package: y", "its own"]
    assert found["defaultChannel"] == ""


@pytest.mark.parametrize(
    ("entry", "is_included"),
    [
        pytest.param({"type": "certified", "value": {"by": "x"}}, True, id="a rule of olm.constraint may mention it"),
        pytest.param({"type": "olm.label", "value": {"label": "x"}}, True, id="one that opm knows and does not decode"),
        pytest.param({"type": "long", "value": "x" * 2_046}, True, id="the largest of another type"),
        pytest.param({"type": "long", "value": "x" * 2_047}, False, id="one of another type that is too large"),
        pytest.param({"type": "olm.constraint", "value": "x" * 2_047}, True, id="constraints of any size"),
        pytest.param({"type": "olm.csv.metadata", "value": {}}, False, id="the CSV"),
        pytest.param({"type": "olm.bundle.object", "value": {"data": ""}}, False, id="manifests"),
    ],
)
def test_properties_of_other_types_are_included_unless_they_are_large(entry: dict[str, Any], is_included: bool) -> None:
    part = bundle_part(catalog.bundle({**BUNDLE, "properties": [BUNDLE["properties"][0], entry]}))
    assert part["properties"] == ([entry] if is_included else [])


def csv_bundle(name: str, **metadata: Any) -> dict[str, Any]:
    more = {"type": "olm.csv.metadata", "value": metadata}
    return bundle_part(catalog.bundle({**BUNDLE, "name": name, "properties": [BUNDLE["properties"][0], more]}))


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        pytest.param("2026-01-31T12:00:00Z", "2026-01-31", id="a time"),
        pytest.param(" 2026-01-31", "2026-01-31", id="a day"),
        pytest.param("2026-13-01", None, id="no month"),
        pytest.param("31.01.2026", None, id="other words"),
        pytest.param("2026-01-311", None, id="a longer number"),
        pytest.param(["2026-01-31"], None, id="no text"),
        pytest.param("\u0662\u0660\u0662\u0666-01-31", None, id="other digits"),
        pytest.param("x" * 1_000_000, None, id="a long text"),
    ],
)
def test_the_day_on_which_a_bundle_was_made(created: Any, expected: str | None) -> None:
    assert csv_bundle("p.v1", annotations={"createdAt": created}).get("createdOn") == expected


def owned(**names: str) -> dict[str, Any]:
    described = [
        {"name": f"{kind.lower()}s.g", "version": "v1", "kind": kind, "displayName": name}
        for kind, name in names.items()
    ]
    return {"owned": described}


def test_native_apis_are_listed_once() -> None:
    secret, pod = ({"group": "", "version": "v1", "kind": kind} for kind in ("Secret", "Pod"))
    assert csv_bundle("p.v1", nativeAPIs=[secret, pod, secret])["nativeAPIs"] == [secret, pod]


def test_a_display_name_is_listed_once_for_all_bundles_that_agree() -> None:
    bundles = [
        csv_bundle("p.v1", crdDescriptions=owned(Cup="Mug", Tea="Tea")),
        csv_bundle("p.v2", crdDescriptions=owned(Cup="Tea cup", Pot="Pot of tea")),
        csv_bundle("p.v3", crdDescriptions=owned(Cup="Tea cup")),
        csv_bundle("p.v4"),
    ]
    found = read(parts(bundles=bundles))
    assert found["displayNames"] == {"g/v1/Cup": "Tea cup", "g/v1/Pot": "Pot of tea"}
    assert [each.get("displayNames") for each in found["bundles"]] == [{"g/v1/Cup": "Mug"}, None, None, None]


def test_of_equally_frequent_display_names_that_of_the_last_bundle_is_the_common_one() -> None:
    bundles = [csv_bundle(f"p.v{name}", crdDescriptions=owned(Cup=name)) for name in ("b", "a", "b", "a")]
    assert read(parts(bundles=bundles))["displayNames"] == {"g/v1/Cup": "a"}
