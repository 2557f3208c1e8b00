"""The default checks of a bundle, each rule with the bundle that breaks it and upstream's message."""

from __future__ import annotations

import copy
import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmctl.validation.checks import Options, validated
from olmctl.validation.file_tree import FileTree
from olmctl.validation.finding import Finding
from tests.bundle_files import ABSENT, ANNOTATIONS, CRD, CSV, LABEL, NAME, changed, files

DIRECTORIES = frozenset({"manifests", "metadata"})
KEY = "light.example.com/v1, Kind=Lamp"
UPSTREAM = Options(upstream=True)


def findings(contents: dict[str, bytes], directories: frozenset[str] = DIRECTORIES) -> list[Finding]:
    return list(validated(FileTree(contents, directories), "b", UPSTREAM).findings)


def messages(contents: dict[str, bytes], directories: frozenset[str] = DIRECTORIES) -> list[str]:
    return [each.message for each in findings(contents, directories)]


def csv(text: str) -> str:
    return f"Value : ({NAME}) {text}"


def annotated(**annotations: str) -> Any:
    return changed(CSV, metadata__annotations={**CSV["metadata"]["annotations"], **annotations})


def examples(text: str) -> Any:
    return changed(CSV, metadata__annotations={"alm-examples": text})


def owned(*entries: dict[str, str]) -> Any:
    return changed(CSV, spec__customresourcedefinitions__owned=list(entries))


def obj(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, **fields}


LAMP = {"name": "lamps.light.example.com", "version": "v1", "kind": "Lamp"}


def test_a_bundle_without_a_fault() -> None:
    assert findings(files()) == []


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param(
            changed(ANNOTATIONS, **{LABEL.format("package"): ABSENT}),
            ['Missing annotation "operators.operatorframework.io.bundle.package.v1"'],
            id="a label is missing",
        ),
        pytest.param(
            changed(ANNOTATIONS, **{LABEL.format("mediatype"): ABSENT}),
            [
                'Missing annotation "operators.operatorframework.io.bundle.mediatype.v1"',
                'Expecting annotation "operators.operatorframework.io.bundle.mediatype.v1" to have value "registry+v1" '
                'instead of ""',
            ],
            id="no media type",
        ),
        pytest.param(
            changed(ANNOTATIONS, **{LABEL.format("channels"): "", LABEL.format("channel.default"): ""}),
            [
                'Expecting annotation "operators.operatorframework.io.bundle.channels.v1" to have non-empty value',
                'Expecting annotation "operators.operatorframework.io.bundle.channel.default.v1" to have non-empty value',
            ],
            id="no channels",
        ),
        pytest.param(changed(ANNOTATIONS, **{LABEL.format("channel.default"): ABSENT}), [], id="no default channel"),
        pytest.param(changed(ANNOTATIONS, **{LABEL.format("channels"): 5}), [], id="a number"),
    ],
)
def test_labels(annotations: Any, expected: list[str]) -> None:
    assert messages(files(annotations=annotations)) == expected


def test_directories_have_their_names() -> None:
    moved = {path.replace("metadata/", "meta/"): data for path, data in files().items()}
    assert messages(moved, frozenset({"manifests", "meta"})) == ["Unable to locate metadata directory"]


