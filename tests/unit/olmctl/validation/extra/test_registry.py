"""The findings of the extra checks in bundles with one fault each, and none in a bundle without one."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmctl.validation.extra.registry import MAX_FINDINGS, check
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.rules import RULES
from tests.examples import example_count
from tests.unit.olmctl.validation.made_bundle import (
    ANNOTATIONS_FILE,
    CONTAINER,
    CRD,
    CRD_FILE,
    CSV,
    CSV_FILE,
    EXAMPLE,
    PREFIX,
    RULE,
    annotate,
    loaded,
    made,
    put,
)

E, W = "error", "warning"
DEPLOYMENT = "spec.install.spec.deployments.0"
PODS = f"{DEPLOYMENT}.spec.template.spec"
FIRST = f"{PODS}.containers.0"
OWNED = "spec.customresourcedefinitions.owned.0"
VERSION = "spec.versions.0"
FIELDS = f"{VERSION}.schema.openAPIV3Schema.properties.spec.properties"
WEBHOOK: dict[str, Any] = {
    "type": "ValidatingAdmissionWebhook",
    "generateName": "vkettle.kb.io",
    "deploymentName": "kettle",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
}
CONVERSION = {**WEBHOOK, "type": "ConversionWebhook", "conversionCRDs": ["kettles.kitchen.example.com"]}


ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}


def role(kind: str, rule: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "r"}, "rules": [rule]}


def binding(**fields: Any) -> dict[str, Any]:
    body = {"roleRef": ROLE, "subjects": [{"kind": "ServiceAccount", "name": "kettle", "namespace": "kettles"}]}
    start = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"}}
    return {**start, **body, **fields}


def config_map(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **fields}


def budget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "p"}, "spec": spec}


def examples(*items: Any) -> Any:
    return annotate("alm-examples", json.dumps(items))


def without(body: Any, *names: str) -> Any:
    return {key: value for key, value in body.items() if key not in names}


def found(bundle: LoadedBundle) -> set[tuple[str, str]]:
    return {(each.level, each.rule) for each in check(bundle)}


def test_a_bundle_without_faults_has_no_findings() -> None:
    assert list(check(made())) == []


CASES = [
    pytest.param(made(annotations={f"{PREFIX}channels.v1": "stable, fast"}), E, "channels", id="a blank in the channels"),
    pytest.param(made(annotations={f"{PREFIX}channels.v1": "stable,,fast"}), E, "channels", id="an empty channel"),
    pytest.param(made(annotations={f"{PREFIX}channel.default.v1": "beta"}), W, "default-channel", id="another default"),
    pytest.param(made(annotations={f"{PREFIX}package.v1": "Kettle!"}), E, "package-name", id="the package has no DNS label"),
    pytest.param(made(annotations={f"{PREFIX}manifests.v1": "../x/"}), E, "bundle-directory", id="manifests outside"),
    pytest.param(made(annotations={f"{PREFIX}metadata.v1": "meta/"}), E, "bundle-directory", id="another metadata"),
    pytest.param(made(annotations={"other": True}), W, "annotation-text", id="an annotation that is no text"),
    pytest.param(made(files={"metadata/b.yaml": "annotations: {a: b}"}), E, "annotations-files", id="two of annotations"),
    pytest.param(made(files={"metadata/dependencies.yaml": "a: ["}), E, "dependencies-file", id="broken dependencies"),
    pytest.param(made(files={"metadata/dependencies.yaml": "a: b"}), E, "dependencies-file", id="other dependencies"),
    pytest.param(made(files={"metadata/properties.yaml": "properties: ["}), E, "properties-file", id="broken properties"),
    pytest.param(
        made(files={"metadata/properties.yaml": "properties:\n- type: olm.gvk\n  value: {group: a, kind: b}"}),
        E, "property", id="a property without a part",
    ),
    pytest.param(
        made(files={"metadata/properties.yaml": "properties:\n- type: olm.maxOpenShiftVersion\n  value: 4.8"}),
        E, "property", id="a property of another type",
    ),
    pytest.param(
        made(files={"metadata/properties.yaml": "properties:\n- {type: olm.package, value: {packageName: a, version: v1}}"}),
        E, "property", id="a property with a wrong version",
    ),
    pytest.param(made(files={"tests/scorecard/config.yaml": "a: ["}), E, "scorecard-config", id="a broken scorecard"),
    pytest.param(made(files={"tests/scorecard/config.yaml": "a: b"}), E, "scorecard-config", id="no stages"),
    pytest.param(
        made(files={"manifests/o.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\n"}),
        E, "duplicate-key", id="a key twice in flow style",
    ),
    pytest.param(
        made(files={"manifests/o.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: a\n  k: b\n"}),
        E, "duplicate-key", id="a key twice in block style",
    ),
    pytest.param(
        made(files={"manifests/o.json": '{"apiVersion":"v1","kind":"ConfigMap","kind":"ConfigMap","metadata":{"name":"a"}}'}),
        E, "duplicate-key", id="a key twice in JSON",
    ),
    pytest.param(
        made(files={"manifests/o.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n"
                    "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"}),
        W, "several-documents", id="two documents",
    ),
    pytest.param(
        made(files={"manifests/o.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: 18446744073709551617\n"}),
        W, "rounded-number", id="an integer of 65 bits",
    ),
    pytest.param(
        made(files={"manifests/o.json": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"x":-9223372036854775809}'}),
        W, "rounded-number", id="a negative integer of 65 bits in JSON",
    ),
    pytest.param(made(objects=({"kind": "ConfigMap", "metadata": {"name": "c"}},)), E, "api-version", id="no apiVersion"),
    pytest.param(made(objects=(config_map(), config_map())), E, "object-twice", id="an object in two files"),
    pytest.param(made(put("apiVersion", "operators.coreos.com/v1")), W, "csv-other-api-version", id="another CSV"),
    pytest.param(made(put("spec.minKubVersion", "1.2.3")), W, "unknown-field", id="an unknown field"),
    pytest.param(made(crd=put(f"{FIELDS}.litres.maximun", 3)), W, "unknown-field", id="an unknown field of a schema"),
    pytest.param(made(put("spec.version", "v1.2.3")), E, "version", id="no strict version"),
    pytest.param(made(put("spec.version", None)), W, "version-missing", id="no version"),
    pytest.param(made(put("spec.version", "1.2.4")), E, "version-name", id="another version than the name"),
    pytest.param(made(put("spec.replaces", "kettle-operator.v1.2.3")), E, "replaces-itself", id="replaces itself"),
    pytest.param(made(put("spec.replaces", "kettle-operator.v1.10.0")), E, "replaces-newer", id="replaces a newer one"),
    pytest.param(made(put("spec.skips", [""])), E, "skips", id="skips nothing"),
    pytest.param(made(put("spec.skips", ["kettle-operator.v1.2.3"])), E, "skips", id="skips itself"),
    pytest.param(made(annotate("olm.skipRange", ">=a")), E, "skip-range", id="no range"),
    pytest.param(
        made(put("spec.installModes", [{"type": "AllNamespaces", "supported": True}] * 2)),
        E, "install-mode-twice", id="an install mode twice",
    ),
    pytest.param(
        made(put("spec.installModes", [{"type": "AllNamespaces", "supported": True}, {"type": "Moon", "supported": True}])),
        E, "install-mode", id="an unknown install mode",
    ),
    pytest.param(made(put("spec.install.strategy", "image")), E, "install-strategy", id="another strategy"),
    pytest.param(
        made(put("spec.webhookdefinitions", [{**WEBHOOK, "deploymentName": "pot"}])),
        E, "webhook-deployment", id="a webhook without a Deployment",
    ),
    pytest.param(
        made(put("spec.webhookdefinitions", [{**WEBHOOK, "generateName": ""}])), E, "webhook-name", id="a webhook without a name"
    ),
    pytest.param(
        made(put("spec.webhookdefinitions", [WEBHOOK, WEBHOOK])), E, "webhook-twice", id="a webhook twice"
    ),
    pytest.param(
        made(put("spec.webhookdefinitions", [{**CONVERSION, "conversionCRDs": ["pots.kitchen.example.com"]}])),
        E, "webhook-conversion", id="a webhook that converts an unknown definition",
    ),
    pytest.param(
        made(put("spec.webhookdefinitions", [CONVERSION, {**CONVERSION, "generateName": "other.kb.io"}])),
        E, "webhook-conversion", id="two webhooks that convert one definition",
    ),
    pytest.param(
        made(put("spec.webhookdefinitions", [{**WEBHOOK, "rules": [{"apiGroups": ["*"], "resources": ["*"]}]}])),
        E, "webhook-rules", id="a webhook for everything",
    ),
    pytest.param(
        made(put("spec.apiservicedefinitions", {"owned": [{"name": "a", "group": "g.io", "version": "v1", "kind": "K"}]})),
        E, "apiservice-deployment", id="an API service without a Deployment",
    ),
    pytest.param(made(examples({**EXAMPLE, "spec": {"litres": 0}})), W, "example-schema", id="an example too small"),
    pytest.param(made(examples({**EXAMPLE, "spec": {"litres": None}})), W, "example-schema", id="a required null"),
    pytest.param(made(examples(without(EXAMPLE, "spec"))), W, "example-spec", id="an example without spec"),
    pytest.param(
        made(examples({**EXAMPLE, "spec": {"litres": 1, "color": 1}})), W, "example-field", id="an example with another field"
    ),
    pytest.param(
        made(put(f"{OWNED}.specDescriptors", [{"path": "lid.color"}])), W, "descriptor-path", id="a descriptor of nothing"
    ),
    pytest.param(
        made(put(f"{OWNED}.statusDescriptors", [{"path": "cold"}])), W, "descriptor-path", id="a status descriptor of nothing"
    ),
    pytest.param(made(put("spec.icon.0.base64data", "!!")), W, "icon-data", id="an icon that is not base64"),
    pytest.param(made(put("spec.icon.0.mediatype", "image/png")), W, "icon-data", id="an icon of another type"),
    pytest.param(
        made(put("spec.install.spec.permissions", [{"serviceAccountName": "pot", "rules": [RULE]}])),
        W, "permission-account", id="permissions of nobody",
    ),
    pytest.param(
        made(put("spec.install.spec.clusterPermissions.0.rules.0", {"verbs": ["get"]})),
        E, "rule-names-nothing", id="a rule that names nothing",
    ),
    pytest.param(made(objects=(role("Role", without(RULE, "verbs")),)), E, "rule-names-nothing", id="a rule without verbs"),
    pytest.param(
        made(objects=(role("Role", {"nonResourceURLs": ["/x"], "verbs": ["get"]}),)), E, "rule-urls", id="URLs in a Role"
    ),
    pytest.param(
        made(objects=(role("ClusterRole", {"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"],
                                           "resourceNames": ["anyuid"], "verbs": ["update"]}),)),
        E, "default-scc", id="a role that may change a default SCC",
    ),
    pytest.param(
        made(objects=(binding(roleRef={**ROLE, "name": "pot"}),)), W, "role-missing", id="a binding to nothing"
    ),
    pytest.param(made(objects=(binding(roleRef={}),)), E, "binding-names-nothing", id="a binding without a role"),
    pytest.param(made(objects=(binding(subjects=[]),)), W, "binding-without-subjects", id="a binding of nobody"),
    pytest.param(made(put(f"{OWNED}.name", "kettle.kitchen.example.com")), E, "owned-name", id="an owned plural"),
    pytest.param(
        made(put("spec.customresourcedefinitions.required", [dict(CSV["spec"]["customresourcedefinitions"]["owned"][0])])),
        W, "required-owned", id="required and owned",
    ),
    pytest.param(made(crd=put(f"{VERSION}.served", False)), E, "crd-not-served", id="a definition that is not served"),
    pytest.param(made(crd=put("apiVersion", "apiextensions.k8s.io/v1beta1")), E, "crd-v1beta1", id="v1beta1"),
    pytest.param(made(crd=put(f"{VERSION}.schema", None)), E, "crd-schema-missing", id="no schema"),
    pytest.param(made(crd=put(f"{VERSION}.subresources", None)), W, "crd-status", id="no subresource"),
    pytest.param(
        made(crd=put(f"{VERSION}.subresources", {"status": {}, "scale": {"specReplicasPath": ".spec.a"}})),
        E, "crd-scale", id="half a scale",
    ),
    pytest.param(made(put("spec.install.spec", None)), E, "deployments-missing", id="no install spec"),
    pytest.param(
        made(objects=({**role("Role", dict(RULE)), "apiVersion": "rbac.authorization.k8s.io/v1beta1"},)),
        E, "removed-api", id="a Role of 1.21",
    ),
    pytest.param(
        made(objects=({**budget(minAvailable=1), "apiVersion": "policy/v1beta1"},)), E, "removed-api", id="a budget of 1.24"
    ),
    pytest.param(made(put("spec.install.spec.deployments", [])), W, "no-deployments", id="no Deployments"),
    pytest.param(
        made(put("spec.install.spec.deployments", [CSV["spec"]["install"]["spec"]["deployments"][0]] * 2)),
        E, "deployment-twice", id="a Deployment twice",
    ),
    pytest.param(made(put(f"{DEPLOYMENT}.name", "Kettle")), E, "deployment-name", id="a Deployment with a wrong name"),
    pytest.param(
        made(put(f"{DEPLOYMENT}.spec.selector", {"matchLabels": {"app": "pot"}})),
        E, "deployment-selector", id="a selector of other pods",
    ),
    pytest.param(
        made(put(f"{DEPLOYMENT}.spec.selector", {"matchExpressions": [{"key": "x", "operator": "Exists"}]})),
        E, "deployment-selector", id="an expression for other pods",
    ),
    pytest.param(made(put(f"{DEPLOYMENT}.spec.selector", {})), E, "deployment-selector", id="no selector"),
    pytest.param(made(put(f"{PODS}.containers", [])), E, "no-containers", id="no containers"),
    pytest.param(made(put(f"{PODS}.containers", [CONTAINER] * 2)), E, "container-name", id="a container twice"),
    pytest.param(made(put(f"{FIRST}.image", "")), E, "image", id="no image"),
    pytest.param(made(put(f"{FIRST}.image", "Kettle:")), E, "image", id="an image that is none"),
    pytest.param(
        made(put(f"{FIRST}.volumeMounts", [{"name": "v", "mountPath": "/v"}])), E, "volume-mount", id="a mount of nothing"
    ),
    pytest.param(made(put(f"{PODS}.volumes", [{"name": "v"}] * 2)), E, "volume-twice", id="a volume twice"),
    pytest.param(
        made(put(f"{FIRST}.env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])), W, "env-twice", id="env twice"
    ),
    pytest.param(made(put(f"{FIRST}.ports", [{"containerPort": 80}] * 2)), E, "port-twice", id="a port twice"),
    pytest.param(
        made(put(f"{PODS}.imagePullSecrets", [{"name": "s"}] * 2)), W, "repeated-item", id="a Secret twice"
    ),
    pytest.param(made(put("spec.relatedImages", [{"name": "a", "image": ""}])), E, "related-image", id="no related image"),
    pytest.param(made(put("spec.relatedImages", [{"image": "A B"}])), E, "related-image", id="a related image that is none"),
    pytest.param(made(objects=(config_map(data={"a": 1}),)), E, "object-data", id="a number in a ConfigMap"),
    pytest.param(made(objects=(config_map(data={"a b": "1"}),)), E, "object-data", id="a key that is none"),
    pytest.param(made(objects=(config_map(binaryData={"a": "%"}),)), E, "object-data", id="no base64 in a ConfigMap"),
    pytest.param(
        made(objects=({**config_map(data={"a": "%"}), "kind": "Secret"},)), E, "object-data", id="no base64 in a Secret"
    ),
    pytest.param(made(objects=({**config_map(), "metadata": {"name": "A B"}},)), E, "object-name", id="a name that is none"),
    pytest.param(made(objects=(budget(maxUnavailable=0),)), E, "disruption-budget", id="maxUnavailable 0"),
    pytest.param(made(objects=(budget(maxUnavailable="0%"),)), E, "disruption-budget", id="maxUnavailable 0%"),
    pytest.param(made(objects=(budget(minAvailable="100%"),)), E, "disruption-budget", id="minAvailable 100%"),
    pytest.param(
        made(objects=({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 1,
                       "globalDefault": True},)),
        E, "priority-class", id="a default of the cluster",
    ),
    pytest.param(
        made(objects=({**config_map(), "metadata": {"name": "a", "labels": {"x": 1}}},)), E, "metadata-text", id="a label of 1"
    ),
    pytest.param(made(annotate("olm.properties", "{}"), files={"metadata/properties.yaml": "properties: []"}),
                 E, "olm-properties", id="properties that are no list"),
    pytest.param(
        made(objects=({"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Service", "metadata": {"name": "o"}},)),
        E, "install-refused", id="an object of the suite",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("bundle", "level", "rule"), CASES)
def test_one_fault_has_one_finding(bundle: LoadedBundle, level: str, rule: str) -> None:
    assert found(bundle) == {(level, rule)}
    for each in check(bundle):
        assert each.extra
        assert each.hint
        assert each.file in bundle.files
        assert each.line > 0
        assert each.message.startswith("Error: " if level == E else "Warning: ")


def test_each_rule_has_a_case_and_a_description() -> None:
    elsewhere = {  # in test_good_practices, and below
        "channel-name", "crd-permission-all-groups", "resource-requests-partial", "annotations-file-name", "unreadable-file",
        "crd-schema", "owned-not-served", "conversion-pruning",
    }  # fmt: skip
    assert {case.values[2] for case in CASES} | elsewhere == set(documented())
    assert RULES.keys() >= set(documented())


def documented() -> list[str]:
    page = (Path(__file__).resolve().parents[5] / "docs" / "bundle-rules.md").read_text()
    return re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)


@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param(made(put("spec.version", "1.2.3+build.1")), id="build metadata"),
        pytest.param(made(put("metadata.name", "kettle-operator.1.2.3")), id="a name without v"),
        pytest.param(made(put("metadata.name", "kettle-operator")), id="a name without a version"),
        pytest.param(made(put("spec.replaces", "kettle.v9.0.0")), id="replaces another operator"),
        pytest.param(
            made(
                put(
                    f"{OWNED}.specDescriptors",
                    [
                        {"path": each}
                        for each in (
                            "litres",
                            "lid.colour",
                            "cups[0].size",
                            "labels",
                            "labels.a.b/c",
                            "other.x.y",
                            "cups",
                        )
                    ],
                )
            ),
            id="descriptors",
        ),
        pytest.param(made(examples({**EXAMPLE, "status": {"hot": 1}})), id="a wrong status"),
        pytest.param(made(examples({**EXAMPLE, "spec": {"litres": 1, "lid": None}})), id="a null that is dropped"),
        pytest.param(made(examples({**EXAMPLE, "kind": "Pot"})), id="an example of another kind"),
        pytest.param(made(annotate("alm-examples", "[")), id="examples that upstream refuses"),
        pytest.param(made(annotate("olm.skipRange", ">=1.0.0 <1.2.3")), id="a range"),
        pytest.param(made(put("spec.installModes.0.type", "SingleNamespace")), id="one namespace"),
        pytest.param(made(put("spec.installModes.0.type", "MultiNamespace")), id="some namespaces"),
        pytest.param(made(put("spec.webhookdefinitions", [WEBHOOK])), id="a webhook"),
        pytest.param(
            made(
                put(f"{FIRST}.volumeMounts", [{"name": "webhook-cert", "mountPath": "/c"}]),
                put("spec.webhookdefinitions", [WEBHOOK]),
            ),
            id="the volume of a certificate",
        ),
        pytest.param(
            made(put(f"{FIRST}.ports", [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}])), id="ports"
        ),
        pytest.param(made(objects=(binding(),)), id="a role of Kubernetes"),
        pytest.param(made(objects=(role("ClusterRole", {"nonResourceURLs": ["/x"], "verbs": ["get"]}),)), id="URLs"),
        pytest.param(
            made(objects=({**config_map(data={"a": base64.b64encode(b"x").decode()}), "kind": "Secret"},)),
            id="a Secret",
        ),
        pytest.param(made(objects=(budget(maxUnavailable=1),)), id="a budget"),
        pytest.param(
            made(files={"manifests/o.yaml": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\n"}),
            id="a separator",
        ),
        pytest.param(
            made(files={"manifests/o.yaml": "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: o\r\n"}),
            id="CRLF",
        ),
        pytest.param(
            made(files={"metadata/dependencies.yaml": "dependencies:\n- {type: olm.gvk, value: {}}\n"}),
            id="dependencies",
        ),
        pytest.param(made(annotations={f"{PREFIX}manifests.v1": "manifests"}), id="a directory without a slash"),
    ],
)
def test_what_is_no_fault(bundle: LoadedBundle) -> None:
    assert list(check(bundle)) == []


def test_a_variable_that_stands_there_twice_and_is_used_cannot_be_applied() -> None:
    bundle = made(put(f"{FIRST}.env", [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)"}]))
    assert found(bundle) == {(W, "env-twice"), (E, "repeated-item")}


def test_annotations_in_another_file_are_not_read() -> None:
    files = dict(made().files)
    files["metadata/other.yaml"] = files.pop(ANNOTATIONS_FILE)
    bundle = loaded(files)
    named = LoadedBundle(
        bundle.origin, files, {"a": "b"}, "metadata/other.yaml", "", "manifests", bundle.csv, bundle.documents
    )
    assert found(named) == {(E, "annotations-file-name")}


def test_of_a_bundle_that_cannot_be_loaded_only_the_files_are_checked() -> None:
    files = {**made().files, CSV_FILE: b"a: [\n"}
    bundle = LoadedBundle("kettle", files)
    (finding,) = check(bundle)
    assert (finding.rule, finding.file, finding.line) == ("unreadable-file", CSV_FILE, 2)


def test_a_description_of_a_version_that_is_not_served() -> None:
    def add(body: dict[str, Any]) -> None:
        body["spec"]["versions"].append({**body["spec"]["versions"][0], "name": "v2", "storage": False})
        body["spec"]["versions"][0]["served"] = False

    assert found(made(crd=add)) == {(W, "owned-not-served")}


def test_a_definition_that_keeps_unknown_fields_cannot_be_converted() -> None:
    bundle = made(put("spec.webhookdefinitions", [CONVERSION]), crd=put("spec.preserveUnknownFields", True))
    assert found(bundle) == {(E, "conversion-pruning")}


@pytest.mark.parametrize(
    ("bundle", "file", "text"),
    [
        pytest.param(made(put("spec.skips", ["a.v1", ""])), CSV_FILE, "- ''", id="an item of a list"),
        pytest.param(made(put(f"{FIRST}.image", "A:")), CSV_FILE, "image: 'A:'", id="a field of a container"),
        pytest.param(made(crd=put(f"{FIELDS}.litres.default", "x")), CRD_FILE, "default: x", id="a field of a schema"),
        pytest.param(
            made(annotations={f"{PREFIX}channel.default.v1": "beta"}), ANNOTATIONS_FILE, f"{PREFIX}channel.default.v1: beta",
            id="an annotation",
        ),
        pytest.param(
            made(put("spec.webhookdefinitions", [WEBHOOK, {**WEBHOOK, "generateName": "x.kb.io", "deploymentName": "pot"}])),
            CSV_FILE, "- admissionReviewVersions:", id="a webhook that rukpak refuses",
        ),
    ],
)  # fmt: skip
def test_a_finding_has_the_line_of_its_value(bundle: LoadedBundle, file: str, text: str) -> None:
    (finding,) = check(bundle)
    line = bundle.files[file].decode().split("\n")[finding.line - 1]
    assert (finding.file, line.strip()) == (file, text) or (finding.file == file and "type: Validating" in line)


def deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def many_versions(body: dict[str, Any]) -> None:
    (version,) = body["spec"]["versions"]
    body["spec"]["versions"] = [{**version, "name": f"v{n}", "storage": n == 1} for n in range(1, 4000)]


@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param(made(examples({**EXAMPLE, "spec": {"litres": 1, "other": deep(900)}})), id="a deep example"),
        pytest.param(
            made(
                put(f"{OWNED}.specDescriptors", [{"path": ".".join("a" * 60)}]),
                crd=put(
                    FIELDS,
                    {
                        ".".join("a" * n): {"type": "object", "properties": {"a": {"type": "string"}}}
                        for n in range(1, 60)
                    },
                ),
            ),
            id="a path with many meanings",
        ),
        pytest.param(made(put("spec." + "x" * 200_000, 1)), id="a long name"),
        pytest.param(
            made(crd=put(f"{FIELDS}.litres", {"type": "string", "pattern": "[" * 200_000})), id="a long pattern"
        ),
        pytest.param(made(put("spec.skips", ["A"] * 20_000)), id="many faults"),
        pytest.param(
            made(
                put(
                    "spec.customresourcedefinitions.owned",
                    [
                        {**CSV["spec"]["customresourcedefinitions"]["owned"][0], "version": f"v{n}"}
                        for n in range(1, 4000)
                    ],
                ),
                crd=many_versions,
            ),
            id="many versions",
        ),
        pytest.param(
            made(
                files={
                    "manifests/o.json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}'
                    + ',"a":1' * 50_000
                    + "}"
                }
            ),
            id="a key many times",
        ),
    ],
)
def test_a_bundle_that_is_made_to_harm_takes_little_time(bundle: LoadedBundle) -> None:
    start = time.process_time()
    assert len(list(check(bundle))) <= MAX_FINDINGS
    assert time.process_time() - start < 5


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.text("a./[]0", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", max_size=3), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found += paths(each, (*path, key))
    return found


@settings(max_examples=example_count(150), deadline=None)
@given(st.data())
def test_no_value_anywhere_makes_a_check_fail(data: st.DataObject) -> None:
    more = {"webhookdefinitions": [CONVERSION], "relatedImages": [{"image": "a"}], "skips": ["a"]}
    csv = {**CSV, "spec": {**CSV["spec"], **more}}
    others = (binding(), role("Role", dict(RULE)), budget(), config_map(data={"a": "b"}))
    bodies = [json.loads(json.dumps(each)) for each in (csv, CRD, *others)]
    bodies[0]["spec"]["customresourcedefinitions"]["owned"][0]["specDescriptors"] = [{"path": "lid"}]
    body = data.draw(st.sampled_from(bodies))
    *parents, last = data.draw(st.sampled_from(paths(body)))
    holder = body
    for step in parents:
        holder = holder[step]
    holder[last] = data.draw(JUNK)
    files = {f"manifests/{number}.yaml": json.dumps(each).encode() for number, each in enumerate(bodies)}
    list(check(loaded({**files, ANNOTATIONS_FILE: made().files[ANNOTATIONS_FILE]})))


def test_the_documentation_describes_each_rule() -> None:
    page = (Path(__file__).resolve().parents[5] / "docs" / "bundle-rules.md").read_text()
    assert documented() == sorted(documented())
    assert all(f"| {RULES[rule]} |" in page for rule in documented())
