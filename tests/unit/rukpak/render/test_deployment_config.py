"""What a config changes in a Deployment, by upstream's rules."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.format import BadBundle
from rukpak.render.deployment_config import read_config, with_config

NODES: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}}
PODS = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
TOLERATION = {"key": "a", "operator": "Exists"}
SOURCE = {"configMapRef": {"name": "settings"}}


def deployment(annotations: dict[str, str] | None = None, **pod: Any) -> dict[str, Any]:
    metadata = {"annotations": annotations} if annotations else {}
    return {"metadata": {"name": "d", **metadata}, "spec": {"template": {"metadata": metadata, "spec": pod}}}


@pytest.mark.parametrize(
    ("config", "own", "expected"),
    [
        pytest.param({}, {"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b"}}, id="nothing"),
        pytest.param(
            {"env": [{"name": "B", "value": "2"}, {"name": "C"}]},
            {"containers": [{"name": "x", "env": [{"name": "A"}, {"name": "B", "valueFrom": {}}]}, {"name": "y"}]},
            {
                "containers": [
                    {"name": "x", "env": [{"name": "A"}, {"name": "B", "value": "2"}, {"name": "C"}]},
                    {"name": "y", "env": [{"name": "B", "value": "2"}, {"name": "C"}]},
                ]
            },
            id="variables take the place of those with their name, in all containers",
        ),
        pytest.param(
            {"env": [{"name": "A"}]},
            {"containers": [], "initContainers": [{"name": "i"}]},
            {"containers": [], "initContainers": [{"name": "i"}]},
            id="init containers stay",
        ),
        pytest.param(
            {"envFrom": [SOURCE, {"secretRef": {"name": "login"}}]},
            {"containers": [{"name": "x", "envFrom": [SOURCE]}]},
            {"containers": [{"name": "x", "envFrom": [SOURCE, {"secretRef": {"name": "login"}}]}]},
            id="sources of variables once",
        ),
        pytest.param(
            {
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "secret": {"secretName": "s"}}],
                "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}],
            },
            {
                "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
                "containers": [{"name": "x", "volumeMounts": [{"name": "v", "mountPath": "/old", "readOnly": True}]}],
            },
            {
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "secret": {"secretName": "s"}}],
                "containers": [
                    {
                        "name": "x",
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}],
                    }
                ],
            },
            id="volumes and their mounts",
        ),
        pytest.param(
            {"tolerations": [TOLERATION, {"key": "b"}]},
            {"tolerations": [TOLERATION]},
            {"tolerations": [TOLERATION, {"key": "b"}]},
            id="tolerations once",
        ),
        pytest.param(
            {"resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}},
            {"containers": [{"name": "x", "resources": {"requests": {"cpu": "2"}}}, {"name": "y"}]},
            {
                "containers": [
                    {"name": "x", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
                    {"name": "y", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
                ]
            },
            id="resources instead of those of the bundle, as Kubernetes writes them",
        ),
        pytest.param(
            {"resources": {}},
            {"containers": [{"name": "x", "resources": {"requests": {"cpu": "2"}}}]},
            {"containers": [{"name": "x", "resources": {}}]},
            id="no resources",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b"}}, {"nodeSelector": {"c": "d"}}, {"nodeSelector": {"a": "b"}}, id="nodes"
        ),
        pytest.param({"nodeSelector": {}}, {"nodeSelector": {"c": "d"}}, {}, id="any node"),
        pytest.param(
            {"affinity": {}}, {"affinity": {"nodeAffinity": NODES, "podAffinity": PODS}}, {}, id="no affinity"
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {}}},
            {"affinity": {"nodeAffinity": NODES, "podAffinity": PODS}},
            {"affinity": {"podAffinity": PODS}},
            id="an empty part of an affinity removes that part",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {}}}, {"affinity": {"nodeAffinity": NODES}}, {}, id="the only part of one"
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": PODS}},
            {"affinity": {"nodeAffinity": NODES}},
            {"affinity": {"nodeAffinity": NODES, "podAntiAffinity": PODS}},
            id="another part is added",
        ),
        pytest.param({"affinity": {"podAffinity": {}}}, {}, {}, id="a part that is not there"),
    ],
)
def test_a_config_changes_the_pods(config: dict[str, Any], own: dict[str, Any], expected: dict[str, Any]) -> None:
    given = deployment(**{"containers": [], **own})
    changed = with_config(given, read_config(config))
    assert changed == deployment(**{"containers": [], **expected})
    assert given == deployment(**{"containers": [], **own}), "it is not changed in place"


def test_annotations_are_added_and_those_of_the_bundle_stay() -> None:
    config = read_config({"annotations": {"a": "1", "b": "2"}})
    changed = with_config(deployment({"b": "mine"}, containers=[]), config)
    assert changed == deployment({"a": "1", "b": "mine"}, containers=[])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"replicas": 2}, 'unknown field "config.replicas"'),
        ({"volumes": [{"name": "v", "emptyDirr": {}}]}, 'unknown field "config.volumes[0].emptyDirr"'),
        (
            {"affinity": {"nodeAffinity": {"required": []}}, "x": 1},
            'multiple errors found; unknown field "config.affinity.nodeAffinity.required"; unknown field "config.x"',
        ),
        (
            {"env": [{"name": "A", "value": 1}]},
            'invalid type for field "config.env[0].value": must be text in quotes, not a number (1)',
        ),
        ({"env": {"A": "1"}}, 'invalid type for field "config.env": must be a list, not a mapping'),
        ({"resources": {"limits": {"cpu": "lots"}}}, 'invalid type for field "config.resources.limits.cpu": '),
    ],
)
def test_a_config_that_is_wrong(config: dict[str, Any], message: str) -> None:
    with pytest.raises(BadBundle) as caught:
        read_config(config)
    assert caught.value.reason == "InvalidConfiguration"
    assert caught.value.message.startswith(f"invalid configuration: {message}")
