"""Files of a bundle: read whole, or refused with every fault."""

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak.format import BadBundle, read_plain, read_registry
from rukpak.format.bundle import MAX_OBJECT_BYTES
from tests.unit.rukpak import builders
from tests.unit.rukpak.builders import Body, crd, csv, obj

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
    return caught.value.errors


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
            [f'error parsing objects in "x.yaml": line 3, {FLOW}: a: 1 b: [ <=='],
            id="YAML that does not parse",
        ),
        pytest.param(
            {"manifests/csv.yaml": b"a: ["} | {k: v for k, v in builders.files().items() if k.startswith("metadata")},
            [f'error parsing objects in "csv.yaml": line 2, {FLOW}: a: [ <=='],
            id="a CSV that does not parse is not also reported as missing",
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
            builders.files(csv(), CONFIG, CONFIG | {"data": {"a": "1"}}, CONFIG),
            ["ConfigMap config is there 3 times, not the same each time (in 01.json, 02.json, 03.json): keep one"],
            id="several objects of one name are named with their files",
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
            [f"metadata/annotations.yaml: line 2, {FLOW}: a: [ <=="],
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
                'the bundle has no "manifests" directory with files in it: was the image built from the right directory?',
                'no ClusterServiceVersion found in "manifests"',
            ],
            id="no bundle at all",
        ),
    ],
)
def test_every_error_is_reported(files: Files, faults: list[str]) -> None:
    assert list(faults_of(files)) == faults


def test_errors_of_all_kinds_come_together_and_in_one_message() -> None:
    other = CONFIG | {"data": {"a": "1"}}
    files = builders.files(csv("a"), csv("b"), CONFIG, other, package="") | {"manifests/x": b"[", "manifests/y/z": b""}
    with pytest.raises(BadBundle) as caught:
        read_registry(files)
    assert len(caught.value.errors) == 5
    assert all(fault in caught.value.message for fault in caught.value.errors)


def test_properties_are_appended_to_the_annotation_as_go_writes_json() -> None:
    files = builders.files(csv(annotations={"olm.properties": '[{"type": "a", "value": {"z": 1, "b": 2}}]'}))
    files["metadata/properties.yaml"] = b"properties:\n- type: c\n  value: {z: '>=1', b: \"\\u2028\"}\n"
    text = read_registry(files).csv_annotations["olm.properties"]
    assert text == '[{"type":"a","value":{"z":1,"b":2}},{"type":"c","value":{"b":"\\u2028","z":"\\u003e=1"}}]'


@pytest.mark.parametrize(
    ("annotations", "content", "text"),
    [
        pytest.param({}, b"dependencies: [{type: a, value: b}]", "null", id="the list stands under another key"),
        pytest.param({}, b"properties: []", "null", id="an empty list"),
        pytest.param({}, b"# none", "null", id="a comment"),
        pytest.param({"olm.properties": "[]"}, b"properties:", "null", id="none in both"),
        pytest.param({"olm.properties": '[{"type":"a"}]'}, b"x: []", '[{"type":"a"}]', id="those of the CSV"),
        pytest.param({}, b"", None, id="an empty file"),
    ],
)
def test_properties_that_are_none_are_written_as_upstream_does(
    annotations: dict[str, str], content: bytes, text: str | None
) -> None:
    files = builders.files(csv(annotations=annotations)) | {"metadata/properties.yaml": content}
    assert read_registry(files).csv_annotations.get("olm.properties") == text


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
        pytest.param(
            {"manifests/a.yaml": b"x: ["}, f'error parsing objects in "a.yaml": line 2, {FLOW}: x: [ <==', id="YAML"
        ),
        pytest.param(
            {"manifests/a.json": orjson.dumps(CONFIG), "manifests/sub/b.json": b"{}"},
            f'{NESTED}: found "manifests/sub"',
            id="a subdirectory",
        ),
        pytest.param(
            {
                "manifests/a.json": orjson.dumps(CONFIG | {"n": 1}),
                "manifests/b.json": orjson.dumps(CONFIG | {"n": True}),
            },
            "ConfigMap config is there 2 times, not the same each time (in a.json, b.json): keep one",
            id="two objects of one name",
        ),
    ],
)
def test_plain_bundles_that_are_refused(files: Files, fault: str) -> None:
    with pytest.raises(BadBundle) as caught:
        read_plain(files)
    assert caught.value.errors == (fault,)


