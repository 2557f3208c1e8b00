"""Files of a bundle: read whole, or refused with every fault."""

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak.bundle import BadBundle, read_plain, read_registry
from tests.unit.rukpak import builders
from tests.unit.rukpak.builders import crd, csv, obj

CONFIG = obj("v1", "ConfigMap", "config")
Files = dict[str, bytes]
FLOW = "column 1: while parsing a flow node, did not find expected node content"
NESTED = 'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem'
REPLICAS = "spec.install.spec.deployments[0].spec.replicas"
THINGS = "CustomResourceDefinition things.example.com"
BROKEN_LIST = b"properties: [{type: a, value: b}]"
NO_OBJECTS = b"- a\n---\nkind: A\n---\napiVersion: v1\nkind: B\nmetadata: {name: 1}\n"


def faults_of(files: Files) -> tuple[str, ...]:
    with pytest.raises(BadBundle) as caught:
        read_registry(files)
    assert caught.value.reason == "UnpackFailed"
    return caught.value.faults


def test_a_bundle_is_read_in_file_order() -> None:
    found = read_registry(builders.files(obj("v1", "Secret", "b"), csv(), crd(), CONFIG))
    assert found.package == "things"
    assert found.csv_name == "things.v1.0.0"
    assert [body["metadata"]["name"] for body in found.crds] == ["things.example.com"]
    assert [body["kind"] for body in found.others] == ["Secret", "ConfigMap"]


def test_documents_lists_and_hidden_files() -> None:
    items = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [CONFIG, {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "inner"}}]}],
    }
    files = builders.files(csv()) | {
        "manifests/many.yaml": yaml.safe_dump_all([items, obj("v1", "Secret", "s")]).encode(),
        "manifests/.hidden": b"{not yaml",
        "tests/scorecard/config.yaml": b"{not read",
    }
    found = [(body["apiVersion"], body["kind"], body["metadata"]["name"]) for body in read_registry(files).others]
    assert found == [("v1", "ConfigMap", "config"), ("v1", "ConfigMap", "inner"), ("v1", "Secret", "s")]


def test_a_custom_resource_with_items_is_no_list() -> None:
    basket = obj("example.com/v1", "Basket", "b", items=[1, 2])
    assert read_plain({"manifests/a.json": orjson.dumps(basket)}).objects == (basket,)


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        pytest.param(builders.files(CONFIG), ['no ClusterServiceVersion found in "manifests"'], id="no CSV"),
        pytest.param(
            builders.files(csv("a.v1"), CONFIG, csv("b.v2")),
            [
                '2 ClusterServiceVersions found in "manifests" ("a.v1" in 00.json, "b.v2" in 02.json): a bundle holds exactly one'
            ],
            id="two CSVs are named, none wins",
        ),
        pytest.param(
            builders.files(csv())
            | {"manifests/sub/a.yaml": b"", "manifests/sub/b/c.yaml": b"", "manifests/other/a": b""},
            [
                f'{NESTED}: found "manifests/other"',
                f'{NESTED}: found "manifests/sub"',
            ],
            id="each subdirectory once",
        ),
        pytest.param(
            builders.files(csv()) | {"manifests/x.yaml": b"a: 1\nb: [\n"},
            [f'error parsing objects in "x.yaml": line 3, {FLOW}'],
            id="YAML that does not parse",
        ),
        pytest.param(
            {"manifests/csv.yaml": b"a: ["} | {k: v for k, v in builders.files().items() if k.startswith("metadata")},
            [f'error parsing objects in "csv.yaml": line 2, {FLOW}'],
            id="a CSV that does not parse is not also said to be missing",
        ),
        pytest.param(
            builders.files(csv()) | {"manifests/x.yaml": b"a: \xe9\n"},
            ['error parsing objects in "x.yaml": line 1: not UTF-8 text'],
            id="Latin-1",
        ),
        pytest.param(
            builders.files(csv()) | {"manifests/x.yaml": NO_OBJECTS},
            [
                'error parsing objects in "x.yaml", document 1: an object is a mapping with apiVersion, kind and metadata',
                'error parsing objects in "x.yaml", document 2: apiVersion is missing',
                'error parsing objects in "x.yaml", document 3: B: metadata.name must be text',
            ],
            id="each document that is no object",
        ),
        pytest.param(
            builders.files(csv(), {"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, obj("v1", "A", "")]}),
            [
                'error parsing objects in "01.json", item 1: apiVersion is missing',
                'error parsing objects in "01.json", item 2: A has no metadata.name',
            ],
            id="items of a list",
        ),
        pytest.param(
            builders.files(csv(), obj("v1", "A", "a") | {"metadata": {"name": "a", "labels": {"x": True}}}),
            ['error parsing objects in "01.json": A a: metadata.labels: x must be text in quotes'],
            id="labels that are no text",
        ),
        pytest.param(
            builders.files(csv(), CONFIG, obj("v1", "ConfigMap", "config")),
            ["ConfigMap config is there 2 times (in 01.json, 02.json)"],
            id="duplicates are named with their files",
        ),
        pytest.param(
            {"manifests/00.json": orjson.dumps(csv())},
            ["metadata/annotations.yaml is missing: it names the package of the bundle"],
            id="no annotations",
        ),
        pytest.param(
            builders.files(csv()) | {"metadata/annotations.yaml": b"annotations: 1"},
            ["metadata/annotations.yaml: has no mapping `annotations`"],
            id="annotations that are none",
        ),
        pytest.param(
            builders.files(csv(), package="  "),
            [
                "package name is empty: metadata/annotations.yaml must name it as "
                "operators.operatorframework.io.bundle.package.v1"
            ],
            id="an empty package name",
        ),
        pytest.param(
            builders.files(csv()) | {"metadata/annotations.yaml": b"a: ["},
            [f"metadata/annotations.yaml: line 2, {FLOW}"],
            id="annotations that do not parse",
        ),
        pytest.param(
            builders.files(csv()) | {"metadata/properties.yaml": b"properties: [1]"},
            ["metadata/properties.yaml: `properties` must be a list of {type, value}"],
            id="properties that are none",
        ),
        pytest.param(
            builders.files(csv(annotations={"olm.properties": "{"})) | {"metadata/properties.yaml": BROKEN_LIST},
            ['error parsing objects in "00.json": annotation olm.properties must be a JSON list'],
            id="an annotation that cannot take the properties",
        ),
        pytest.param(
            builders.files(csv(install={"deployments": [{"name": "a", "spec": {"replicas": "1"}}]})),
            [
                f'error parsing objects in "00.json": ClusterServiceVersion: {REPLICAS}: must be a whole number, not text'
            ],
            id="a CSV with a field of another type",
        ),
        pytest.param(
            builders.files(csv(), crd() | {"spec": []}),
            [f'error parsing objects in "01.json": {THINGS}: spec: must be a mapping, not a list'],
            id="a CRD with a field of another type",
        ),
        pytest.param(
            {"Dockerfile": b"FROM scratch"},
            [
                "metadata/annotations.yaml is missing: it names the package of the bundle",
                'the bundle has no "manifests" folder with files in it: was the image built from the right folder?',
                'no ClusterServiceVersion found in "manifests"',
            ],
            id="no bundle at all",
        ),
    ],
)
def test_every_fault_is_said(files: Files, faults: list[str]) -> None:
    assert list(faults_of(files)) == faults


