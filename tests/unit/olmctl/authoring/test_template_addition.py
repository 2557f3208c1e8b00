"""A bundle that is added to the text of a template: every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmctl.authoring.catalog_addition import NewBundle, Refused, Wanted
from olmctl.authoring.template import BadTemplate, Template
from olmctl.authoring.template_addition import TemplateChange, add_to_template

DIGEST = "r/a@sha256:2"
BASIC = """\
# the operator a
schema: olm.template.basic
entries:
# its package
- schema: olm.package
  name: a
  defaultChannel: stable
  description: |
    Of several
    lines.
- schema: olm.channel
  package: a
  name: stable
  entries:
  - name: a.v1.0.0   # the first one
- schema: olm.bundle   # of a
  image: r/a:v1.0.0
# others
- schema: olm.package
  name: b
  defaultChannel: x
"""
SEMVER = """\
Schema: olm.semver   # ours
Candidate:
  Bundles:
  # the first one
  - Image: r/a:v1.0.0
GenerateMajorChannels: true
"""


def bundle(name: str = "a.v2.0.0", channels: tuple[str, ...] = ("stable",), **more: Any) -> NewBundle:
    blob = {"schema": "olm.bundle", "name": name, "package": name.partition(".")[0], "image": DIGEST}
    return NewBundle(blob, channels, channels[0] if channels else "", **more)


def added(text: str, new: NewBundle | None = None, given: str = DIGEST, **wanted: Any) -> TemplateChange:
    return add_to_template(text.encode(), new or bundle(), DIGEST, given, Wanted(**wanted))


def test_an_entry_of_the_channel_and_the_image() -> None:
    change = added(BASIC)
    entry = "  - name: a.v2.0.0\n    replaces: a.v1.0.0\n"
    expected = BASIC.replace("   # the first one\n", f"   # the first one\n{entry}").replace(
        "  image: r/a:v1.0.0\n", f"  image: r/a:v1.0.0\n- image: {DIGEST}\n  schema: olm.bundle\n"
    )
    assert change.text.text == expected
    assert change.notes == ["a.v2.0.0 in channel stable of a: replaces a.v1.0.0 (the head of the channel)"]
    again = added(expected)
    assert (again.text.text, again.notes) == (expected, [])


def test_another_channel_of_a_bundle_that_is_there() -> None:
    change = added(BASIC, bundle("a.v1.0.0"), given="r/a:v1.0.0", channels=("fast",))
    channel = "- entries:\n  - name: a.v1.0.0\n  name: fast\n  package: a\n  schema: olm.channel\n"
    assert change.text.text == BASIC.replace("   # the first one\n", f"   # the first one\n{channel}")


def test_a_new_package_comes_last() -> None:
    new = bundle("c.v1.0.0")
    change = added(BASIC, new)
    assert change.text.text.startswith(BASIC.partition("- schema: olm.bundle")[0])
    kinds = [(each.schema, each.name or each.value.get("image")) for each in change.template.entries()]
    assert kinds == [
        ("olm.package", "a"),
        ("olm.channel", "stable"),
        ("olm.bundle", "r/a:v1.0.0"),
        ("olm.bundle", DIGEST),
        ("olm.package", "b"),
        ("olm.package", "c"),
        ("olm.channel", "stable"),
    ]


def test_numbers_of_any_length_stay() -> None:
    text = BASIC + "- {schema: x, n1: 123456789012345678901234567890, f: 1.50}   # exact\n"
    assert added(text, bundle("a.v1.0.0"), given="r/a:v1.0.0", channels=("fast",)).text.text.endswith("   # exact\n")


def test_edges_are_replaced_where_they_are() -> None:
    text = added(BASIC).text.text
    change = added(text, is_overwritten=True, replaces="", skips=("a.v1.0.0",))
    old, new = "    replaces: a.v1.0.0\n", "    skips:\n    - a.v1.0.0\n"
    assert change.text.text == text.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(Template.read(BASIC.encode()).value, indent=2), id="JSON"),
        pytest.param("schema: olm.template.basic\nentries: []", id="no entries yet"),
        pytest.param("schema: olm.template.basic", id="no list yet"),
        pytest.param(
            "schema: olm.template.basic\nentries: [{schema: olm.package, name: a, defaultChannel: stable}]",
            id="a list in flow style",
        ),
    ],
)
def test_a_text_that_is_written_anew(text: str) -> None:
    change = added(text)
    assert change.template.images()[-1] == DIGEST
    (channel,) = (each for each in change.template.entries() if each.schema == "olm.channel")
    assert channel.value["entries"][-1]["name"] == "a.v2.0.0"
    assert change.text.form == ("json" if text.startswith("{") else "yaml")


def test_an_image_in_the_lists_of_a_semver_template() -> None:
    change = added(SEMVER, channels=("candidate", "stable"))
    first = "  - Image: r/a:v1.0.0\n"
    expected = SEMVER.replace(first, f"{first}  - Image: {DIGEST}\n") + f"Stable:\n  Bundles:\n  - Image: {DIGEST}\n"
    assert change.text.text == expected
    assert change.notes == ["a.v2.0.0 in candidate of a", "a.v2.0.0 in stable of a"]
    assert added(expected, channels=("stable",)).notes == []
    assert added(SEMVER, given="r/a:v1.0.0", channels=("candidate",)).notes == []


def test_the_lists_of_the_channels_of_a_bundle() -> None:
    assert added(SEMVER, bundle(channels=("fast-v1.2", "other"))).template.semver_images("fast") == [DIGEST]
    assert added("schema: olm.semver\nfast: {}", bundle(channels=("fast",))).template.images() == [DIGEST]


@pytest.mark.parametrize(
    ("text", "wanted", "words"),
    [
        pytest.param(SEMVER, {}, r"the channels of the bundle \(beta\) are none of candidate, fast, stable", id="none"),
        pytest.param(SEMVER, {"channels": ("slow",)}, "a semver template has no channel slow", id="another list"),
        pytest.param(SEMVER, {"replaces": "a.v1.0.0"}, "works out the edges", id="an edge"),
        pytest.param(
            SEMVER, {"default_channel": "fast"}, "works out the edges and the default", id="a default channel"
        ),
        pytest.param(BASIC, {"channels": ("stable",)}, "another image for it: a version that was released", id="moved"),
    ],
)
def test_what_is_refused(text: str, wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        added(text, bundle("a.v1.0.0", ("beta",)), **wanted)


def test_a_template_with_a_typo() -> None:
    with pytest.raises(BadTemplate, match='line 2: unknown field "fats"'):
        added("schema: olm.semver\nfats: {}", channels=("fast",))
