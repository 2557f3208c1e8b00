"""The ClusterServiceVersion: what comes from the input, and what stays of the base."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmctl.project.csv import Options, base_of, make
from olmctl.project.manifests import BadInput, read_manifests
from olmctl.project.permissions import split_permissions
from tests.project_input import CRD, SAMPLE, base, collection, deployment, operator, stream

PACKAGE = "kettle-operator"


def made(text: str, base_text: str = "", **options: Any) -> dict[str, Any]:
    parts = collection(text)
    (file_base,) = read_manifests(base_text.encode(), "base.yaml") if base_text else (None,)
    found = base_of(parts, PACKAGE, file_base).value
    return make(found, parts, split_permissions(parts, ()), Options(PACKAGE, **options)).value


def notes(text: str, base_text: str = "") -> list[str]:
    (file_base,) = read_manifests(base_text.encode(), "base.yaml") if base_text else (None,)
    return base_of(collection(text), PACKAGE, file_base).notes


def owned(*entries: str) -> str:
    return "customresourcedefinitions:\n  owned:\n" + "".join(f"  - {{{each}}}\n" for each in entries)


def test_without_a_base_there_are_upstreams_texts() -> None:
    spec = made(operator())["spec"]
    assert (spec["displayName"], spec["description"]) == ("Kettle Operator", "Kettle Operator description. TODO.")
    assert spec["links"] == [{"name": "Kettle Operator", "url": "https://kettle-operator.domain"}]
    assert notes(operator()) == ["there is no base: the texts are placeholders (olm bundle init makes one)"]


@pytest.mark.parametrize(
    ("given", "name", "version"),
    [
        pytest.param("", "kettle-operator.v0.3.0", "0.3.0", id="the version of the base"),
        pytest.param("1.2.3-rc.1", "kettle-operator.v1.2.3-rc.1", "1.2.3-rc.1", id="a given version"),
    ],
)
def test_name_and_version(given: str, name: str, version: str) -> None:
    text = base("kettle-operator.v0.3.0").replace("version: 0.0.0", "version: v0.3")
    found = made(operator(), text, version=given)
    assert (found["metadata"]["name"], found["spec"]["version"]) == (name, version)


@pytest.mark.parametrize(
    ("base_spec", "expected"),
    [
        pytest.param("", [{}], id="only served versions are owned"),
        pytest.param(
            owned("name: kettles.tea.example.com, version: v1, kind: Kettle, displayName: K, description: D"),
            [{"displayName": "K", "description": "D"}],
            id="the description of the base",
        ),
        pytest.param(
            owned(
                "name: kettles.tea.example.com, version: v2, kind: Kettle",
                "name: x.tea.example.com, version: v1, kind: X",
            ),
            [{}],
            id="what the input does not define is left out",
        ),
    ],
)
def test_owned_apis(base_spec: str, expected: list[dict[str, str]]) -> None:
    api = {"name": "kettles.tea.example.com", "version": "v1", "kind": "Kettle"}
    found = made(operator(), base(spec=base_spec))["spec"]["customresourcedefinitions"]
    assert found == {"owned": [{**api, **each} for each in expected]}


def test_what_the_input_says_nothing_about_stays() -> None:
    kept = """\
nativeAPIs: [{group: "", version: v1, kind: Pod}]
relatedImages: [{name: other, image: "other:1"}]
skips: [kettle-operator.v0.0.9]
customresourcedefinitions: {required: [{name: a.b, version: v1, kind: A}]}
"""
    spec = made(operator(), base(spec=kept))["spec"]
    assert spec["relatedImages"] == [{"image": "other:1", "name": "other"}]
    assert spec["customresourcedefinitions"]["required"] == [{"name": "a.b", "version": "v1", "kind": "A"}]
    assert (spec["skips"], spec["minKubeVersion"]) == (["kettle-operator.v0.0.9"], "1.28.0")


def test_permissions_of_the_base_stay_for_other_accounts() -> None:
    rules = "rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]"
    text = base().replace(
        "deployments: null",
        f"deployments: null, clusterPermissions: [{{serviceAccountName: kettle, {rules}}}, {{serviceAccountName: b, {rules}}}]",
    )
    found = made(operator(), text)["spec"]["install"]["spec"]["clusterPermissions"]
    assert [(each["serviceAccountName"], each["rules"][0]["resources"]) for each in found] == [
        ("b", ["secrets"]),
        ("kettle", ["pods"]),
    ]


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        pytest.param((CRD, SAMPLE), ["blue"], id="the samples of the input come in place of those of the base"),
        pytest.param((CRD,), ["old"], id="an example of the base stays where the input has no sample"),
        pytest.param((SAMPLE,), [], id="without the definition there is no example"),
    ],
)
def test_examples(objects: tuple[str, ...], names: list[str]) -> None:
    old = {"apiVersion": "tea.example.com/v1", "kind": "Kettle", "metadata": {"name": "old"}}
    gone = {**old, "kind": "Gone"}
    annotation = f"alm-examples: '{json.dumps([old, gone, 5])}'\n"
    found = made(stream(*objects, deployment()), base(annotations=annotation))["metadata"]["annotations"][
        "alm-examples"
    ]
    assert [each["metadata"]["name"] for each in json.loads(found)] == names


def test_an_example_is_written_as_go_writes_it() -> None:
    found = made(operator())["metadata"]["annotations"]["alm-examples"]
    assert '"spec": {\n      "note": "a \\u003c b \\u0026 c"\n    }' in found


def test_the_namespaces_to_watch_come_from_olm() -> None:
    container = "env: [{name: WATCH_NAMESPACE, value: x}, {name: OTHER, value: z}]\n"
    (found,) = made(deployment(container=container))["spec"]["install"]["spec"]["deployments"]
    reference = {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}
    assert found["spec"]["template"]["spec"]["containers"][0]["env"] == [
        {"name": "WATCH_NAMESPACE", "valueFrom": reference},
        {"name": "OTHER", "value": "z"},
    ]


@pytest.mark.parametrize(
    ("text", "base_text", "expected"),
    [
        pytest.param(stream(operator(), base()), "", [], id="the base of the input"),
        pytest.param(
            stream(operator(), base("other.v1")),
            base(),
            "ClusterServiceVersion other.v1 is not used: its name does not begin with kettle-operator.",
            id="that of another package",
        ),
        pytest.param(
            stream(base(), base("kettle-operator.v9")),
            "",
            "ClusterServiceVersion kettle-operator.v9 is not used: all.yaml:1 has the base",
            id="a second one",
        ),
    ],
)
def test_every_csv_that_is_not_used_is_named(text: str, base_text: str, expected: str | list[str]) -> None:
    found = [note.partition(": ")[2] for note in notes(text, base_text) if "is not used" in note]
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize("version", [pytest.param("5", id="a number"), pytest.param("a.b", id="no version")])
def test_a_version_that_cannot_be_read_is_refused_at_its_line(version: str) -> None:
    text = base().replace("version: 0.0.0", f"version: {version}")
    with pytest.raises(BadInput) as raised:
        made(operator(), text)
    assert str(raised.value).startswith(f"base.yaml:{text.split(chr(10)).index(f'  version: {version}') + 1}: ")
