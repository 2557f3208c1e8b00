"""The table of lists with keys is what the API server publishes, and what is made of repeated items is what it applies."""

from __future__ import annotations

import json

import orjson

from devcluster.cluster import Cluster
from release.list_types import FILE, render
from rukpak.format.list_items import without_repeated_items
from rukpak.format.objects import BundleObject


def test_the_table_is_that_of_the_api_server(cluster: Cluster) -> None:
    assert FILE.read_text() == render(lambda path: json.loads(cluster.kubectl("get", "--raw", path)))


def test_the_api_server_applies_what_is_made_of_repeated_items(cluster: Cluster) -> None:
    container = {
        "name": "c",
        "image": "i",
        "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
        "ports": [{"containerPort": 1}, {"containerPort": 1, "name": "a"}],
        "volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}],
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "imagePullSecrets": [{"name": "x"}, {"name": "x"}],
        "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a"]}, {"ip": "127.0.0.1", "hostnames": ["b"]}],
    }
    labels = {"app": "a"}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    metadata = {"name": "repeated", "namespace": "default"}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    (made,), notes, errors = without_repeated_items([BundleObject(body)])
    assert (len(notes), errors) == (5, ())
    text = orjson.dumps(made.body).decode()
    printed = cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=text)
    assert printed.strip().endswith("serverside-applied (server dry run)")