@pytest.mark.parametrize(
    ("dependency", "expected"),
    [
        ({"type": "olm.gvk", "value": {}}, ["API Group is empty", "API Version is empty", "API Kind is empty"]),
        ({"type": "olm.package", "value": {"packageName": "a", "version": ">=1.0.0 <2.0.0"}}, []),
        (
            {"type": "olm.package", "value": {"version": "new"}},
            ["Package name is empty", "Invalid semver format version"],
        ),
        ({"type": "olm.package", "value": {"packageName": "a"}}, ["Package version is empty"]),
        ({"type": "olm.package", "value": {"packageName": 5}}, ["couldn't parse dependency of type olm.package"]),
        ({"type": "olm.label", "value": {"label": ""}}, ["Label information is missing"]),
        ({"type": "olm.constraint", "value": {}}, ["The CEL field is missing"]),
        ({"type": "olm.constraint", "value": {"cel": {}}}, ["The CEL expression is missing"]),
        ({"type": "olm.constraint", "value": {"cel": {"rule": "properties.exists(p, p.type == 'a')"}}}, []),
        ({"type": "olm.other", "value": {}}, ["couldn't parse dependency of type olm.other"]),
        ({"type": "olm.gvk"}, ["couldn't parse dependency of type olm.gvk"]),
        ({}, ["couldn't parse dependency of type "]),
    ],
)
def test_dependencies(dependency: Any, expected: list[str]) -> None:
    document = orjson.dumps({"dependencies": [dependency]})
    assert messages({**files(), "metadata/dependencies.yaml": document}) == expected


def test_an_invalid_rule_of_a_dependency() -> None:
    document = b"dependencies: [{type: olm.constraint, value: {cel: {rule: '1 +'}}}]"
    (message,) = messages({**files(), "metadata/dependencies.yaml": document})
    assert message.startswith("Invalid CEL expression: ")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(obj("ConfigMap"), [], id="a kind that is supported"),
        pytest.param(
            obj("Job", apiVersion="batch/v1"),
            ["Value batch/v1, Kind=Job: unsupported media type registry+v1 for bundle object"],
            id="a kind that is not",
        ),
        pytest.param(
            b"# nothing\n", ["Value /, Kind=: unsupported media type registry+v1 for bundle object"], id="comments"
        ),
        pytest.param(
            obj("ConfigMap", metadata={"generateName": "a-"}),
            ["Value : error validating object: metadata.name: Required value: name or generateName is required"],
            id="a generated name",
        ),
        pytest.param(obj("ConfigMap", metadata={"name": "a", "labels": {"a/b/c": 5}}), [], id="labels of another type"),
        pytest.param(
            obj("ConfigMap", metadata={"name": "a", "namespace": "b", "finalizers": ["/x"], "generation": -1}),
            [
                "Value a: error validating object: [metadata.namespace: Forbidden: not allowed on this type, "
                "metadata.generation: Invalid value: -1: must be greater than or equal to 0, "
                'metadata.finalizers: Invalid value: "/x": prefix part must be non-empty]'
            ],
            id="several faults of the metadata",
        ),
        pytest.param(
            obj("ConfigMap", metadata={"name": "a", "annotations": {"a": "x" * 2**18}}),
            ["Value a: error validating object: metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="long annotations",
        ),
        pytest.param(
            obj("ServiceAccount", metadata={"name": "lamp"}),
            [
                "Value lamp: invalid service account found in bundle. This service account lamp in your bundle is not valid, "
                "because a service account with the same name was already specified in your CSV. If this was unintentional, "
                "please remove the service account manifest from your bundle. If it was intentional to specify a separate "
                "service account, please rename the SA in either the bundle manifest or the CSV."
            ],
            id="the account of a deployment",
        ),
    ],
)
def test_objects(value: Any, expected: list[str]) -> None:
    assert messages(files(extra=value)) == [f"Error: {each}" for each in expected]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param(
            files(owned(LAMP, LAMP)),
            [f'Error: Value {KEY}: owned CRD "{KEY}" not found in bundle "{NAME}"'],
            id="an owned definition that is there twice",
        ),
        pytest.param(
            files(owned()),
            [
                f'Error: Value {KEY}: CRD "{KEY}" is present in bundle "{NAME}" but not defined in CSV',
                f"Error: Value {KEY}: example must have a provided API",
            ],
            id="a definition that is not owned",
        ),
        pytest.param(
            files(owned(LAMP, {"name": "lamps", "version": "v1", "kind": "Lamp"})),
            [
                f'Error: Value lamps/v1, Kind=Lamp: owned CRD "lamps/v1, Kind=Lamp" not found in bundle "{NAME}"',
                "Error: : couldn't parse plural.group from crd name: lamps",
            ],
            id="a name without a group",
        ),
    ],
)
def test_owned_definitions(contents: dict[str, bytes], expected: list[str]) -> None:
    assert messages(contents) == expected


