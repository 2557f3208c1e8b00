"""Blobs as typed values: the fields of each schema, and the errors of blobs that do not match their schema."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from olmkit.fbc import catalog
from olmkit.fbc.errors import BadBlob

PACKAGE = {"type": "olm.package", "value": {"packageName": "p", "version": "1.2.3"}}


def bundle(*properties: Mapping[str, Any], **more: Any) -> catalog.Bundle:
    return catalog.bundle({"name": "p.v1", "package": "p", "image": "i", "properties": list(properties), **more})


def test_a_package_is_read_with_its_icon() -> None:
    blob = {
        "name": "p",
        "defaultChannel": "c",
        "description": "d",
        "icon": {"base64data": "eA==", "mediatype": "image/png"},
    }
    assert catalog.package(blob) == catalog.Package("p", "c", "d", ("eA==", "image/png"))


def test_what_is_absent_or_null_is_empty() -> None:
    assert catalog.package({"name": "p", "icon": None, "description": None}) == catalog.Package("p", "", "", None)
    assert catalog.channel({"name": "c", "package": "p", "entries": [None]}).entries == (catalog.Entry("", "", (), ""),)
    assert catalog.bundle({"name": "b", "properties": None}).properties == ()


def test_fields_are_found_in_any_case_as_go_finds_them() -> None:
    assert catalog.package({"Name": "p", "DEFAULTCHANNEL": "c"}).default_channel == "c"


def test_a_channel_is_read_with_its_edges() -> None:
    entry = {"name": "b2", "replaces": "b1", "skips": ["b0"], "skipRange": "<2.0.0"}
    assert catalog.channel({"name": "c", "package": "p", "entries": [entry]}).entries == (
        catalog.Entry("b2", "b1", ("b0",), "<2.0.0"),
    )


def test_deprecations_are_read() -> None:
    entries = [
        {"reference": {"schema": "olm.package"}, "message": "gone"},
        {"reference": {"schema": "olm.bundle", "name": "b"}, "message": "bad"},
    ]
    assert catalog.deprecations({"package": "p", "entries": entries}).entries == (
        catalog.Deprecation("olm.package", "", "gone"),
        catalog.Deprecation("olm.bundle", "b", "bad"),
    )


JSON = "json: cannot unmarshal"


@pytest.mark.parametrize(
    ("read", "blob", "words", "place"),
    [
        pytest.param(
            *(catalog.package, {"name": "p", "description": 5}),
            f"parse package: {JSON} number into Go struct field Package.description of type string",
            'package "p"',
            id="a package whose description is a number",
        ),
        pytest.param(
            *(catalog.package, {"name": "p", "icon": "x"}),
            f"parse package: {JSON} string into Go struct field Package.icon of type declcfg.Icon",
            'package "p"',
            id="an icon that is no mapping",
        ),
        pytest.param(
            *(catalog.package, {"name": "p", "icon": {"base64data": "eA="}}),
            "parse package: illegal base64 data at input byte 3",
            'package "p"',
            id="an icon that is no base64",
        ),
        pytest.param(
            *(catalog.channel, {"name": "c", "package": "p", "entries": {}}),
            f"parse channel: {JSON} object into Go struct field Channel.entries of type []declcfg.ChannelEntry",
            'package "p", channel "c"',
            id="entries that are no list",
        ),
        pytest.param(
            *(catalog.channel, {"name": "c", "package": "p", "entries": ["b"]}),
            f"parse channel: {JSON} string into Go struct field Channel.entries of type declcfg.ChannelEntry",
            'package "p", channel "c"',
            id="an entry that is a string",
        ),
        pytest.param(
            *(catalog.channel, {"name": "c", "package": "p", "entries": [{"skips": [True]}]}),
            f"parse channel: {JSON} bool into Go struct field ChannelEntry.entries.skips of type string",
            'package "p", channel "c"',
            id="skips that are no strings",
        ),
        pytest.param(
            *(catalog.bundle, {"name": "b", "package": "p", "image": ["i"]}),
            f"parse bundle: {JSON} array into Go struct field Bundle.image of type string",
            'package "p", bundle "b"',
            id="an image that is a list",
        ),
        pytest.param(
            *(catalog.bundle, {"name": "b", "package": "p", "properties": [{"type": 1}]}),
            f"parse bundle: {JSON} number into Go struct field Property.properties.type of type string",
            'package "p", bundle "b"',
            id="a property whose type is a number",
        ),
        pytest.param(
            *(catalog.bundle, {"name": "b", "package": 'p"', "relatedImages": [{"image": 1}]}),
            f"parse bundle: {JSON} number into Go struct field RelatedImage.relatedImages.image of type string",
            'package "p\\"", bundle "b"',
            id="a related image that is a number",
        ),
        pytest.param(
            *(catalog.deprecations, {"package": "p", "entries": [{"reference": "b"}]}),
            f"parse deprecation: {JSON} string into Go struct field DeprecationEntry.entries.reference of type"
            " declcfg.PackageScopedReference",
            'package "p"',
            id="a reference that is a string",
        ),
    ],
)
def test_bad_blobs(read: Callable[[Mapping[str, Any]], Any], blob: Mapping[str, Any], words: str, place: str) -> None:
    with pytest.raises(BadBlob) as caught:
        read(blob)
    assert (caught.value.opm_message, caught.value.place) == (words, place)
    assert str(caught.value) == f"{words} ({place})"


def test_a_bad_blob_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(BadBlob("words", "place")))
    assert (error.opm_message, error.place) == ("words", "place")


def test_bytes_may_be_numbers_as_go_reads_them() -> None:
    icon = {"base64data": [120, None], "mediatype": "m"}
    assert catalog.package({"name": "p", "icon": icon}).icon == (base64.b64encode(b"x\0").decode(), "m")


def test_a_property_without_type_or_value_is_an_error_only_when_it_is_read() -> None:
    read = bundle({"type": "t"}, {"value": 1}, {"type": "n", "value": None}, {"type": "c", "VALUE": 2})
    assert [(each.type, each.value, each.has_value) for each in read.properties] == [
        ("t", None, False),
        ("", 1, True),
        ("n", None, True),
        ("c", 2, True),
    ]
    assert [each.error() for each in read.properties] == ["unexpected end of JSON input", "", "", ""]


def test_related_images_are_read() -> None:
    assert bundle(relatedImages=[{"name": "a", "image": "i"}, None, {"name": "b"}]).related_images == ("i", "", "")


def test_the_version_and_release_of_a_bundle() -> None:
    assert bundle(PACKAGE).version() == ("1.2.3", "")
    released = {"type": "olm.package", "value": {"packageName": "p", "version": "1.2.3", "release": "2"}}
    assert bundle(released).version() == ("1.2.3", "2")


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        pytest.param([], 'package "p" bundle "p.v1" must have exactly 1 "olm.package" property, found 0', id="none"),
        pytest.param(
            [PACKAGE, PACKAGE],
            'package "p" bundle "p.v1" must have exactly 1 "olm.package" property, found 2',
            id="two",
        ),
        pytest.param(
            [{"type": "olm.package", "value": {"packageName": "q", "version": "1.0.0"}}],
            'package "p" does not match "olm.package" property "q"',
            id="of another package",
        ),
        pytest.param(
            [{"type": "x", "value": 1}, {"type": "olm.package", "value": {"packageName": "p", "version": 1}}],
            'parse properties for bundle "p.v1": parse property[1] of type "olm.package": json: cannot unmarshal number into Go'
            " struct field Package.version of type string",
            id="a version that is a number",
        ),
        pytest.param(
            [PACKAGE, {"type": "olm.gvk", "value": []}],
            'parse properties for bundle "p.v1": parse property[1] of type "olm.gvk": json: cannot unmarshal array into Go value'
            " of type property.GVK",
            id="another property that cannot be read",
        ),
    ],
)
def test_bundles_without_a_version(properties: list[Mapping[str, Any]], words: str) -> None:
    with pytest.raises(BadBlob) as caught:
        bundle(*properties).version()
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("properties", "media_type"),
    [
        pytest.param([], "registry+v1", id="no such property: registry+v1"),
        pytest.param(
            [{"type": "olm.bundle.mediatype", "value": "plain+v0"}], "plain+v0", id="the value of the property"
        ),
        pytest.param([{"type": "olm.bundle.mediatype", "value": 5}], "", id="a number is ignored"),
    ],
)
def test_media_types(properties: list[Mapping[str, Any]], media_type: str) -> None:
    assert bundle(*properties).media_type() == media_type


def encoded(text: str) -> dict[str, Any]:
    return {"type": "olm.bundle.object", "value": {"data": base64.b64encode(text.encode()).decode()}}


@pytest.mark.parametrize(
    ("properties", "version"),
    [
        pytest.param([], "", id="nothing is given"),
        pytest.param(
            [{"type": "olm.csv.metadata", "value": {"minKubeVersion": "1.20.0"}}], "1.20.0", id="CSV metadata"
        ),
        pytest.param([{"type": "olm.csv.metadata", "value": {"minKubeVersion": 1.2}}], "", id="a number is no version"),
        pytest.param(
            [encoded('{"kind":"ClusterServiceVersion","spec":{"minKubeVersion":"1.25.0"}}')],
            "1.25.0",
            id="a CSV as JSON",
        ),
        pytest.param(
            [encoded("kind: ClusterServiceVersion\nspec:\n  minKubeVersion: 1.25.0\n")], "1.25.0", id="a CSV as YAML"
        ),
        pytest.param(
            [encoded('{"kind":"Other","spec":{"minKubeVersion":"1.25.0"}}')], "", id="an object that is no CSV"
        ),
        pytest.param([encoded("kind: [ClusterServiceVersion minKubeVersion")], "", id="an object that cannot be read"),
        pytest.param([{"type": "olm.bundle.object", "value": {"data": "*"}}], "", id="data that is no base64"),
    ],
)
def test_the_least_kubernetes_version(properties: list[Mapping[str, Any]], version: str) -> None:
    assert bundle(*properties).cluster_requirements().min_kube_version == version


@pytest.mark.parametrize(
    ("properties", "apis"),
    [
        pytest.param([], (), id="nothing is given"),
        pytest.param(
            [{"type": "olm.csv.metadata", "value": {"nativeAPIs": [{"version": "v1", "kind": "Pod"}] * 2}}],
            (("", "v1", "Pod"),),
            id="CSV metadata: each once",
        ),
        pytest.param(
            [
                encoded(
                    '{"kind":"ClusterServiceVersion","spec":{"nativeAPIs":[{"group":"g","version":"v1","kind":"K"}]}}'
                )
            ],
            (("g", "v1", "K"),),
            id="a CSV among the objects",
        ),
        pytest.param(
            [{"type": "olm.csv.metadata", "value": {"nativeAPIs": {"kind": "Pod"}}}], (), id="a mapping lists none"
        ),
    ],
)
def test_native_apis(properties: list[Mapping[str, Any]], apis: tuple[tuple[str, str, str], ...]) -> None:
    assert bundle(*properties).cluster_requirements().native_apis == apis


CUP = {"name": "cups.example.com", "version": "v1", "kind": "Cup", "displayName": "Tea  cup"}


@pytest.mark.parametrize(
    ("metadata", "names"),
    [
        pytest.param({"crdDescriptions": {"owned": [CUP]}}, {"example.com/v1/Cup": "Tea cup"}, id="an owned CRD"),
        pytest.param(
            {"apiServiceDefinitions": {"owned": [{**CUP, "name": "cups", "group": "g"}]}},
            {"g/v1/Cup": "Tea cup"},
            id="an owned API service",
        ),
        pytest.param({"crdDescriptions": {"required": [CUP]}}, {}, id="a required CRD is not provided"),
        pytest.param(
            {"crdDescriptions": {"owned": [{**CUP, "displayName": "Cup"}]}}, {}, id="the kind says it already"
        ),
        pytest.param(
            {"crdDescriptions": {"owned": [{**CUP, "displayName": "x" * 101}]}},
            {"example.com/v1/Cup": "x" * 100},
            id="a long name is cut",
        ),
        pytest.param({"crdDescriptions": {"owned": [{"displayName": 1}, 2]}}, {}, id="other forms name nothing"),
        pytest.param([], {}, id="metadata of another form"),
    ],
)
def test_display_names_of_owned_kinds(metadata: Any, names: dict[str, str]) -> None:
    assert bundle({"type": "olm.csv.metadata", "value": metadata}).display_names() == names
    assert bundle().display_names() == {}