def test_an_object_that_is_there_twice_is_one() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "apiVersion": "v1"}
    found = read_registry(builders.files(csv(), crd(), CONFIG, csv(), obj("v1", "Secret", "s"), CONFIG, crd(), secret))
    assert [body["metadata"]["name"] for body in found.crds] == ["things.example.com"]
    assert [body["kind"] for body in found.others] == ["ConfigMap", "Secret"]
    files = {f"manifests/{name}.json": orjson.dumps(CONFIG) for name in "abc"}
    assert read_plain(files).objects == (CONFIG,)


def test_one_name_in_two_namespaces_is_two_objects() -> None:
    pair = [obj("v1", "ConfigMap", "c", namespace) for namespace in ("a", "b")]
    assert read_plain({"manifests/a.json": b"\n".join(map(orjson.dumps, pair))}).objects == tuple(pair)


SPELLED = obj("v1", "Service", "s", "n") | {"metadata": {"name": "s", "namespace": "n", "labels": {"App": "a"}}}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            {"ApiVersion": "v1", "Kind": "Service", "metadata": SPELLED["metadata"]}, id="apiVersion and kind"
        ),
        pytest.param(
            SPELLED | {"Metadata": {"name": "x"}, "KIND": "Secret"}, id="both spellings: the exact one counts"
        ),
        pytest.param(
            {
                "apiversion": "v1",
                "KIND": "Service",
                "Metadata": {"Name": "s", "nameSpace": "n", "Labels": {"App": "a"}},
            },
            id="metadata and what is in it",
        ),
        pytest.param({"ApiVersion": "v1", "Kind": "List", "Items": [SPELLED]}, id="a list"),
        pytest.param(
            {"apiVersion": "v1", "Kind": "ServiceList", "items": [{"metadata": SPELLED["metadata"]}]},
            id="a list that gives apiVersion and kind of its items",
        ),
    ],
)
def test_keys_of_an_object_may_be_in_another_case(body: Body) -> None:
    assert read_plain({"manifests/a.json": orjson.dumps(body)}).objects == (SPELLED,)


def test_keys_of_a_csv_and_of_a_crd_may_be_spelled_in_another_case() -> None:
    usual = read_registry(builders.files(csv(displayName="Things"), crd()))
    service_version, definition = csv(displayName="Things"), crd()
    spec = service_version.pop("spec")
    spec["Install"] = {"Strategy": "deployment", "Spec": {"Deployments": spec.pop("install")["spec"]["deployments"]}}
    version = definition["spec"]["versions"][0]
    version["Schema"] = {"openapiv3schema": {"Type": "object"}}
    del version["schema"]
    files = builders.files({**service_version, "Spec": spec}, definition)
    files["metadata/annotations.yaml"] = files["metadata/annotations.yaml"].replace(b"annotations", b"Annotations")
    assert read_registry(files) == usual


def test_a_crd_whose_parts_are_merged_is_whole() -> None:
    found = read_registry(builders.files(csv()) | {"manifests/crd.yaml": builders.MERGED_CRD})
    schema = found.crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["second"] == {"type": "string", "maxLength": 9, "description": "of the second"}


WEBHOOKS = "admissionregistration.k8s.io/v1"


def changed_crd(api_version: str = "apiextensions.k8s.io/v1", **spec: Any) -> Body:
    body = crd()
    return body | {"apiVersion": api_version, "spec": body["spec"] | spec}