def test_a_bundle_that_is_too_large() -> None:
    noise = "".join(
        random.Random(1).choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=1_200_000)
    )
    (message,) = messages(files(extra=obj("ConfigMap", data={"a": noise})))
    start = f"Error: Value {NAME}: maximum bundle compressed size with gzip size exceeded: size=~1."
    assert message.startswith(start)
    assert message.endswith(" MB , max=1.0 MB. Bundle uncompressed size is 1.2 MB")


@pytest.mark.parametrize(
    ("value", "level", "expected"),
    [
        pytest.param(
            changed(CSV, spec__replaces="Lamp"), "Error", [csv('spec.replaces "Lamp" is invalid: a lowercase RFC 1123 ')],
            id="the name that it replaces",
        ),
        pytest.param(
            changed(CSV, metadata={"name": NAME}), "Warning", [csv("annotations not found")], id="no annotations"
        ),
        pytest.param(
            changed(CSV, metadata__annotations={"a": "b"}), "Warning", [csv("example annotations not found")], id="no examples"
        ),
        pytest.param(changed(CSV, spec__installModes=[{"type": "X", "supported": True}]), "Error", [], id="an unknown mode"),
        pytest.param(
            changed(CSV, spec__webhookdefinitions=[{"conversionCRDs": ["a"]}] * 2, spec__installModes=[
                {"type": "AllNamespaces", "supported": True}, {"type": "OwnNamespace", "supported": True},
            ]),
            "Error",
            [csv("only AllNamespaces InstallModeType is supported when conversionCRDs is present")] * 2,
            id="conversion with other modes",
        ),
        pytest.param(
            changed(CSV, spec__minKubeVersion="1.28"), "Error",
            [csv("csv.Spec.MinKubeVersion has an invalid value: 1.28")], id="a short version of Kubernetes",
        ),
        pytest.param(
            changed(CSV, spec__minKubeVersion=" "), "Warning", [csv("csv.Spec.minKubeVersion is not informed. ")], id="blank"
        ),
        pytest.param(
            changed(CSV, spec__displayName=""), "Error",
            ["Field Spec.DisplayName, Value field: required field missing"], id="no display name",
        ),
        pytest.param(
            changed(CSV, spec__install=None), "Error",
            ["Field Spec.InstallStrategy, Value struct: required field missing"], id="no install strategy",
        ),
        pytest.param(
            changed(CSV, spec__install__spec={"deployments": None, "permissions": []}), "Error",
            ["Field Spec.InstallStrategy.StrategySpec.DeploymentSpecs, Value field: required field missing"],
            id="no deployments",
        ),
        pytest.param(changed(CSV, spec__install__spec={"deployments": []}), "Error", [], id="an empty list of deployments"),
        pytest.param(
            annotated(**{"OLM.skiprange": "x"}), "Error",
            [f"Value {NAME}: provided annotation OLM.skiprange uses wrong case and should be olm.skipRange instead"],
            id="the case of an annotation",
        ),
        pytest.param(
            changed(CSV, apiVersion=ABSENT), "Error", [csv("'apiVersion' is missing")], id="no apiVersion"
        ),
    ],
)  # fmt: skip
def test_csvs(value: Any, level: str, expected: list[str]) -> None:
    found = messages(files(value))
    assert len(found) == len(expected)
    assert all(each.startswith(f"{level}: {start}") for each, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", f"Warning: Value {KEY}: provided API should have an example annotation", id="empty"),
        pytest.param("null", f"Warning: Value {KEY}: provided API should have an example annotation", id="null"),
        pytest.param(
            "[{]",
            "Error: Value invalid character at 3\n [{]<--(see the invalid character): invalid example",
            id="no JSON",
        ),
        pytest.param(
            " {}",
            "Error: Value json: cannot unmarshal object into Go value of type []unstructured.Unstructured: error decoding "
            "example CustomResource",
            id="an object behind a blank",
        ),
        pytest.param(
            "5",
            "Error: Value error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go value of type "
            "[]unstructured.Unstructured: error decoding example CustomResource",
            id="a number",
        ),
        pytest.param(
            "[null]",
            "Error: Value error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in 'null': error decoding "
            "example CustomResource",
            id="null in the list",
        ),
        pytest.param(
            '["\\ud83d\\ude00"]',
            "Error: Value error converting YAML to JSON: yaml: found invalid Unicode character escape code: error decoding "
            "example CustomResource",
            id="a pair of surrogates, which YAML has not",
        ),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert messages(files(examples(text))) == [expected]


def test_both_annotations_of_examples() -> None:
    both = annotated(**{"olm.examples": "[{]"})
    text = "both `alm-examples` and `olm.examples` are present. Checking only `alm-examples`"
    assert messages(files(both)) == [f"Warning: {csv(text)}"]


def test_an_api_version_with_two_slashes_hides_the_kind() -> None:
    (message,) = messages(files(extra=obj("Job", apiVersion="a/b/c")))
    assert 'Object \'Kind\' is missing in \'{"apiVersion":"a/b/c","kind":"Job"' in message


def test_a_finding_names_its_place() -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\n"
    (found,) = findings(files(extra=text))
    assert (found.file, found.line, found.validator, found.rule) == (
        *("manifests/extra.yaml", 5),
        *("objects", "object-metadata"),
    )


def test_a_chart_with_a_csv_is_checked_for_its_format_only() -> None:
    contents = {**files(changed(CSV, spec__installModes=[])), "manifests/Chart.yaml": b"kind: Chart\nname: a\n"}
    label = LABEL.format("mediatype")
    assert messages(contents) == [f'Expecting annotation "{label}" to have value "helm" instead of "registry+v1"']


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "x", "a/b"]), inner, max_size=2)
    ),
    max_leaves=3,
)


