"""What a Package object says of a package."""

from __future__ import annotations

from catalogd import specs
from olmkit.fbc.catalog import Channel, Entry, Package

CHANNELS = [
    Channel("stable", "p", (Entry("p.v2", "p.v1", ("p.v0",), "<2.0.0"), Entry("p.v1", "", (), ""))),
    Channel("alpha", "p", ()),
]


def test_a_spec_holds_what_the_guide_shows_and_leaves_out_what_is_empty() -> None:
    spec, left_out = specs.package_spec(Package("p", "stable", "", ("eA==", "image/png")), CHANNELS)
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


def test_what_is_too_large_for_etcd_loses_its_icon_first() -> None:
    spec, left_out = specs.package_spec(Package("p", "stable", "text", ("x" * 1_000_000, "image/png")), CHANNELS)
    assert left_out == "its icon"
    assert "icon" not in spec
    assert spec["description"] == "text"


def test_what_is_still_too_large_loses_its_channels() -> None:
    many = [Channel("c", "p", tuple(Entry(f"p.v{number}", "", ("x" * 1000,), "") for number in range(1000)))]
    spec, left_out = specs.package_spec(Package("p", "stable", "text", None), many)
    assert left_out == "its icon, description and channels"
    assert spec["channels"] == []


def test_a_fingerprint_says_whether_two_specs_are_equal_whatever_their_catalog() -> None:
    spec, _ = specs.package_spec(Package("p", "stable", "", None), CHANNELS)
    backwards = dict(reversed({"catalog": {"name": "c"}, **spec}.items()))
    assert specs.fingerprint(backwards) == specs.fingerprint(spec)
    assert specs.fingerprint({**spec, "description": "x"}) != specs.fingerprint(spec)