def claims(metadata: Any) -> Body:
    return {"volumeClaimTemplates": [{"metadata": metadata}]}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(crd() | {"spec": []}, f"{THINGS}: spec: must be a mapping, not a list", id="a CRD's spec"),
        pytest.param(changed_crd(names="x"), f"{THINGS}: spec.names: must be a mapping, not text", id="its names"),
        pytest.param(
            changed_crd(versions="a"), f"{THINGS}: spec.versions: must be a list, not text", id="its versions"
        ),
        pytest.param(changed_crd(group=["x"]), f"{THINGS}: spec.group: must be text, not a list", id="its group"),
        pytest.param(
            changed_crd(versions=[{"name": {}}]),
            f"{THINGS}: spec.versions[0].name: must be text, not a mapping",
            id="the name of a version",
        ),
        pytest.param(
            changed_crd("apiextensions.k8s.io/v1beta1", versions="a"),
            f"{THINGS}: spec.versions: must be a list, not text",
            id="a CRD of an old version",
        ),
        pytest.param(
            obj(WEBHOOKS, "ValidatingWebhookConfiguration", "w", webhooks=5),
            "ValidatingWebhookConfiguration w: webhooks: must be a list, not a number",
            id="webhooks",
        ),
        pytest.param(
            obj(WEBHOOKS, "MutatingWebhookConfiguration", "w", webhooks=[{"rules": ["x"]}]),
            "MutatingWebhookConfiguration w: webhooks[0].rules[0]: must be a mapping, not text",
            id="rules of a webhook",
        ),
        pytest.param(
            obj(WEBHOOKS, "ValidatingWebhookConfiguration", "w", webhooks=[{"rules": [{"apiGroups": [{}]}]}]),
            "ValidatingWebhookConfiguration w: webhooks[0].rules[0].apiGroups[0]: must be text, not a mapping",
            id="groups of a rule",
        ),
        pytest.param(
            obj("apps/v1", "Deployment", "d", spec={"template": {"metadata": "x"}}),
            "Deployment d: spec.template.metadata: must be a mapping, not text",
            id="metadata of a template",
        ),
        pytest.param(
            obj("apps/v1", "DaemonSet", "d", spec={"template": {"metadata": {"annotations": ["x"]}}}),
            "DaemonSet d: spec.template.metadata.annotations: must be a mapping, not a list",
            id="annotations of a template",
        ),
        pytest.param(
            obj("batch/v1", "CronJob", "c", spec={"jobTemplate": {"spec": {"template": {"metadata": {"labels": 1}}}}}),
            "CronJob c: spec.jobTemplate.spec.template.metadata.labels: must be a mapping, not a number",
            id="a template in a template",
        ),
        pytest.param(
            obj("apps/v1", "StatefulSet", "s", spec=claims({"labels": {"a": 1}})),
            "StatefulSet s: spec.volumeClaimTemplates[0].metadata.labels.a: must be text in quotes, not a number (1)",
            id="templates of claims",
        ),
    ],
)
def test_parts_of_objects_that_rukpak_reads_must_have_the_right_type(body: Body, fault: str) -> None:
    with pytest.raises(BadBundle) as caught:
        read_plain({"manifests/a.json": orjson.dumps(body)})
    assert caught.value.errors == (f'error parsing objects in "a.json": {fault}',)


def test_parts_that_rukpak_does_not_read_are_left_to_the_api_server() -> None:
    bodies = [
        obj("example.com/v1", "Deployment", "d", spec={"template": {"metadata": "x"}}),
        obj("example.com/v1", "ValidatingWebhookConfiguration", "w", webhooks=5),
        obj("apps/v1", "Deployment", "d", spec={"replicas": "many", "template": {"spec": 1}}),
    ]
    files = {f"manifests/{number}.json": orjson.dumps(body) for number, body in enumerate(bodies)}
    assert read_plain(files).objects == tuple(bodies)


def test_a_schema_as_deep_as_a_file_may_be_is_read() -> None:
    schema: Body = {"type": "object"}
    for _ in range(94):
        schema = {"properties": {"a": schema}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    files = {"manifests/a.json": orjson.dumps(changed_crd(versions=versions))}

    def deeper(frames: int) -> None:
        if frames:
            deeper(frames - 1)
        else:
            assert len(read_plain(files).objects) == 1

    deeper(150)  # of a job under an event loop


def test_an_object_that_etcd_cannot_take_is_named() -> None:
    large = obj("v1", "ConfigMap", "large", data={"a": "x" * MAX_OBJECT_BYTES})
    size = len(orjson.dumps(large))
    fault = f"ConfigMap large has {size:,} bytes of JSON; the API server takes {MAX_OBJECT_BYTES:,}"
    for read, files in (
        (read_plain, {"manifests/01.json": orjson.dumps(large)}),
        (read_registry, builders.files(csv(), large)),
    ):
        with pytest.raises(BadBundle) as caught:
            read(files)
        assert caught.value.errors == (f'error parsing objects in "01.json": {fault}',)


def test_a_csv_that_its_properties_make_too_large_is_refused() -> None:
    properties = orjson.dumps({"properties": [{"type": "a", "value": "x" * MAX_OBJECT_BYTES}]})
    found = list(faults_of(builders.files(csv()) | {"metadata/properties.yaml": properties}))
    assert len(found) == 1
    assert found[0].startswith('error parsing objects in "00.json": ClusterServiceVersion things.v1.0.0 has 1,5')


def test_annotations_that_many_deployments_would_copy_are_refused() -> None:
    many = {"deployments": [{"name": f"d{number}"} for number in range(200)]}
    found = list(faults_of(builders.files(csv(install=many, annotations={"a": "x" * 250_000}))))
    assert found == [
        'error parsing objects in "00.json": ClusterServiceVersion: its annotations, which each of its 200 deployments gets, '
        "make 50,001,600 bytes; 33,554,432 are the most"
    ]
    fitting = read_registry(builders.files(csv(install=many, annotations={"a": "x" * 150_000})))
    assert len(fitting.install_spec["deployments"]) == 200


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
            assert all(error.errors)  # noqa: PT017 either answer is fine, a crash is not