def paths(value: Any) -> list[tuple[str | int, ...]]:
    """The paths of all values in a value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(key, *rest) for key, member in members for rest in ((), *paths(member))]


def replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    made = copy.copy(value)
    made[path[0]] = replaced(value[path[0]], path[1:], new)
    return made


RICH_CSV = changed(
    CSV, spec__webhookdefinitions=[{"generateName": "a", "type": "ConversionWebhook", "conversionCRDs": ["x"]}]
)
RICH_CRD = changed(
    CRD,
    spec__conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"port": 1}, "url": "x"}}},
    spec__versions=[
        {
            **CRD["spec"]["versions"][0],
            "deprecationWarning": "x",
            "subresources": {"scale": {"specReplicasPath": ".spec.a"}},
            "additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": ".a"}],
            "selectableFields": [{"jsonPath": ".spec.a"}],
        }
    ],
)
OBJECT = obj(
    "ConfigMap", metadata={"name": "a", "labels": {"a": "b"}, "ownerReferences": [{"uid": "x"}], "finalizers": ["a"]}
)


@given(st.sampled_from(["csv", "crd", "extra", "annotations"]), st.data(), ANYTHING)
def test_values_of_any_type_are_no_crash(name: str, data: st.DataObject, new: Any) -> None:
    values = {"csv": RICH_CSV, "crd": RICH_CRD, "extra": OBJECT, "annotations": dict(ANNOTATIONS)}
    path = data.draw(st.sampled_from([(), *paths(values[name])]))
    values[name] = replaced(values[name], path, new)
    old = data.draw(st.booleans())
    if old and name != "crd":
        values["crd"] = changed(RICH_CRD, apiVersion="apiextensions.k8s.io/v1beta1")
    findings(files(**values))
