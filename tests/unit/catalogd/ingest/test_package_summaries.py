"""One line of a list of packages."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from catalogd.ingest.package_summaries import ChannelHead, channel_head, package_summary
from olmkit.fbc.catalog import Bundle, Channel, Deprecation, Deprecations, Entry, Package, Property

PACKAGE = Package("p", "stable", "A package\nfor  tests.", None)
METADATA = {
    "displayName": "The P",
    "description": "# Long",
    "provider": {"name": "Example"},
    "keywords": ["a", "b", "a", ""],
    "annotations": {
        "categories": "Database, AI,",
        "capabilities": "Deep Insights",
        "description": "Does p.",
        "createdAt": "2026-01-31T12:00:00Z",
    },
    "minKubeVersion": "1.20.0",
    "installModes": [{"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace", "supported": False}],
    "nativeAPIs": [{"group": "", "version": "v1", "kind": "Pod"}, {"group": "", "version": "v1", "kind": "Pod"}],
}
EXPECTED = {
    "displayName": "The P",
    "description": "Does p.",
    "provider": "Example",
    "categories": ["Database", "AI"],
    "keywords": ["a", "b"],
    "capability": "Deep Insights",
    "createdOn": "2026-01-31",
    "minKubeVersion": "1.20.0",
    "installModes": ["AllNamespaces"],
    "nativeAPIs": ["/v1/Pod"],
}


def of(*properties: Property) -> Bundle:
    return Bundle("p.v1.0.0", "p", "i", properties)


def as_object(manifest: Any) -> Property:
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    return Property("olm.bundle.object", {"data": base64.b64encode(text.encode()).decode()})


def csv() -> dict[str, Any]:
    spec = {key: value for key, value in METADATA.items() if key != "annotations"}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"annotations": METADATA["annotations"]},
        "spec": spec,
    }


CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": "ClusterServiceVersion"}


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        pytest.param(of(Property("olm.csv.metadata", METADATA)), EXPECTED, id="from its CSV metadata"),
        pytest.param(of(as_object(CRD), as_object(csv())), EXPECTED, id="from the CSV among its objects"),
        pytest.param(
            of(as_object("spec: {displayName: The P}\nkind: ClusterServiceVersion\n")),
            {"displayName": "The P", "description": "A package for tests."},
            id="from a CSV in YAML whose kind comes late",
        ),
        pytest.param(None, {"description": "A package for tests."}, id="without a bundle"),
        pytest.param(of(), {"description": "A package for tests."}, id="from a bundle without metadata"),
        pytest.param(
            of(as_object("{"), as_object("\x00ClusterServiceVersion"), Property("olm.bundle.object", {"data": "*"})),
            {"description": "A package for tests."},
            id="from objects that are none",
        ),
        pytest.param(
            of(
                Property("olm.csv.metadata", {"displayName": 5, "provider": [], "keywords": {}, "annotations": "x"}),
                Property("olm.gvk", {"group": [], "kind": {}}),
                Property("olm.gvk.required", "x"),
            ),
            {"description": "A package for tests."},
            id="from what has other types",
        ),
        pytest.param(
            of(
                Property(
                    "olm.csv.metadata",
                    {"installModes": [1, {"supported": True}], "nativeAPIs": "x", "annotations": {"createdAt": "soon"}},
                )
            ),
            {"description": "A package for tests."},
            id="from modes, APIs and a day that are none",
        ),
        pytest.param(
            of(
                Property("olm.gvk", {"group": "a.b", "version": "v1", "kind": "A"}),
                Property("olm.gvk.required", {"group": "c.d", "version": "v1", "kind": "C"}),
            ),
            {"description": "A package for tests.", "kinds": ["a.b/v1/A"], "requiredKinds": ["c.d/v1/C"]},
            id="with kinds that it provides and requires",
        ),
        pytest.param(
            of(
                Property("olm.package.required", {"packageName": "q", "versionRange": ">=1.0.0"}),
                Property("olm.package.required", {"packageName": "q", "versionRange": "<2.0.0"}),
                Property("olm.package.required", {"packageName": 5}),
                Property("olm.package.required", "r"),
            ),
            {"description": "A package for tests.", "requiredPackages": ["q"]},
            id="with packages that it requires, each once",
        ),
    ],
)
def test_fields_of_the_csv(bundle: Bundle | None, expected: dict[str, Any]) -> None:
    line = package_summary(PACKAGE, {}, [], bundle, has_icon=False)
    assert line == {"name": "p", "defaultChannel": "stable", **expected}


def test_the_whole_summary() -> None:
    heads = {"stable": ChannelHead("p.v2", "2.0.0"), "odd": ChannelHead("p.v3", ""), "empty": None}
    deprecations = [
        Deprecations("p", (Deprecation("olm.channel", "odd", "odd"), Deprecation("olm.package", "", "use q")))
    ]
    assert package_summary(Package("p/q", "", "", None), heads, deprecations, None, has_icon=True) == {
        "name": "p/q",
        "channels": [
            {"name": "stable", "head": {"name": "p.v2", "version": "2.0.0"}},
            {"name": "odd", "head": {"name": "p.v3"}},
            {"name": "empty"},
        ],
        "deprecated": "use q",
        "icon": "packages/p%2Fq/icon",
    }


def test_a_package_that_is_deprecated_without_a_message() -> None:
    line = package_summary(
        PACKAGE, {}, [Deprecations("p", (Deprecation("olm.package", "", ""),))], None, has_icon=False
    )
    assert line["deprecated"] is True


def test_long_texts_and_lists_are_truncated() -> None:
    metadata = {"displayName": "x" * 1000, "keywords": [str(each) for each in range(1000)], "description": "ab " * 500}
    kinds = [Property("olm.gvk", {"group": "g" * 1000, "version": "v1", "kind": f"K{each}"}) for each in range(1000)]
    line = package_summary(PACKAGE, {}, [], of(Property("olm.csv.metadata", metadata), *kinds), has_icon=False)
    assert len(line["displayName"]) == 100
    assert len(line["keywords"]) == 20
    assert (len(line["kinds"]), len(line["kinds"][0])) == (50, 100 + len("/v1/K0"))
    assert len(line["description"]) <= 200
    assert line["description"].endswith("…")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([("b", "a", ()), ("a", "", ())], "b", id="not replaced"),
        pytest.param([("a", "", ()), ("c", "", ("a", "b")), ("b", "", ())], "c", id="not skipped"),
        pytest.param([("b", "a", ()), ("a", "b", ())], "b", id="in a circle, the first"),
        pytest.param([("a", "", ()), ("b", "", ())], "a", id="of two heads without versions, the first"),
        pytest.param([("1.9.0", "", ()), ("1.10.0", "", ())], "1.10.0", id="of two heads, that of the higher version"),
        pytest.param(
            [("2.0.0-rc.1", "", ()), ("a", "", ()), ("1.0.0", "", ())], "2.0.0-rc.1", id="no version is the lowest"
        ),
        pytest.param([], "", id="none of no entries"),
    ],
)
def test_heads(entries: list[tuple[str, str, tuple[str, ...]]], expected: str) -> None:
    made = tuple(Entry(name, replaces, skips, "") for name, replaces, skips in entries)
    versions = {name: name for name, _, _ in entries}
    assert channel_head(Channel("c", "p", made), versions) == expected
