"""Templates of catalogs, rendered with bundles that are given here."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from olmctl.authoring.template import BadTemplate, Template
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import Document

BASIC = """\
schema: olm.template.basic
entries:
- schema: olm.package
  name: a
  defaultChannel: stable
- {schema: olm.channel, package: a, name: stable, entries: [{name: a.v1.0.0}]}
- schema: olm.bundle
  image: r/a:v1.0.0
- {schema: custom, package: a, any: thing}
"""
SEMVER = """\
Schema: olm.semver
GenerateMajorChannels: true
Stable:
  Bundles:
  - Image: r/a:v1.0.0
  - Image: r/a:v1.1.0
candidate:
  bundles:
  - image: r/a:v1.1.0
"""


def blob(value: dict[str, Any]) -> Blob:
    return parse_blob(Document(value, orjson.dumps(value), 1))


def bundle(image: str) -> Blob:
    """The bundle in r/PACKAGE:vVERSION."""
    package, _, version = image.removeprefix("r/").partition(":v")
    value = {"packageName": package, "version": version}
    properties = [{"type": "olm.package", "value": value}]
    names = {"name": f"{package}.v{version}", "package": package, "image": image}
    return blob({"schema": "olm.bundle", **names, "properties": properties})


def rendered(text: str) -> list[tuple[str, str]]:
    return [(each.schema, each.name) for each in Template.read(text.encode()).rendered(bundle)]


def test_a_basic_template() -> None:
    template = Template.read(BASIC.encode())
    assert template.images() == ["r/a:v1.0.0"]
    found = list(template.rendered(bundle))
    assert [each.schema for each in found] == ["olm.package", "olm.channel", "olm.bundle", "custom"]
    assert found[2].name == "a.v1.0.0"
    assert found[3].value["any"] == "thing"


def test_a_semver_template_whatever_the_case_of_its_keys() -> None:
    assert Template.read(SEMVER.encode()).images() == ["r/a:v1.1.0", "r/a:v1.0.0"]
    assert rendered(SEMVER) == [
        ("olm.package", "a"),
        ("olm.channel", "candidate-v1"),
        ("olm.channel", "stable-v1"),
        ("olm.bundle", "a.v1.1.0"),
        ("olm.bundle", "a.v1.0.0"),
    ]
    first, *_ = Template.read(SEMVER.encode()).rendered(bundle)
    assert first.value["defaultChannel"] == "stable-v1"
    minor = SEMVER.replace("GenerateMajorChannels: true\n", "")
    assert ("olm.channel", "stable-v1.1") in rendered(minor)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param(
            {"description": "Lights.", "icon": [{"base64data": "eA==", "mediatype": "image/png"}]},
            {"description": "Lights.", "icon": {"base64data": "eA==", "mediatype": "image/png"}},
            id="both",
        ),
        pytest.param({"description": 5, "icon": [{"base64data": "eA=="}]}, {}, id="neither as it should be"),
        pytest.param([], {}, id="no mapping"),
    ],
)
def test_a_semver_template_takes_the_description_of_the_head_of_its_default_channel(spec: Any, found: Any) -> None:
    csv = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "spec": spec}

    def with_csv(image: str) -> Blob:
        value = dict(bundle(image).value)
        data = base64.b64encode(orjson.dumps(csv)).decode()
        objects = {"type": "olm.bundle.object", "value": {"data": data}}
        return blob({**value, "properties": [*value["properties"], *([objects] if image.endswith("1.1.0") else ())]})

    first, *_ = Template.read(SEMVER.encode()).rendered(with_csv)
    assert first.value == {"schema": "olm.package", "name": "a", "defaultChannel": "stable-v1", **found}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "has 0 documents, and a template is one", id="no document"),
        pytest.param(f"{BASIC}---\n{BASIC}", "has 2 documents", id="two documents"),
        pytest.param("a: [", "line 2, column 1: ", id="no YAML"),
        pytest.param("- a", r'unknown schema \(""\), should be olm.template.basic or olm.semver', id="no mapping"),
        pytest.param("schema: olm.package", r'unknown schema \("olm.package"\)', id="a blob of a catalog"),
        pytest.param("schema: olm.template.basic\nentries: a", "line 2: entries must be a list", id="no list"),
        pytest.param("schema: olm.template.basic\nentries:\n- a", "line 3: a blob must be a mapping", id="no blob"),
        pytest.param("schema: olm.template.basic\nentries:\n- name: a", "missing root schema field", id="no schema"),
        pytest.param(
            "schema: olm.template.basic\nentries:\n- schema: x\n- {schema: olm.bundle, image: a, name: b}",
            "line 4: unexpected fields present in basic template bundle: it has schema and image, and nothing else",
            id="a bundle with more than its image",
        ),
        pytest.param("schema: olm.template.basic\nentries: [{schema: olm.bundle}]", "unexpected fields", id="no image"),
        pytest.param("schema: olm.semver\nfast: {}\nFast: {}", 'duplicate keys for key "fast"', id="a key twice"),
        pytest.param("schema: olm.semver", "no bundles specified or no bundles could be rendered", id="no bundles"),
        pytest.param(
            "schema: olm.semver\nstabel: {}", 'line 2: unknown field "stabel": there are schema,', id="a typo"
        ),
        pytest.param("schema: olm.semver\nfast: []", "line 2: fast must be a mapping with a list bundles", id="a list"),
        pytest.param(
            "schema: olm.semver\nfast:\n  bundles: a", "line 3: bundles must be a list", id="no list of bundles"
        ),
        pytest.param("schema: olm.semver\nfast:\n  images: []", 'line 3: unknown field "images"', id="a typo below"),
        pytest.param(
            "schema: olm.semver\nfast:\n  bundles:\n  - r/a", "line 4: each of the bundles must be", id="a text"
        ),
        pytest.param(
            "schema: olm.semver\nfast: {bundles: [{image: r/a:v1.0.0, name: a}]}",
            'line 2: unknown field "name"',
            id="a bundle with a name",
        ),
        pytest.param(
            "schema: olm.semver\ngenerateMajorChannels: 1", "line 2: .* must be true or false", id="no switch"
        ),
        pytest.param(
            "schema: olm.semver\ndefaultChannelTypePreference: best",
            "unknown defaultChannelTypePreference: \"best\": valid values are 'major' or 'minor'",
            id="no kind",
        ),
        pytest.param(
            "schema: olm.semver\ndefaultChannelTypePreference: major",
            "set to 'major' doesn't make sense if not generating major-version channels",
            id="a kind that is not made",
        ),
        pytest.param(
            "schema: olm.semver\nfast: {bundles: [{image: r/a:v1.0.0}, {image: r/b:v1.0.0}]}",
            'bundle "b.v1.0.0" does not belong to this package: "a"',
            id="two packages",
        ),
        pytest.param(
            "schema: olm.semver\nfast: {bundles: [{image: r/a:v1.0}]}",
            'bundle "a.v1.0" has invalid version "1.0"',
            id="no version",
        ),
        pytest.param(
            "schema: olm.semver\nfast: {bundles: [{image: r/a:v1.0.0}, {image: r/a:v1.0.0}]}",
            'duplicate bundle name "a.v1.0.0"',
            id="a bundle twice",
        ),
    ],
)
def test_what_is_no_template(text: str, words: str) -> None:
    with pytest.raises(BadTemplate, match=words):
        list(Template.read(text.encode()).rendered(bundle))
