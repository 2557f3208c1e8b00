"""A catalog whose bundles have to be signed: what is not signed is not installed, and what is installed stays."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from devcluster.suite import NAMESPACE
from devcluster.watch import BUNDLES, is_true
from tests.conditions import triple
from tests.e2e.stage import Stage, installed_version
from tests.signing import PrivateKey, classic, key_id, new_key, payload_of, public_pem, push_classic


@pytest.fixture
def keys(stage: Stage) -> Iterator[str]:
    """The name of a ConfigMap for public keys, which does not exist yet."""
    name = f"{stage.name[:30].strip('-')}-keys"
    yield name
    stage.cluster.kubectl("delete", "configmap", "-n", NAMESPACE, "--ignore-not-found", name)


def put(stage: Stage, name: str, key: PrivateKey, **more: str) -> None:
    data = {"cosign.pub": public_pem(key), **more}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}
    stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(body))


def sign(stage: Stage, image: str, key: PrivateKey) -> None:
    repository, _, digest = image.partition("@")
    name = repository.removeprefix(f"{stage.cluster.registry}/")
    push_classic(stage.cluster.registry, name, digest, classic(key, payload_of(repository, digest)))


def test_bundles_of_a_catalog_have_to_be_signed(stage: Stage, keys: str) -> None:
    key, other = new_key(), new_key()
    pushed = stage.publish(Content(SAMPLES / "catalog", SAMPLES / "bundles"), ["hello-operator"])
    (image,) = [ref for (_, name), ref in pushed.images.items() if name.endswith("0.2.0")]
    put(stage, keys, key)
    catalog = stage.ready_catalog(pushed.reference, stage.name[:30].strip("-"))
    policy = {"authorities": [{"key": {"configMap": {"name": keys}}}]}
    stage.patch_catalog(catalog, {"bundles": {"verify": policy}})
    only = {"matchLabels": {"olm.operatorframework.io/metadata.name": catalog}}
    operator = stage.operator("hello-operator", f"{catalog}-a", catalogSelector=only)
    words = "has no signature: sign it with `cosign sign --key cosign.key "
    found = stage.operator_when(operator, "names the missing signature", lambda o: words in triple(o, "Ready")[2])
    assert is_true(found, "Reconciling")

    sign(stage, image, key)
    put(stage, keys, key, wakes="it")
    stage.ready_operator(operator, "0.2.0")
    signed = stage.until(
        BUNDLES,
        "the Bundle names who signed its image",
        lambda objects: next((raw for name, raw in objects.items() if name.startswith(f"{operator}-")), None),
    )
    assert signed["status"]["signedBy"] == {"key": key_id(key)}

    # Another policy, which the image does not fulfil: what is installed stays.
    inline = {"authorities": [{"key": {"data": public_pem(other)}}]}
    stage.patch_catalog(catalog, {"bundles": {"verify": inline}})
    words = f"is not by key {key_id(other)}"
    found = stage.operator_when(operator, "names the other key", lambda o: words in triple(o, "Ready")[2])
    assert installed_version(found) == "0.2.0"
    stage.patch_catalog(catalog, {"bundles": None})
    stage.ready_operator(operator, "0.2.0")
