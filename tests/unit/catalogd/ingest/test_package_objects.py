"""The specs and annotations of Package objects."""

from __future__ import annotations

import pytest

from catalogd.ingest import package_objects
from olmkit.api.package_annotations import CHANNELS_ANNOTATION as SHOWN_CHANNELS
from olmkit.api.package_annotations import LATEST_VERSION_ANNOTATION, VERSIONS_ANNOTATION
from olmkit.fbc.catalog import Channel, Entry, Package

CHANNELS = [
    Channel("stable", "p", (Entry("p.v2", "p.v1", ("p.v0",), "<2.0.0"), Entry("p.v1", "", (), ""))),
    Channel("alpha", "p", ()),
]


def test_a_spec_contains_what_the_guide_shows_without_empty_fields() -> None:
    spec, left_out = package_objects.package_spec(Package("p", "stable", "", ("eA==", "image/png")), CHANNELS)
    assert left_out == ""
    assert spec == {
        "packageName": "p",
        "defaultChannel": "stable",
        "description": "",
        "channels": [
            {
                "name": "stable",
                "entries": [
                    {"name": "p.v2", "replaces": "p.v1", "skips": ["p.v0"], "skipRange": "<2.0.0"},
                    {"name": "p.v1"},
                ],
            },
            {"name": "alpha", "entries": []},
        ],
        "icon": {"data": "eA==", "mediatype": "image/png"},
    }


@pytest.mark.parametrize(
    ("description", "icon"),
    [
        pytest.param("text", "x" * package_objects.MAX_SPEC_BYTES, id="by its bytes"),
        pytest.param(
            "<" * (package_objects.MAX_SPEC_BYTES // 8),
            "x" * (package_objects.MAX_SPEC_BYTES // 2),
            id="as Go writes it for HTML",
        ),
        pytest.param(
            "é" * (package_objects.MAX_SPEC_BYTES // 4), "x" * (package_objects.MAX_SPEC_BYTES * 2 // 3), id="in UTF-8"
        ),
    ],
)
def test_a_spec_that_is_too_large_for_etcd_loses_its_icon_first(description: str, icon: str) -> None:
    spec, left_out = package_objects.package_spec(Package("p", "stable", description, (icon, "image/png")), CHANNELS)
    assert left_out == "its icon"
    assert "icon" not in spec
    assert spec["description"] == description


@pytest.mark.parametrize(
    ("description", "entries", "icon", "left_out"),
    [
        pytest.param("text", 1300, None, "its channels", id="its channels"),
        pytest.param("x" * package_objects.MAX_SPEC_BYTES, 1, None, "its description", id="its description"),
        pytest.param("text", 1300, "eA==", "its icon and channels", id="its icon first, although that is small"),
        pytest.param(
            "x" * package_objects.MAX_SPEC_BYTES,
            1300,
            "eA==",
            "its icon and channels and description",
            id="all, the larger one first",
        ),
    ],
)
def test_a_spec_that_is_still_too_large_loses(description: str, entries: int, icon: str | None, left_out: str) -> None:
    many = [Channel("c", "p", tuple(Entry(f"p.v{number}", "", ("x" * 1000,), "") for number in range(entries)))]
    package = Package("p", "stable", description, (icon, "image/png") if icon else None)
    spec, said = package_objects.package_spec(package, many)
    assert said == left_out
    assert ("icon" in spec, not spec["description"], not spec["channels"]) == (
        False,
        "description" in left_out,
        "channels" in left_out,
    )


def test_a_fingerprint_is_equal_for_equal_specs_of_any_catalog() -> None:
    spec, _ = package_objects.package_spec(Package("p", "stable", "", None), CHANNELS)
    said = package_objects.object_body(spec, {LATEST_VERSION_ANNOTATION: "1.0.0"})
    backwards = dict(reversed({"catalog": {"name": "c"}, **spec}.items()))
    metadata = {"name": "c-p", "annotations": {"somebody": "else's", LATEST_VERSION_ANNOTATION: "1.0.0"}}
    assert package_objects.fingerprint({"metadata": metadata, "spec": backwards}) == package_objects.fingerprint(said)
    assert package_objects.fingerprint({**said, "spec": {**spec, "description": "x"}}) != package_objects.fingerprint(
        said
    )
    assert package_objects.fingerprint(
        package_objects.object_body(spec, {LATEST_VERSION_ANNOTATION: "1.0.1"})
    ) != package_objects.fingerprint(said)


@pytest.mark.parametrize(
    ("channels", "latest", "columns"),
    [
        pytest.param(
            CHANNELS,
            "2.0.0",
            {LATEST_VERSION_ANNOTATION: "2.0.0", SHOWN_CHANNELS: "stable,alpha", VERSIONS_ANNOTATION: "2.0.0,1.0.0"},
            id="version, channels and what can be pinned: no bundle outside of them",
        ),
        pytest.param([], "", {}, id="nothing that is not known"),
        pytest.param(
            [Channel("c", "p", (Entry("odd", "", (), ""), Entry("p.v3", "", (), ""), Entry("p.v8", "", (), "")))],
            "",
            {SHOWN_CHANNELS: "c"},
            id="without invalid versions",
        ),
        pytest.param(
            [Channel("c", "p", tuple(Entry(f"p.v{number}", "", (), "") for number in range(10, 35)))],
            "",
            {
                SHOWN_CHANNELS: "c",
                VERSIONS_ANNOTATION: ",".join(f"{number}.0.0" for number in range(34, 14, -1)) + " and 5 more",
            },
            id="the newest of many versions, by their order as versions",
        ),
        pytest.param(
            [Channel("x" * 40, "p", ()), Channel("y" * 40, "p", ())],
            "",
            {SHOWN_CHANNELS: "x" * 40 + "," + "y" * 18 + "…"},
            id="no more than a column can hold",
        ),
    ],
)
def test_annotations_of_printer_columns(channels: list[Channel], latest: str, columns: dict[str, str]) -> None:
    versions = {"p.v2": "2.0.0", "p.v1": "1.0.0", "p.v9": "9.0.0", "p.v3": "", "odd": "v1"}
    versions |= {f"p.v{number}": f"{number}.0.0" for number in range(10, 35)}
    assert package_objects.package_columns(channels, latest, versions) == columns
