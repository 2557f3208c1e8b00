"""config/crd on the real API server: accepted, structural, and validating."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api.crd import CRD_DEFINITIONS, V1_DEFINITIONS

IMAGE = "registry.example.com/catalog:v1"
BY_DIGEST = "registry.example.com/catalog@sha256:" + "a" * 64
GIT, URL = "https://git.example/catalog", "https://files.example/catalog.tar.gz"


def catalog(name: str, **source: Any) -> dict[str, Any]:
    return {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": name},
        "spec": {"source": source or {"type": "image", "image": {"ref": IMAGE}}},
    }


def operator(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": name},
        "spec": {"packageName": "argocd-operator", **spec},
    }


def _expression(key: str, comparison: str, values: list[str] | None = None) -> dict[str, Any]:
    """An Operator with an expression in its catalogSelector."""
    one = {"key": key, "operator": comparison} | ({} if values is None else {"values": values})
    return operator("x", catalogSelector={"matchExpressions": [one]})


def bundle(name: str, **source: Any) -> dict[str, Any]:
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": name},
        "spec": {
            "provisionerClassName": "core-rukpak-io-registry",
            "source": source or {"type": "image", "image": {"ref": IMAGE}},
        },
    }


def deployment(name: str, **source: Any) -> dict[str, Any]:
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": name},
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": {"spec": bundle(name, **source)["spec"]}},
    }


def test_each_definition_is_structural(definitions: Cluster) -> None:
    items = json.loads(definitions.kubectl("get", "crd", "-l", "app.kubernetes.io/part-of=olm-suite", "-o", "json"))[
        "items"
    ]
    assert len(items) == len(CRD_DEFINITIONS + V1_DEFINITIONS)
    for item in items:
        conditions = {condition["type"]: condition["status"] for condition in item["status"]["conditions"]}
        assert conditions["Established"] == "True", item["metadata"]["name"]
        assert conditions.get("NonStructuralSchema") is None, item["metadata"]["name"]


REFUSED = {
    "a Catalog of type image without an image": (catalog("x", type="image"), "source.image must be set"),
    "a Catalog of an unknown source type": (catalog("x", type="ftp"), 'Unsupported value: "ftp"'),
    "a Catalog whose poll interval is no duration": (
        catalog("x", type="image", image={"ref": IMAGE, "pollInterval": "soon"}),
        "must be a duration such as 30s, 10m or 1h30m",
    ),
    "a Catalog by digest with a poll interval": (
        catalog("x", type="image", image={"ref": BY_DIGEST, "pollInterval": "10m"}),
        "cannot specify pollInterval while using digest-based image",
    ),
    "a Catalog whose image has upper case in its repository": (
        catalog("x", type="image", image={"ref": "quay.io/Org/catalog:v1"}),
        "must be an image reference",
    ),
    "a Catalog whose image has a scheme": (
        catalog("x", type="image", image={"ref": "https://quay.io/org/catalog:v1"}),
        "must be an image reference",
    ),
    "a Catalog whose digest is too short": (
        catalog("x", type="image", image={"ref": "quay.io/org/catalog@sha256:abc"}),
        "must be an image reference",
    ),
    "a Catalog whose image begins with a blank": (
        catalog("x", type="image", image={"ref": " quay.io/org/catalog:v1"}),
        "must be an image reference",
    ),
    "a Catalog whose image has a port beyond five digits": (
        catalog("x", type="image", image={"ref": "quay.io:123456/org/catalog:v1"}),
        "must be an image reference",
    ),
    "a Catalog with a member that its type does not name": (
        catalog("x", type="image", image={"ref": IMAGE}, http={"url": "https://x.example/c.tgz"}),
        "source.http must be set for source type http, and for no other type",
    ),
    "a Catalog of type git without git": (catalog("x", type="git"), "source.git must be set for source type git"),
    "a Catalog of a branch and a tag": (
        catalog("x", type="git", git={"repository": GIT, "ref": {"branch": "main", "tag": "v1"}}),
        "exactly one of branch, tag and commit must be set",
    ),
    "a Catalog of a commit with a poll interval": (
        catalog("x", type="git", git={"repository": GIT, "ref": {"commit": "a" * 40}, "pollInterval": "1m"}),
        "cannot specify pollInterval while using a commit",
    ),
    "a Catalog whose repository is a file": (
        catalog("x", type="git", git={"repository": "file:///etc", "ref": {"branch": "main"}}),
        "must be https://host/path",
    ),
    "a Catalog whose repository holds a password": (
        catalog("x", type="git", git={"repository": "https://me:secret@git.example/r", "ref": {"branch": "main"}}),
        "must be https://host/path",
    ),
    "a Catalog whose directory leads out of the repository": (
        catalog("x", type="git", git={"repository": GIT, "ref": {"branch": "main"}, "directory": "../x"}),
        "spec.source.git.directory",
    ),
    "a Catalog of an archive with a checksum and a poll interval": (
        catalog("x", type="http", http={"url": URL, "checksum": "sha256:" + "a" * 64, "pollInterval": "1m"}),
        "cannot specify pollInterval while using a checksum",
    ),
    "a Catalog whose address is no http": (
        catalog("x", type="http", http={"url": "ftp://files.example/c.tgz"}),
        "must be https://host/path",
    ),
    "a Catalog of no ConfigMap": (catalog("x", type="configMaps", configMaps=[]), "spec.source.configMaps"),
    "a Catalog that names a ConfigMap twice": (
        catalog("x", type="configMaps", configMaps=[{"configMap": {"name": "a"}}, {"configMap": {"name": "a"}}]),
        "a ConfigMap may be named once only",
    ),
    "a Catalog whose availability is unknown": (
        {**catalog("x"), "spec": {**catalog("x")["spec"], "availability": "Sometimes"}},
        'Unsupported value: "Sometimes"',
    ),
    "a Catalog whose name is longer than 63": (catalog("x" * 64), "may not be more than 63"),
    "a package name that is no label": (operator("x", packageName="Argo_CD"), "spec.packageName"),
    "a package name longer than 253": (operator("x", packageName="a" * 254), "may not be more than 253"),
    "a channel with a blank": (operator("x", channel="not a channel"), "spec.channel"),
    "a channel and channels": (
        operator("x", channel="a", channels=["b"]),
        "channel and channels exclude each other: name one channel in channel, or several in channels",
    ),
    "every channel beside another one": (
        operator("x", channels=["*", "a"]),
        '"*" means every channel: it has to be the only entry',
    ),
    "channels of which one has a blank": (operator("x", channels=["a", "not a channel"]), "spec.channels[1]"),
    "more than 256 channels": (operator("x", channels=[f"c{each}" for each in range(257)]), "at most 256 items"),
    "a version longer than 64": (operator("x", version="1" * 65), "may not be more than 64"),
    "a selector with a key that is none of a label": (
        operator("x", catalogSelector={"matchLabels": {"a b": "c"}}),
        "each key must be the key of a label",
    ),
    "a selector with a value that is none of a label": (
        operator("x", catalogSelector={"matchLabels": {"a": "b c"}}),
        "spec.catalogSelector.matchLabels.a",
    ),
    "a selector with an unknown operator": (_expression("a", "Near", ["b"]), 'Unsupported value: "Near"'),
    "a selector that compares with no values": (_expression("a", "In"), "values must be set for the operators In"),
    "a selector that compares with an empty list": (_expression("a", "NotIn", []), "values must be set"),
    "a selector with values for Exists": (_expression("a", "Exists", ["b"]), "must not be set for Exists"),
    "a selector whose expression has a wrong key": (
        _expression("-a", "Exists"),
        "spec.catalogSelector.matchExpressions[0].key",
    ),
    "an unknown approval": (operator("x", approval="Maybe"), 'Unsupported value: "Maybe"'),
    "an unknown upgrade constraint policy": (
        operator("x", upgradeConstraintPolicy="Force"),
        'Unsupported value: "Force"',
    ),
    "an Operator whose name is longer than 45": (operator("x" * 46), "may not be more than 45"),
    "a Bundle whose name is longer than 52": (bundle("x" * 53), "may not be more than 52"),
    "a Bundle with two references to a commit": (
        bundle("x", type="git", git={"repository": GIT, "ref": {"tag": "a", "branch": "b"}}),
        "exactly one of branch, tag and commit must be set",
    ),
    "a Bundle with no reference to a commit": (
        bundle("x", type="git", git={"repository": GIT, "ref": {}}),
        "exactly one of branch, tag and commit must be set",
    ),
    "a Bundle with a digest of an upload that is none": (
        bundle("x", type="upload", upload={"digest": "sha256:1"}),
        "must be sha256: and the 64 lower-case hex digits",
    ),
    "a Bundle with a provisioner class that can be none": (
        {**bundle("x"), "spec": {**bundle("x")["spec"], "provisionerClassName": "No_Class"}},
        "spec.provisionerClassName",
    ),
    "a BundleDeployment whose name is longer than 45": (
        deployment("x" * 46, type="image", image={"ref": IMAGE}),
        "may not be more than 45",
    ),
    "a BundleDeployment of type image without an image": (deployment("x", type="image"), "source.image must be set"),
    "a BundleDeployment of type git with an image": (
        deployment("x", type="git", git={"repository": GIT, "ref": {"tag": "a"}}, image={"ref": IMAGE}),
        "source.image must be set for source type image, and for no other type",
    ),
    "a BundleDeployment with a directory outside the repository": (
        deployment("x", type="git", git={"repository": GIT, "ref": {"tag": "a"}, "directory": "../a"}),
        "must be a relative path",
    ),
    "a BundleDeployment of no ConfigMap": (
        deployment("x", type="configMaps", configMaps=[]),
        "spec.template.spec.source.configMaps",
    ),
    "a BundleDeployment of type configMaps with an image": (
        deployment("x", type="configMaps", configMaps=[{"configMap": {"name": "a"}}], image={"ref": IMAGE}),
        "source.image must be set for source type image, and for no other type",
    ),
    "a BundleDeployment with a path outside the content": (
        deployment("x", type="configMaps", configMaps=[{"configMap": {"name": "a"}, "path": "../a"}]),
        "must be a relative path",
    ),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_the_schema_refuses(definitions: Cluster, body: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match="invalid") as refusal:
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(body))
    assert message in str(refusal.value)


ACCEPTED = {
    "a tag": {"type": "image", "image": {"ref": IMAGE, "pollInterval": "10m", "pullSecret": "login"}},
    "a digest": {"type": "image", "image": {"ref": BY_DIGEST}},
    "a tag and a digest": {"type": "image", "image": {"ref": IMAGE + "@sha256:" + "a" * 64}},
    "no tag": {"type": "image", "image": {"ref": "quay.io/org/catalog"}},
    "no host": {"type": "image", "image": {"ref": "org/catalog:v1"}},
    "a port": {"type": "image", "image": {"ref": "localhost:5000/a_b/c--d.e:v1"}},
    "an address of version 6": {"type": "image", "image": {"ref": "[2001:db8::1]:5000/a:v1"}},
    "the guide's image": {"type": "image", "image": {"ref": "registry.redhat.io/redhat/redhat-operator-index:v4.14"}},
    "a branch": {"type": "git", "git": {"repository": GIT, "ref": {"branch": "main"}, "directory": "configs"}},
    "a repository over ssh": {"type": "git", "git": {"repository": "git@git.example:org/r.git", "ref": {"tag": "v1"}}},
    "an archive": {"type": "http", "http": {"url": URL, "auth": {"secret": {"name": "login"}}}},
    "ConfigMaps": {"type": "configMaps", "configMaps": [{"configMap": {"name": "a"}, "path": "x/y"}]},
}


@pytest.mark.parametrize("source", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_schema_accepts_a_catalog_of(definitions: Cluster, source: dict[str, Any]) -> None:
    definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(catalog("x", **source)))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"catalogSelector": {}}, id="an empty selector"),
        pytest.param({"catalogSelector": {"matchLabels": {"example.com/team": "a", "b": ""}}}, id="labels"),
        pytest.param(
            {"catalogSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b", "c"]}]}},
            id="an expression",
        ),
        pytest.param({"upgradeConstraintPolicy": "Ignore"}, id="a policy"),
        pytest.param({"approval": "Manual", "paused": True}, id="approval and a pause"),
        pytest.param({"packageName": "a." + "b" * 251}, id="a package name with a dot and 253 characters"),
        pytest.param({"channels": ["stable-1.2", "c" * 253]}, id="two channels"),
        pytest.param({"channels": ["*"]}, id="every channel"),
    ],
)
def test_the_schema_accepts_an_operator_with(definitions: Cluster, spec: dict[str, Any]) -> None:
    definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(operator("x", **spec)))


@pytest.mark.parametrize(
    "body", [catalog("new-catalog"), operator("new-operator"), bundle("new-bundle")], ids=lambda b: b["kind"]
)
def test_the_status_of_a_new_object_is_not_reconciled(definitions: Cluster, body: dict[str, Any]) -> None:
    created = json.loads(definitions.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(body)))
    try:
        assert created["status"] == {"observedGeneration": -1}
        assert created["spec"] == body["spec"], "the API server adds nothing to a spec"
    finally:
        definitions.kubectl(
            "delete", body["kind"].lower() + "." + body["apiVersion"].split("/")[0], body["metadata"]["name"]
        )


@pytest.mark.parametrize(
    ("signer", "shown"),
    [
        pytest.param({"key": BY_DIGEST[-71:]}, BY_DIGEST[-71:], id="a key"),
        pytest.param({"subject": "ann@example.com", "issuer": "https://id.example"}, "ann@example.com", id="a person"),
        pytest.param(None, "", id="nobody"),
    ],
)
@pytest.mark.parametrize("make", [catalog, bundle])
def test_wide_lists_have_the_signer(
    definitions: Cluster, make: Callable[[str], dict[str, Any]], signer: dict[str, str] | None, shown: str
) -> None:
    body = make("signed")
    plural = f"{body['kind'].lower()}s"
    definitions.kubectl("create", "-f", "-", input=json.dumps(body))
    try:
        patch = json.dumps({"status": {"signedBy": signer}})
        definitions.kubectl("patch", plural, "signed", "--subresource=status", "--type=merge", "-p", patch)
        header, row = definitions.kubectl("get", plural, "signed", "-o", "wide").splitlines()
        assert row[header.index("SIGNED BY") :].strip() == shown
    finally:
        definitions.kubectl("delete", plural, "signed")


def test_short_names_and_the_category_work(definitions: Cluster) -> None:
    # Else kubectl asks for kinds that the cluster had before, such as PackageManifests.
    definitions.kubectl("api-resources")
    for name in ("ocat", "opkg", "oop", "bun", "bd", "olm"):
        definitions.kubectl("get", name)
