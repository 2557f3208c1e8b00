"""What a publisher says about a bundle, of any shape."""

import base64
from typing import Any

import orjson
import pytest

from console.views.description import MAX_EXAMPLES_BYTES, Description, description, uninstall_message


def _blob(**value: Any) -> Any:
    return {"schema": "olm.bundle", "properties": [{"type": "olm.csv.metadata", "value": value}]}


def test_it_reads_the_metadata_of_a_csv() -> None:
    found = description(
        _blob(
            displayName="Etcd",
            description="# etcd",
            provider={"name": "CNCF"},
            maturity="alpha",
            minKubeVersion="1.20.0",
            keywords=["kv"],
            links=[{"name": "Blog", "url": "https://etcd.example/blog"}, {"name": "Bad", "url": "javascript:x"}],
            maintainers=[{"name": "Ann", "email": "ann@example.com"}],
            installModes=[{"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace", "supported": False}],
            nativeAPIs=[{"group": "apps", "version": "v1", "kind": "Deployment"}],
            crdDescriptions={
                "owned": [
                    {
                        "name": "etcds.db.example",
                        "version": "v1",
                        "kind": "Etcd",
                        "displayName": "Etcd cluster",
                        "description": "A cluster",
                    }
                ]
            },
            annotations={
                "capabilities": "Full Lifecycle",
                "categories": "Database, Storage",
                "description": "A store",
                "createdAt": "2025-05-14T00:00:00Z",
                "containerImage": "registry.example/etcd:1",
                "repository": "https://github.example/etcd",
                "alm-examples": orjson.dumps(
                    [{"apiVersion": "db.example/v1", "kind": "Etcd", "metadata": {"name": "one"}}]
                ).decode(),
                "operators.operatorframework.io/internal-objects": '["etcds.db.example"]',
            },
        )
    )

    assert (found.title, found.short, found.provider, found.capability) == ("Etcd", "A store", "CNCF", "Full Lifecycle")
    assert found.categories == ("Database", "Storage")
    assert found.install_modes == ("AllNamespaces",)
    assert found.native_apis == (("apps", "v1", "Deployment"),)
    assert [(each.name, each.link and each.link.host) for each in found.links] == [
        ("Blog", "etcd.example"),
        ("Bad", None),
        ("Source", "github.example"),
    ]
    assert [(each.name, each.link and each.link.href) for each in found.maintainers] == [
        ("Ann", "mailto:ann@example.com")
    ]
    (kind,) = found.kinds
    assert (kind.group, kind.version, kind.kind, kind.title, kind.is_internal) == (
        "db.example",
        "v1",
        "Etcd",
        "Etcd cluster",
        True,
    )
    assert [(each.title, each.value["apiVersion"]) for each in kind.examples] == [("one", "db.example/v1")]


def test_it_reads_the_csv_among_the_objects() -> None:
    csv = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"annotations": {"capabilities": "Basic Install"}},
        "spec": {
            "displayName": "Old",
            "customresourcedefinitions": {"owned": [{"name": "as.x.example", "version": "v1", "kind": "A"}]},
        },
    }
    data = base64.b64encode(orjson.dumps(csv)).decode()
    found = description({"properties": [{"type": "olm.bundle.object", "value": {"data": data}}]})

    assert (found.title, found.capability) == ("Old", "Basic Install")
    assert [(each.group, each.kind) for each in found.kinds] == [("x.example", "A")]


@pytest.mark.parametrize(
    "blob",
    [
        pytest.param(None, id="nothing"),
        pytest.param([], id="a list"),
        pytest.param({"properties": {}}, id="properties that are no list"),
        pytest.param({"properties": [1, None, {"type": []}]}, id="properties that are no objects"),
        pytest.param(
            _blob(displayName=["x"], provider="x", links={"a": 1}, installModes=[3], annotations=[]), id="other types"
        ),
        pytest.param(
            _blob(crdDescriptions={"owned": [{"kind": {}}]}, annotations={"alm-examples": "[["}), id="half a document"
        ),
        pytest.param(_blob(annotations={"alm-examples": "[" * 200_000}), id="examples in examples"),
        pytest.param(_blob(annotations={"alm-examples": "1" * (MAX_EXAMPLES_BYTES + 1)}), id="large examples"),
        pytest.param(
            {"properties": [{"type": "olm.bundle.object", "value": {"data": "!!"}}]}, id="an object that is no base64"
        ),
    ],
)
def test_another_shape_is_an_empty_description(blob: Any) -> None:
    assert description(blob) == Description()


def test_a_deep_example_is_left_out() -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = {"a": deep}
    example = {"apiVersion": "db.example/v1", "kind": "A", "spec": deep}
    owned = {"owned": [{"name": "as.db.example", "kind": "A"}]}
    found = description(_blob(crdDescriptions=owned, annotations={"alm-examples": orjson.dumps([example]).decode()}))

    assert found.kinds[0].examples == ()


def test_names_are_one_line_and_cut() -> None:
    found = description(_blob(displayName="a\n b" + "c" * 1000))

    assert found.title == ("a b" + "c" * 1000)[:200]


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        pytest.param(
            [{"name": "a", "image": "x:1"}, {"image": "x:1"}, {"image": "y:2"}], ("x:1", "y:2"), id="each once"
        ),
        pytest.param([{"image": 5}, "x", {}, {"image": ""}], (), id="none that is one"),
        pytest.param("x" * 1_000_000, (), id="no list"),
        pytest.param(None, (), id="nothing"),
    ],
)
def test_all_images_are_listed(images: Any, expected: tuple[str, ...]) -> None:
    assert description({"relatedImages": images}).images == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Remove\nthe  volumes.", "Remove the volumes."), ("x" * 1_000_000, "x" * 2_000), (["x"], ""), (None, "")],
)
def test_the_words_for_people_who_uninstall(value: Any, expected: str) -> None:
    assert uninstall_message({"operator.openshift.io/uninstall-message": value}) == expected
