"""The status of a PackageManifest: what OLM v0 has of a package, from file-based catalogs."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from catalogd.ingest import package_manifests
from catalogd.ingest.package_manifests import manifest_status
from olmkit.fbc.catalog import Bundle, Channel, Deprecation, Deprecations, Entry, Package, Property

PACKAGE = Package("p", "stable", "of the package", ("eA==", "image/png"))
METADATA = {
    "displayName": "P operator",
    "description": "# Long",
    "provider": {"name": "ACME", "url": "https://example.com", "x": 1},
    "annotations": {"alm-examples": "[]", "n": 1},
    "keywords": ["a", 1],
    "links": [{"name": "Docs", "url": "https://example.com/docs"}],
    "maintainers": [{"name": "A", "email": "a@example.com"}],
    "maturity": "stable",
    "minKubeVersion": "1.25.0",
    "installModes": [{"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace"}, "junk"],
    "crdDescriptions": {"owned": [{"name": "ps.example.com", "kind": "P", "version": "v1"}], "required": "junk"},
    "nativeAPIs": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
}
DESCRIBED = {
    "version": "1.1.0",
    "displayName": "P operator",
    "description": "# Long",
    "maturity": "stable",
    "minKubeVersion": "1.25.0",
    "provider": {"name": "ACME", "url": "https://example.com"},
    "annotations": {"alm-examples": "[]"},
    "keywords": ["a"],
    "links": [{"name": "Docs", "url": "https://example.com/docs"}],
    "maintainers": [{"name": "A", "email": "a@example.com"}],
    "installModes": [{"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace", "supported": False}],
    "customresourcedefinitions": {"owned": [{"name": "ps.example.com", "kind": "P", "version": "v1"}]},
    "apiservicedefinitions": {},
    "nativeApis": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
    "relatedImages": ["r/p", "r/q"],
}


def bundle(metadata: Any, kind: str = "olm.csv.metadata") -> Bundle:
    return Bundle("p.v1.1.0", "p", "r/p", (Property(kind, metadata),), ("r/p", "r/q", "r/p", ""))


def status(head: Bundle | None, *, deprecations: list[Deprecations] | None = None, **channels: list[str]) -> Any:
    """The status of a package whose channels have these versions, the oldest first, and this head."""
    versions = {f"p.v{each}": each for names in channels.values() for each in names}
    found = [Channel(name, "p", tuple(Entry(f"p.v{each}", "", (), "") for each in channels[name])) for name in channels]
    heads = {name: (f"p.v{channels[name][-1]}", head) for name in channels}
    return json.loads(manifest_status(PACKAGE, found, heads, versions, deprecations or []))


def test_a_package_as_consoles_know_it() -> None:
    assert status(bundle(METADATA), stable=["1.0.0", "1.1.0"]) == {
        "packageName": "p",
        "provider": {"name": "ACME", "url": "https://example.com"},
        "channels": [
            {
                "name": "stable",
                "currentCSV": "p.v1.1.0",
                "currentCSVDesc": DESCRIBED,
                "entries": [{"name": "p.v1.1.0", "version": "1.1.0"}, {"name": "p.v1.0.0", "version": "1.0.0"}],
            }
        ],
        "defaultChannel": "stable",
    }


def test_the_csv_of_older_catalogs_is_read() -> None:
    definitions = {"owned": [{"name": "ps.example.com", "kind": "P", "version": "v1"}]}
    spec = {**METADATA, "customresourcedefinitions": definitions, "crdDescriptions": None}
    csv = {"kind": "ClusterServiceVersion", "metadata": {"annotations": METADATA["annotations"]}, "spec": spec}
    data = base64.b64encode(json.dumps(csv).encode()).decode()
    found = status(bundle({"data": data}, "olm.bundle.object"), stable=["1.1.0"])
    assert found["channels"][0]["currentCSVDesc"] == DESCRIBED


def test_versions_are_ordered_and_deprecations_named() -> None:
    entries = (
        Deprecation("olm.package", "", "gone soon"),
        Deprecation("olm.channel", "stable", "use beta"),
        Deprecation("olm.bundle", "p.v1.9.0", "has a bug"),
    )
    found = status(None, deprecations=[Deprecations("p", entries)], stable=["junk", "1.10.0", "1.9.0"])
    assert found["deprecation"] == {"message": "gone soon"}
    (channel,) = found["channels"]
    assert (channel["deprecation"], channel["currentCSVDesc"]) == ({"message": "use beta"}, {})
    assert [each["version"] for each in channel["entries"]] == ["1.10.0", "1.9.0", "junk"]
    assert channel["entries"][1]["deprecation"] == {"message": "has a bug"}


@pytest.mark.parametrize("value", [[], "x", 1, None, {"installModes": {}, "links": "x", "provider": 1, "keywords": {}}])
def test_a_description_of_another_form_is_left_out(value: Any) -> None:
    described = status(bundle(value), stable=["1.1.0"])["channels"][0]["currentCSVDesc"]
    assert (described["version"], described["links"], described["provider"]) == ("1.1.0", [], {})


def test_a_number_that_json_libraries_refuse_shortens_the_description() -> None:
    large = {**METADATA, "crdDescriptions": {"owned": [{"name": 2**70}]}}
    described = status(bundle(large), stable=["1.1.0"])["channels"][0]["currentCSVDesc"]
    assert described["displayName"] == "P operator"
    assert "customresourcedefinitions" not in described


def test_the_default_channel_is_described_in_full_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_manifests, "MAX_MANIFEST_BYTES", 1_000)
    found = {
        each["name"]: each["currentCSVDesc"]
        for each in status(bundle(METADATA), alpha=["1.0.0"], stable=["1.1.0"])["channels"]
    }
    assert found["stable"] == DESCRIBED
    short = {name: DESCRIBED[name] for name in ("displayName", "provider", "minKubeVersion")}
    assert found["alpha"] == {**short, "version": "1.0.0"}
