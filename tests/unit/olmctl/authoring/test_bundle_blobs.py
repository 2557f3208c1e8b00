"""The olm.bundle blobs of bundles: declared and derived properties, their order, the images."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmctl.authoring.bundle_blobs import plain_blob, registry_blob, summarized_blob
from olmkit.fbc.bundle_files import BadBundleFiles, read_registry
from tests.examples import example_count
from tests.unit.olmkit.fbc.bundle_builders import bundle, definition, dump, service_version

IMAGE = "quay.io/o/bundle:v1.2.3"


def blob(files: dict[str, bytes], image: str = IMAGE, *, summarized: bool = True) -> dict[str, Any]:
    made: dict[str, Any] = orjson.loads(orjson.dumps(registry_blob(read_registry(files), image, summarized=summarized)))
    return made


def values(found: dict[str, Any], of: str) -> list[Any]:
    return [each["value"] for each in found["properties"] if each["type"] == of]


def test_the_whole_blob_of_a_bundle() -> None:
    found = blob(bundle())
    summary = found["properties"].pop()
    assert summary["type"] == "olm.csv.metadata"
    assert found == {
        "schema": "olm.bundle",
        "name": "p.v1.2.3",
        "package": "p",
        "image": IMAGE,
        "properties": [
            {"type": "olm.gvk", "value": {"group": "g", "kind": "Thing", "version": "v1"}},
            {"type": "olm.gvk", "value": {"group": "g", "kind": "Thing", "version": "v1alpha1"}},
            {"type": "olm.package", "value": {"packageName": "p", "version": "1.2.3"}},
        ],
        "relatedImages": [
            {"name": "", "image": IMAGE},
            {"name": "", "image": "quay.io/o/init:1"},
            {"name": "", "image": "quay.io/o/manager:1"},
        ],
    }


def test_manifests_are_included_unless_summarized_and_always_without_an_image() -> None:
    for found in (blob(bundle(), summarized=False), blob(bundle(), "")):
        carried = [json.loads(base64.b64decode(each["data"])) for each in values(found, "olm.bundle.object")]
        assert [each["kind"] for each in carried] == ["CustomResourceDefinition", "ClusterServiceVersion"]
        assert values(found, "olm.csv.metadata") == []
        assert found["properties"][-2:] == [p for p in found["properties"] if p["type"] == "olm.bundle.object"]


def test_properties_come_from_the_file_the_annotation_and_the_dependencies() -> None:
    csv = service_version(
        customresourcedefinitions={"required": [{"name": "others.h.io", "version": "v2", "kind": "Other"}]},
        apiservicedefinitions={
            "owned": [{"group": "own", "version": "v1", "kind": "Own", "name": "x"}],
            "required": [{"group": "need", "version": "v1", "kind": "Need", "name": "x"}],
        },
    )
    csv["metadata"]["annotations"]["olm.properties"] = '[{"type":"olm.maxOpenShiftVersion","value":"4.14"}]'
    found = blob(
        bundle(
            csv,
            properties=dump(
                {"properties": [{"type": "my.own", "value": [1.5]}, {"type": "olm.csv.metadata", "value": {}}]}
            ),
            dependencies=dump(
                {
                    "dependencies": [
                        {"type": "olm.package", "value": {"packageName": "q", "version": ">1.0.0"}},
                        {"type": "olm.gvk", "value": {"group": "d", "version": "v1", "kind": "D"}},
                        {"type": "olm.constraint", "value": {"failureMessage": "no", "cel": {"rule": "true"}}},
                    ]
                }
            ),
        )
    )
    assert [(each["type"], each["value"]) for each in found["properties"]] == [
        ("my.own", [1.5]),
        ("olm.constraint", {"cel": {"rule": "true"}, "failureMessage": "no"}),
        ("olm.gvk", {"group": "g", "kind": "Thing", "version": "v1"}),
        ("olm.gvk", {"group": "g", "kind": "Thing", "version": "v1alpha1"}),
        ("olm.gvk", {"group": "own", "kind": "Own", "version": "v1"}),
        ("olm.gvk.required", {"group": "d", "kind": "D", "version": "v1"}),
        ("olm.gvk.required", {"group": "h.io", "kind": "Other", "version": "v2"}),
        ("olm.gvk.required", {"group": "need", "kind": "Need", "version": "v1"}),
        ("olm.maxOpenShiftVersion", "4.14"),
        ("olm.package", {"packageName": "p", "version": "1.2.3"}),
        ("olm.package.required", {"packageName": "q", "versionRange": ">1.0.0"}),
        ("olm.csv.metadata", {}),
    ]


def test_the_summary_has_what_people_browse_and_nothing_of_the_installation() -> None:
    csv = service_version(
        description="about",
        icon=[{"base64data": "AA=="}],
        links=[{"name": "site", "url": "u", "more": 1}],
        installModes=[{"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace"}],
        keywords=[],
        minKubeVersion="1.20.0",
        nativeAPIs=[{"group": "", "version": "v1", "kind": "Pod"}],
    )
    csv["spec"]["customresourcedefinitions"]["owned"][0] |= {
        "displayName": "T",
        "unknown": 1,
        "resources": [{"kind": "Pod"}],
    }
    (found,) = values(blob(bundle(csv)), "olm.csv.metadata")
    assert found == {
        "annotations": {"a": "b"},
        "apiServiceDefinitions": {},
        "crdDescriptions": {
            "owned": [
                {
                    "name": "things.g",
                    "version": "v1",
                    "kind": "Thing",
                    "displayName": "T",
                    "resources": [{"name": "", "kind": "Pod", "version": ""}],
                }
            ]
        },
        "description": "about",
        "displayName": "P",
        "installModes": [{"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace", "supported": False}],
        "links": [{"name": "site", "url": "u"}],
        "minKubeVersion": "1.20.0",
        "nativeAPIs": [{"group": "", "version": "v1", "kind": "Pod"}],
        "provider": {},
    }


def test_images_that_the_bundle_names_keep_their_names_and_come_once() -> None:
    named = [{"name": "m", "image": "quay.io/o/manager:1"}, {"name": "z", "image": "a.io/z:1"}]
    assert blob(bundle(service_version(relatedImages=named)))["relatedImages"] == [
        {"name": "z", "image": "a.io/z:1"},
        {"name": "", "image": IMAGE},
        {"name": "", "image": "quay.io/o/init:1"},
        {"name": "m", "image": "quay.io/o/manager:1"},
    ]


def test_a_release_is_written() -> None:
    assert values(blob(bundle(service_version(release="2"))), "olm.package") == [
        {"packageName": "p", "version": "1.2.3", "release": "2"}
    ]


@pytest.mark.parametrize(
    ("csv", "words"),
    [
        pytest.param(service_version(version=None), "needs a spec.version, which is a string", id="no version"),
        pytest.param(
            service_version(version=1.2), "needs a spec.version, which is a string", id="a number for a version"
        ),
        pytest.param({**service_version(), "metadata": None}, "needs a metadata.name, which is a string", id="no name"),
        pytest.param(
            service_version(displayName=5),
            "cannot be read: json: cannot unmarshal number into Go struct field CSVMetadata.displayName of type string",
            id="a field of another type, that the summary has",
        ),
        pytest.param(
            service_version(install=[1]), "has a field of another type than it should", id="another that it has not"
        ),
        pytest.param(
            service_version(customresourcedefinitions={"required": [{"name": "x"}]}),
            'requires a CRD named "x", which is no plural.group',
            id="a required CRD without group",
        ),
        pytest.param(
            {**service_version(), "metadata": {"name": "x", "annotations": {"olm.properties": "{"}}},
            "annotation olm.properties is not valid JSON: ",
            id="an annotation that is not valid JSON",
        ),
    ],
)
def test_service_versions_that_cannot_be_rendered(csv: dict[str, Any], words: str) -> None:
    with pytest.raises(BadBundleFiles) as caught:
        blob(bundle(csv))
    assert words in str(caught.value)


def test_the_plain_bundle_of_the_guide() -> None:
    files = {"manifests/namespace.yaml": dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})}
    image = "quay.io/example-org/example-extension-bundle:v0.0.1"
    assert plain_blob(files, image, "example-extension", "0.0.1") == {
        "schema": "olm.bundle",
        "name": "example-extension.v0.0.1",
        "package": "example-extension",
        "image": image,
        "properties": [
            {"type": "olm.package", "value": {"packageName": "example-extension", "version": "0.0.1"}},
            {"type": "olm.bundle.mediatype", "value": "plain+v0"},
        ],
    }
    assert plain_blob(files, image, "p", "1.0.0", "other")["name"] == "other"


def test_a_blob_of_a_catalog_is_summarized_if_it_has_an_image_and_a_service_version() -> None:
    carrying = blob(bundle(), summarized=False)
    assert summarized_blob(carrying) == blob(bundle())
    assert summarized_blob({**carrying, "image": ""}) == {**carrying, "image": ""}
    assert summarized_blob(blob(bundle())) == blob(bundle())


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=3)
    | st.sampled_from([[], {}, [1], {"a": 1}, [{}], [[]]])
)


@settings(max_examples=example_count(60))
@given(st.data(), VALUES, st.booleans())
def test_no_other_exception_is_raised_for_any_field(data: st.DataObject, value: Any, summarized: bool) -> None:
    csv = service_version(
        relatedImages=[{"name": "x", "image": "y"}],
        links=[{"name": "site", "url": "u"}],
        apiservicedefinitions={"owned": [{"group": "own", "version": "v1", "kind": "Own", "name": "x"}]},
    )
    csv["spec"]["customresourcedefinitions"]["required"] = [{"name": "others.h.io", "version": "v2", "kind": "Other"}]
    csv["metadata"]["annotations"]["olm.properties"] = "[]"
    objects = {"csv": csv, "crd": definition()}
    at: Any = objects
    while True:
        key = data.draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at))))
        if not at[key] or not isinstance(at[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
            at[key] = value
            break
        at = at[key]
    files = bundle() | {f"manifests/{name}.yaml": dump(each) for name, each in objects.items()}
    with suppress(BadBundleFiles):
        blob(files, summarized=summarized)
