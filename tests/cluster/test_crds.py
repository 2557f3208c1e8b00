"""config/crd on the real API server: accepted, structural, and refusing what the schema can refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster

CRD_FOLDER = Path(__file__).parents[2] / "config" / "crd"
IMAGE = "registry.example.com/catalog:v1"


@pytest.fixture(scope="module")
def definitions(cluster: Cluster) -> Cluster:
    cluster.kubectl("apply", "--server-side", "-k", str(CRD_FOLDER))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRD_FOLDER / "operators.yaml"))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRD_FOLDER / "catalogs.yaml"))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRD_FOLDER / "bundles.yaml"))
    return cluster


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


def test_each_definition_is_structural(definitions: Cluster) -> None:
    items = json.loads(definitions.kubectl("get", "crd", "-l", "app.kubernetes.io/part-of=olm-suite", "-o", "json"))[
        "items"
    ]
    assert len(items) == 5
    for item in items:
        conditions = {condition["type"]: condition["status"] for condition in item["status"]["conditions"]}
        assert conditions["Established"] == "True", item["metadata"]["name"]
        assert conditions.get("NonStructuralSchema") is None, item["metadata"]["name"]


REFUSED = {
    "a Catalog of type image without an image": (catalog("x", type="image"), "source.image must be set"),
    "a Catalog of an unknown source type": (catalog("x", type="ftp"), 'Unsupported value: "ftp"'),
    "a Catalog whose poll interval is no duration": (
        catalog("x", type="image", image={"ref": IMAGE, "pollInterval": "soon"}),
        "spec.source.image.pollInterval",
    ),
    "a Catalog whose name is longer than 63": (catalog("x" * 64), "may not be more than 63"),
    "a package name that is no label": (operator("x", packageName="Argo_CD"), "spec.packageName"),
    "a package name longer than 48": (operator("x", packageName="a" * 49), "may not be more than 48"),
    "a channel with a blank": (operator("x", channel="not a channel"), "spec.channel"),
    "a version longer than 64": (operator("x", version="1" * 65), "may not be more than 64"),
    "an Operator whose name is longer than 45": (operator("x" * 46), "may not be more than 45"),
    "a Bundle whose name is longer than 52": (bundle("x" * 53), "may not be more than 52"),
    "a Bundle of type image without an image": (bundle("x", type="image"), "source.image must be set"),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_the_schema_refuses(definitions: Cluster, body: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match="invalid") as refusal:
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(body))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "body", [catalog("new-catalog"), operator("new-operator"), bundle("new-bundle")], ids=lambda b: b["kind"]
)
def test_a_new_object_has_a_status_that_nobody_takes_for_done(definitions: Cluster, body: dict[str, Any]) -> None:
    created = json.loads(definitions.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(body)))
    try:
        assert created["status"] == {"observedGeneration": -1}
        assert created["spec"] == body["spec"], "the API server adds nothing to a spec"
    finally:
        definitions.kubectl(
            "delete", body["kind"].lower() + "." + body["apiVersion"].split("/")[0], body["metadata"]["name"]
        )


def test_short_names_and_the_category_work(definitions: Cluster) -> None:
    for name in ("ocat", "opkg", "oop", "bun", "bd", "olm"):
        definitions.kubectl("get", name)
