"""How a bundle is installed: the namespaces that it is in and that it watches, and changes of its Deployments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from olmkit.api import bundledeployments
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.errors import Invalid
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import EVENT
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import CLUSTER_ROLES, DEPLOYMENTS, READY, Harness, Object, gone, namespace, says
from tests.conditions import triple
from tests.e2e.packages import definition, labels, service_version

RBAC = "rbac.authorization.k8s.io"
ROLES = Kind(RBAC, "v1", "Role", "roles", namespaced=True)
BINDINGS = Kind(RBAC, "v1", "RoleBinding", "rolebindings", namespaced=True)


def files(package: str, modes: Sequence[str], *, permissions: bool = True) -> dict[str, bytes]:
    """A registry+v1 bundle with these install modes, and a permission in the namespaces that it watches."""
    csv = service_version(package)
    spec = csv["spec"]
    spec["installModes"] = [{"type": mode, "supported": True} for mode in modes]
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    install = spec["install"]["spec"]
    install["permissions"] = [{"serviceAccountName": package, "rules": rules}] if permissions else []
    found = {"manifests/csv.yaml": csv, "manifests/crd.yaml": definition(package)}
    found["metadata/annotations.yaml"] = {"annotations": labels(package)}
    return {name: yaml.safe_dump(body).encode() for name, body in found.items()}


async def ask(at: Harness, ref: str, name: str = "", **spec: Any) -> None:
    """Ask for a registry+v1 bundle, installed so."""
    body = at.body(ref, name, REGISTRY)
    body["spec"] |= spec
    await at.client.apply(bundledeployments.KIND, body, "test")


async def watched(at: Harness, inside: str = "") -> str:
    """The annotation of the pods of the operator."""
    found = await at.find(DEPLOYMENTS, at.name, inside or f"{at.name}-system")
    assert found is not None
    annotations: dict[str, str] = found["spec"]["template"]["metadata"]["annotations"]
    return annotations["olm.targetNamespaces"]


async def role_namespaces(at: Harness, raw: Object) -> set[str]:
    """The namespaces of its Roles, each of which has a RoleBinding."""
    found: list[set[str]] = []
    for kind in (ROLES, BINDINGS):
        objects, _ = await at.client.list(kind, label_selector=f"core.rukpak.io/owner-uid={raw['metadata']['uid']}")
        found.append({obj["metadata"]["namespace"] for obj in objects})
    assert found[0] == found[1]
    return found[0]


async def test_the_modes_of_an_installed_operator_change(at: Harness, running: Client) -> None:
    ref = at.push(files(at.name, ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")))
    own, first, second = f"{at.name}-system", f"{at.name}-a", f"{at.name}-b"
    for name in (first, second):
        await at.create(NAMESPACES, namespace(name))
    steps: list[tuple[dict[str, Any], str, set[str]]] = [
        ({}, "", set()),
        ({"watchNamespaces": [own]}, own, {own}),
        ({"watchNamespaces": [first]}, first, {first}),
        ({"watchNamespaces": [second, first]}, f"{first},{second}", {first, second}),
        ({"watchNamespaces": [second, own]}, f"{second},{own}", {second, own}),
        ({"watchNamespaces": [""]}, "", set()),
    ]
    for spec, annotation, roles in steps:
        await ask(at, ref, **spec)
        raw = await at.until(READY)
        assert await watched(at) == annotation, spec
        assert await role_namespaces(at, raw) == roles, spec
    assert await at.find(NAMESPACES, first) is not None, "it is not rukpak's"


async def test_a_mode_that_the_bundle_lacks_is_refused_and_what_is_installed_stays(
    at: Harness, running: Client
) -> None:
    ref = at.push(files(at.name, ("OwnNamespace", "SingleNamespace")))
    own = f"{at.name}-system"
    await ask(at, ref, watchNamespaces=["a", "b"])
    raw = await at.until(says("Stalled", "True", "Blocked"))
    text = (
        "invalid option(s): invalid target namespaces [a b]: supported install modes [OwnNamespace SingleNamespace] do not "
        f'support target namespaces [a b]; set watchNamespaces to ["{own}"] (the namespace it is installed into), or to one '
        "other namespace"
    )
    assert triple(raw, "HasValidBundle") == ("False", "InvalidConfiguration", text)
    assert triple(raw, "Ready") == ("False", "Blocked", text)
    modes = ["OwnNamespace", "SingleNamespace"]
    assert raw["status"]["failure"] == {"reason": "InvalidConfiguration", "message": text, "installModes": modes}
    assert await at.find(NAMESPACES, own) is None

    await ask(at, ref, installModePolicy="Strict")
    raw = await at.until(says("Stalled", "True", "Blocked", "it has to be said which namespaces it watches"))
    assert raw["status"]["failure"]["installModes"] == modes
    assert await at.find(NAMESPACES, own) is None, "no namespace to watch is chosen"
    await ask(at, ref, installModePolicy="Strict", watchNamespaces=[own])
    assert "failure" not in (await at.until(READY))["status"]
    assert await watched(at) == own

    await ask(at, ref)
    await at.until(READY)
    assert await watched(at) == own
    await ask(at, ref, watchNamespaces=[""])
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert triple(raw, "Installed")[0] == "True"
    assert triple(raw, "Ready")[:2] == ("False", "Upgrading")
    assert triple(raw, "Ready")[2].startswith(f"cannot change {raw['status']['activeBundle']}: invalid option(s): ")
    assert await watched(at) == own


async def test_a_bundle_that_has_to_be_told_what_it_watches(at: Harness, running: Client) -> None:
    await ask(at, at.push(files(at.name, ("MultiNamespace",))))
    raw = await at.until(says("Stalled", "True", "Blocked", "set watchNamespaces to several namespaces"))
    assert triple(raw, "HasValidBundle")[1] == "InvalidConfiguration"


@pytest.mark.parametrize("permissions", [True, False], ids=["with Roles", "without Roles"])
async def test_a_namespace_to_watch_that_does_not_exist_is_waited_for(
    at: Harness, running: Client, permissions: bool
) -> None:
    ref, late = (
        at.push(files(at.name, ("MultiNamespace", "SingleNamespace"), permissions=permissions)),
        f"{at.name}-late",
    )
    await ask(at, ref, watchNamespaces=[late])
    await at.until(says("Reconciling", "True", "", f"nor are in the bundle: {late}; create them first"))
    assert await at.find(NAMESPACES, f"{at.name}-system") is None, "nothing is written before"
    await at.create(NAMESPACES, namespace(late))
    await at.until(READY)
    assert await watched(at) == late

    other = f"{at.name}-other"
    await ask(at, ref, watchNamespaces=[late, other])
    await at.until(says("Ready", "False", "", other))
    assert await watched(at) == late, "nothing is written before"
    await at.create(NAMESPACES, namespace(other))
    await at.until(READY)
    assert await watched(at) == f"{late},{other}"


async def test_an_installed_operator_moves_to_another_namespace(at: Harness, running: Client) -> None:
    ref = at.push(files(at.name, ("OwnNamespace",)))
    first, second = f"{at.name}-first", f"{at.name}-second"
    await ask(at, ref, installNamespace=first)
    raw = await at.until(READY)
    assert raw["status"]["installNamespace"] == first
    crd = await at.find(CRDS, f"things.{at.name}.example.com")
    assert crd is not None

    await ask(at, ref, installNamespace=second)
    raw = await at.until(READY)
    assert raw["status"]["installNamespace"] == second
    assert await watched(at, second) == second
    assert await role_namespaces(at, raw) == {second}
    await at.when(NAMESPACES, first, "", gone)
    same = await at.find(CRDS, f"things.{at.name}.example.com")
    assert same is not None
    assert same["metadata"]["uid"] == crd["metadata"]["uid"]
    space = await at.find(NAMESPACES, second)
    assert space is not None
    created = [{"name": second, "uid": space["metadata"]["uid"]}]
    await at.until(lambda raw: raw is not None and raw["status"].get("createdNamespaces") == created)

    await ask(at, ref, installNamespace=first)
    raw = await at.until(READY)
    assert raw["status"]["installNamespace"] == first
    assert "losses" not in raw["status"], "nobody else has deleted the first namespace"


async def test_a_move_away_and_back_is_neither_a_loss_nor_a_repair(at: Harness, running: Client) -> None:
    """rukpak deletes the Namespace that it has created, and leaves the other one."""
    ref, own, others = at.push(files(at.name, ("AllNamespaces",))), f"{at.name}-own", f"{at.name}-others"
    await at.create(NAMESPACES, namespace(others))
    for inside, left in ((own, ""), (others, own), (own, ""), (others, "")):
        await ask(at, ref, installNamespace=inside)
        raw = await at.until(READY)
        assert raw["status"]["installNamespace"] == inside
        assert triple(raw, "Ready")[2] == f"Instantiated bundle {raw['status']['activeBundle']} successfully"
        assert "losses" not in raw["status"]
        if left:
            await at.when(NAMESPACES, left, "", gone)
    listed, _ = await at.client.list(EVENT, "default")
    about = [event for event in listed if event["involvedObject"].get("uid") == raw["metadata"]["uid"]]
    assert [event["message"] for event in about if event["type"] == "Warning"] == []
    assert about


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-x", "Upper", ""])
async def test_an_install_namespace_that_the_api_refuses(at: Harness, name: str) -> None:
    body = at.body("registry.example.com/x:v1")
    body["spec"]["installNamespace"] = name
    with pytest.raises(Invalid, match="installNamespace"):
        await at.client.apply(bundledeployments.KIND, body, "test")


@pytest.mark.parametrize("names", [[], ["", "a"], ["A"]])
async def test_watched_namespaces_that_the_api_refuses(at: Harness, names: list[str]) -> None:
    body = at.body("registry.example.com/x:v1")
    body["spec"]["watchNamespaces"] = names
    with pytest.raises(Invalid, match="watchNamespaces"):
        await at.client.apply(bundledeployments.KIND, body, "test")


async def test_nothing_is_installed_into_the_namespace_of_the_suite(at: Harness, running: Client) -> None:
    await ask(at, at.push(files(at.name, ("AllNamespaces",))), installNamespace="olm-suite-system")
    await at.until(says("Stalled", "True", "Blocked", "the suite's own: name another install namespace"))


async def test_two_installs_of_one_crd(at: Harness, running: Client) -> None:
    """The second one is refused and names the first, which does not change."""
    ref = at.push(files(at.name, ("AllNamespaces", "OwnNamespace")))
    await ask(at, ref)
    first = await at.until(READY)
    before = await _versions(at, first)
    await ask(at, ref, f"{at.name}-2", installNamespace=f"{at.name}-2")
    raw = await at.until(says("Stalled", "True", "Blocked"), f"{at.name}-2")
    text = f"things.{at.name}.example.com already exists and belongs to BundleDeployment {at.name}"
    assert text in triple(raw, "Ready")[2]
    failure = raw["status"]["failure"]
    assert (failure["reason"], "things." in failure["objects"][0]["name"]) == ("ObjectExists", True)
    assert triple(raw, "Installed")[0] == "False"
    assert await _versions(at, first) == before
    assert READY(at.deployments.get(at.name))
    assert any(name.startswith("ClusterRole ") for name in before)


async def _versions(at: Harness, raw: Object) -> dict[str, str]:
    objects = await at.owned(raw["metadata"]["uid"], (CRDS, CLUSTER_ROLES, DEPLOYMENTS))
    return {name: obj["metadata"]["resourceVersion"] for name, obj in objects.items() if "Deployment" not in name}


async def test_a_config_is_applied_changed_and_removed(at: Harness, running: Client) -> None:
    ref, inside = at.push(files(at.name, ("AllNamespaces",))), f"{at.name}-system"
    config: Object = {
        "env": [{"name": "LEVEL", "value": "debug"}],
        "envFrom": [{"configMapRef": {"name": "settings", "optional": True}}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "resources": {"limits": {"cpu": 1}},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": {"nodeAffinity": {}},
        "annotations": {"team": "blue"},
    }
    await ask(at, ref, config=config)
    await at.until(READY)
    found = await at.find(DEPLOYMENTS, at.name, inside)
    assert found is not None
    pod = found["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {name: container[name] for name in ("env", "envFrom", "volumeMounts", "resources")} == {
        "env": config["env"],
        "envFrom": config["envFrom"],
        "volumeMounts": config["volumeMounts"],
        "resources": {"limits": {"cpu": "1"}},
    }
    assert (pod["tolerations"], pod["nodeSelector"]) == (config["tolerations"], config["nodeSelector"])
    assert pod["volumes"] == config["volumes"]
    assert found["metadata"]["annotations"]["team"] == "blue"

    await ask(at, ref, config={"env": [{"name": "LEVEL", "value": "info"}]})
    await at.until(READY)
    found = await at.find(DEPLOYMENTS, at.name, inside)
    assert found is not None
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "LEVEL", "value": "info"}]
    assert "volumeMounts" not in container
    assert "team" not in found["metadata"]["annotations"]

    await ask(at, ref)
    await at.until(READY)
    found = await at.find(DEPLOYMENTS, at.name, inside)
    assert found is not None
    assert "env" not in found["spec"]["template"]["spec"]["containers"][0]


async def test_a_large_config_that_changes_again_and_again_leaves_room_in_the_status(
    at: Harness, running: Client
) -> None:
    ref = at.push(files(at.name, ("AllNamespaces",)))

    def config(digit: int, size: int) -> Object:
        return {"env": [{"name": "TEXT", "value": str(digit) * size}]}

    for digit in range(3):
        await ask(at, ref, config=config(digit, 250_000))
        raw = await at.until(READY)
    assert [one["revision"] for one in raw["status"]["history"]] == [3, 2]
    await ask(at, ref, config=config(7, 900_000))
    said = "invalid configuration: it has 900,036 bytes as JSON, at most 262,144 are allowed"
    raw = await at.until(says("Stalled", "True", "Blocked", said))
    assert raw["status"]["revision"] == 3


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"volumeMounts": [{"name": "none", "mountPath": "/x"}]}, 'volumeMounts[0].name: Not found: "none"'),
        ({"volumes": [{"name": "v", "emptyDirr": {}}]}, 'unknown field "config.volumes[0].emptyDirr"'),
    ],
)
async def test_a_config_that_the_deployment_does_not_take_changes_nothing(
    at: Harness, running: Client, config: Object, text: str
) -> None:
    ref = at.push(files(at.name, ("AllNamespaces",)))
    await ask(at, ref)
    await at.until(READY)
    await ask(at, ref, config=config, watchNamespaces=[""])
    raw = await at.until(says("Stalled", "True", "Blocked", text))
    assert triple(raw, "Installed")[0] == "True"
    await ask(at, ref)
    await at.until(READY)


@pytest.mark.parametrize(
    "config",
    [{"env": [{"value": "x"}]}, {"tolerations": [{"effect": "Never"}]}, {"resources": {"limits": {"cpu": {}}}}],
)
async def test_a_config_that_the_api_refuses(at: Harness, config: Object) -> None:
    body = at.body("registry.example.com/x:v1")
    body["spec"]["config"] = config
    with pytest.raises(Invalid, match="config"):
        await at.client.apply(bundledeployments.KIND, body, "test")


async def test_labels_of_objects_change_without_a_revision(at: Harness, running: Client) -> None:
    """Objects of all kinds but the Namespace have them, and pods do not."""
    team, name = "example.com/team", f"{at.name}-system"
    ref = at.push(files(at.name, ("AllNamespaces",)))
    await ask(at, ref, objectLabels={team: "red", "extra": "x"})
    raw = await at.until(READY)
    objects = ((CRDS, f"things.{at.name}.example.com", ""), (DEPLOYMENTS, at.name, name))
    pods = (await at.find(*objects[1]) or {})["spec"]["template"]["metadata"]
    for kind, found, inside in objects:
        labels = (await at.find(kind, found, inside) or {})["metadata"]["labels"]
        assert {**labels, team: "red", "extra": "x"} == labels, kind
    assert team not in (await at.find(NAMESPACES, name) or {})["metadata"]["labels"]
    assert team not in pods.get("labels", {})

    await ask(at, ref, objectLabels={team: "blue"})
    after = await at.until(READY)
    for kind, found, inside in objects:
        labels = (await at.find(kind, found, inside) or {})["metadata"]["labels"]
        assert (labels[team], "extra" in labels) == ("blue", False), kind
    assert (await at.find(*objects[1]) or {})["spec"]["template"]["metadata"] == pods
    assert after["status"]["history"] == raw["status"]["history"]