def test_faults_of_all_kinds_come_together_and_in_one_message() -> None:
    files = builders.files(csv("a"), csv("b"), CONFIG, CONFIG, package="") | {"manifests/x": b"[", "manifests/y/z": b""}
    with pytest.raises(BadBundle) as caught:
        read_registry(files)
    assert len(caught.value.faults) == 5
    assert all(fault in caught.value.message for fault in caught.value.faults)


def test_properties_are_appended_to_the_annotation_as_go_writes_json() -> None:
    files = builders.files(csv(annotations={"olm.properties": '[{"type": "a", "value": {"z": 1, "b": 2}}]'}))
    files["metadata/properties.yaml"] = b"properties:\n- type: c\n  value: {z: '>=1', b: \"\\u2028\"}\n"
    text = read_registry(files).csv_annotations["olm.properties"]
    assert text == '[{"type":"a","value":{"z":1,"b":2}},{"type":"c","value":{"b":"\\u2028","z":"\\u003e=1"}}]'


def test_a_crd_of_an_old_version_is_kept_as_it_is() -> None:
    old = crd() | {"apiVersion": "apiextensions.k8s.io/v1beta1", "spec": {"validation": {"x": 1}}}
    assert builders.bundle(old).crds == (old,)


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        pytest.param(
            {"manifests/a.yaml": b"# nothing"},
            "invalid bundle: found zero objects: plain+v0 bundles are required to contain at least one object",
            id="no object",
        ),
        pytest.param({"manifests/a.yaml": b"x: ["}, f'error parsing objects in "a.yaml": line 2, {FLOW}', id="YAML"),
        pytest.param(
            {"manifests/a.json": orjson.dumps(CONFIG), "manifests/b.json": orjson.dumps(CONFIG)},
            "ConfigMap config is there 2 times (in a.json, b.json)",
            id="duplicates",
        ),
    ],
)
def test_plain_bundles_that_are_refused(files: Files, fault: str) -> None:
    with pytest.raises(BadBundle) as caught:
        read_plain(files)
    assert caught.value.faults == (fault,)


Tree = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "apiVersion", "metadata", "name", "items", "spec", "labels"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.lists(Tree, max_size=3), st.sampled_from(["ClusterServiceVersion", "CustomResourceDefinition", "List", "A"]))
def test_any_documents_make_a_bundle_or_faults(bodies: list[Any], kind: str) -> None:
    files = builders.files(csv()) | {
        f"manifests/x{number}.json": orjson.dumps(
            {"apiVersion": "v1", "kind": kind, "metadata": {"name": "n"}} | body if isinstance(body, dict) else body
        )
        for number, body in enumerate(bodies)
    }
    for read in (read_registry, read_plain):
        try:
            read(files)
        except BadBundle as error:
            assert all(error.faults)  # noqa: PT017 either answer is fine, a crash is not
