"""tilt/Tiltfile, evaluated: the resources, the images and the settings that Tilt gets, and what it refuses."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.images import Catalog, Registry
from devcluster.processes import REPOSITORY
from devcluster.suite import COMPONENTS
from release.wheels import PYTHON_VERSION
from tests.tiltfile import DIRECTORY, Resource, Tilt, TiltfileError, evaluate, kustomize

CONTROLLERS = tuple(COMPONENTS)
DEBUG_PORTS = {"catalogd": 20000, "rukpak": 10000, "operator-controller": 30000}
SHARED = ["crds", "permissions"]
OPERATORS = ("hello-operator", "message-board", "notebook-operator", "party-operator")
# name: (what it depends on, labels, ports, whether it waits for a click)
TABLE = {
    "crds": ([], ["crds"], {}, False),
    "permissions": ([], ["crds"], {}, False),
    "catalogd": (SHARED, ["controllers"], {20080: 8080, 20443: 8443}, False),
    "rukpak": (SHARED, ["controllers"], {10080: 8080}, False),
    "operator-controller": ([*SHARED, "catalogd", "rukpak"], ["controllers"], {30080: 8080, 30443: 8443}, False),
    "sample-images": ([], ["samples"], {}, False),
    "samples": (["catalogd", "sample-images"], ["samples"], {}, True),
    **{name: (["operator-controller", "rukpak", "samples"], ["samples"], {}, True) for name in OPERATORS},
    "unit-tests": ([], ["tests"], {}, True),
}


@pytest.fixture(scope="module")
def kubectl(cluster_programs: Path) -> Path:
    return cluster_programs / "kubectl"


@pytest.fixture(scope="module")
def tilt(kubectl: Path) -> Tilt:
    return evaluate(kubectl)


def row(resource: Resource) -> tuple[list[str], list[str], dict[int, int], bool]:
    return resource.deps, resource.labels, resource.ports, resource.manual


def deployment(tilt: Tilt, name: str) -> dict[str, Any]:
    (found,) = [each for each in tilt.resources[name].objects if each["kind"] == "Deployment"]
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def rendered(kubectl: Path, path: str) -> set[tuple[str, str, str]]:
    """(kind, namespace, name) of the objects of a kustomization."""
    found = yaml.load_all(kustomize(kubectl, DIRECTORY / path), yaml.CSafeLoader)
    objects = [each["metadata"] | {"kind": each["kind"]} for each in found]
    return {(each["kind"], each.get("namespace", ""), each["name"]) for each in objects}


def test_the_resources_of_the_suite(tilt: Tilt) -> None:
    assert {name: row(each) for name, each in tilt.resources.items()} == TABLE


def test_every_object_of_the_suite_but_the_disruption_budget_is_applied(tilt: Tilt, kubectl: Path) -> None:
    objects = chain.from_iterable(tilt.resources[name].objects for name in (*SHARED, *CONTROLLERS))
    applied = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in objects}
    shipped = rendered(kubectl, "../config/default") | rendered(kubectl, "../config/crd")
    assert shipped - applied == {("PodDisruptionBudget", "olm-suite-system", "catalogd")}
    assert {kind for kind, _, _ in applied - shipped} == {"ConfigMap"}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_changed_module_restarts_the_controllers_that_use_it_and_a_changed_dependency_builds_the_image(
    tilt: Tilt, name: str
) -> None:
    image = tilt.images[f"olm-suite-{name}"]
    assert (image.context, image.dockerfile, image.target) == ("..", "../Dockerfile", "development")
    by_step = {kind: [each for each in image.steps if each["step"] == kind] for kind in ("fall_back_on", "sync", "run")}
    (fall_back,), (run,) = by_step["fall_back_on"], by_step["run"]
    assert {"../pyproject.toml", "../requirements.lock", "../Dockerfile"} < set(fall_back["files"])
    assert (run["cmd"], run["trigger"]) == ("kill -HUP 1", [f"../{COMPONENTS[name]}", "../olmkit"])
    site_packages = f"/app/lib/python{PYTHON_VERSION}/site-packages"
    packages = ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl", "console")
    assert [(each["local"], each["remote"]) for each in by_step["sync"]] == [
        (f"../{package}", f"{site_packages}/{package}") for package in packages
    ]


def test_each_build_has_the_files_that_the_dockerfile_copies(tilt: Tilt) -> None:
    lines = re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", (REPOSITORY / "Dockerfile").read_text())
    copied = set(chain.from_iterable(line.split() for line in lines))
    for image in tilt.images.values():
        assert {path for path in copied if not any(Path(path).is_relative_to(each) for each in image.only)} == set()


def test_each_path_that_is_named_exists(tilt: Tilt) -> None:
    assert [path for path in tilt.paths if not (DIRECTORY / path).exists()] == []


def test_each_image_that_runs_is_built_and_each_that_is_built_runs(tilt: Tilt) -> None:
    containers = chain.from_iterable(deployment(tilt, name)["containers"] for name in CONTROLLERS)
    assert {each["image"] for each in containers} == set(tilt.images)


@pytest.mark.parametrize("debug", [False, True], ids=["without a debugger", "with a debugger"])
@pytest.mark.parametrize("name", CONTROLLERS)
def test_the_protection_of_the_cluster_is_that_of_the_shipped_manifests(kubectl: Path, name: str, debug: bool) -> None:
    tilt = evaluate(kubectl, debug=debug)
    pod = deployment(tilt, name)
    shipped = next(yaml.safe_load_all((REPOSITORY / f"config/manager/{name}.yaml").read_text()))
    original = shipped["spec"]["template"]["spec"]
    (container,), (original_container,) = pod["containers"], original["containers"]
    assert pod["securityContext"] == original["securityContext"]
    assert container["securityContext"] == original_container["securityContext"] | {"readOnlyRootFilesystem": False}
    assert pod["serviceAccountName"] == original["serviceAccountName"]
    assert container["resources"] == original_container["resources"]
    (replaced, *_), args = original_container["args"], container["args"]
    assert replaced == "--leader-elect"
    assert [arg for arg in args if not arg.startswith("--registries-conf=")] == [
        "--no-leader-elect",
        *original_container["args"][1:],
    ]
    assert {"startupProbe", "livenessProbe"}.isdisjoint(container)
    assert container["readinessProbe"]["httpGet"] == original_container["readinessProbe"]["httpGet"]


def test_the_namespaces_are_restricted(tilt: Tilt) -> None:
    labels = [
        each["metadata"]["labels"] for each in tilt.resources["permissions"].objects if each["kind"] == "Namespace"
    ]
    assert len(labels) == 2
    assert {each["pod-security.kubernetes.io/enforce"] for each in labels} == {"restricted"}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_debug_adds_a_debugger_that_only_a_forwarded_port_reaches(kubectl: Path, tilt: Tilt, name: str) -> None:
    debugged, port = evaluate(kubectl, debug=True), DEBUG_PORTS[name]
    assert debugged.resources[name].ports == tilt.resources[name].ports | {port: port}
    assert deployment(tilt, name)["containers"][0]["command"] == ["sh", "/app/restart.sh", name]
    command = deployment(debugged, name)["containers"][0]["command"]
    assert command[:3] == ["sh", "/app/restart.sh", "python"]
    assert command[command.index("--listen") + 1] == f"127.0.0.1:{port}"
    assert command[-2:] == ["-m", COMPONENTS[name]]
    attached = {each["name"]: each for each in json.loads((DIRECTORY / "launch.json").read_text())["configurations"]}
    assert attached[name]["connect"] == {"host": "127.0.0.1", "port": port}
    (mapping,) = attached[name]["pathMappings"]
    assert mapping["remoteRoot"] == f"/app/lib/python{PYTHON_VERSION}/site-packages"


@pytest.mark.parametrize("name", CONTROLLERS)
def test_only_one_controller_or_its_own_tiltfile_runs_that_one_alone(kubectl: Path, name: str) -> None:
    chosen = evaluate(kubectl, only=[name])
    assert set(chosen.resources) == {*SHARED, name}
    assert set(chosen.images) == {f"olm-suite-{name}"}
    assert chosen.resources[name].deps == SHARED
    alone = evaluate(kubectl, f"{name}.Tiltfile")
    assert alone.resources == chosen.resources
    assert alone.images == chosen.images


def test_the_tiltfile_of_one_controller_runs_no_other(kubectl: Path) -> None:
    with pytest.raises(Exception, match="unknown flags"):
        evaluate(kubectl, "catalogd.Tiltfile", only=["rukpak"])


def test_a_build_sees_every_file_that_an_update_copies_or_that_ends_an_update(tilt: Tilt) -> None:
    """`only` is relative to the context, and the paths of live_update to the Tiltfile: Tilt ignores changes elsewhere."""
    for image in tilt.images.values():
        seen = [DIRECTORY / image.context / path for path in image.only]
        named = [step["local"] for step in image.steps if step["step"] == "sync"]
        named += chain.from_iterable(step["files"] for step in image.steps if step["step"] == "fall_back_on")
        assert len(named) == len(set(named)) > len(CONTROLLERS)
        outside = [
            path
            for path in named
            if not any((DIRECTORY / path).resolve().is_relative_to(each.resolve()) for each in seen)
        ]
        assert outside == []
        assert not [path for path in image.only if set(path) & set("*?[!")], "Tilt takes paths here, and no patterns"


def test_two_controllers_keep_their_order(kubectl: Path) -> None:
    chosen = evaluate(kubectl, only=["operator-controller", "catalogd"])
    assert chosen.resources["operator-controller"].deps == [*SHARED, "catalogd"]


@pytest.mark.parametrize("context", ["kind-olm-suite", "k3d-olm-suite", ""], ids=["kind", "k3d", "no cluster, in CI"])
def test_a_cluster_of_its_own_is_used(kubectl: Path, context: str) -> None:
    evaluate(kubectl, context=context)


@pytest.mark.parametrize("context", ["kind-kind", "minikube", "production", "docker-desktop"])
def test_no_other_cluster_is_touched(kubectl: Path, context: str) -> None:
    with pytest.raises(Exception, match=f"the current context is {context}"):
        evaluate(kubectl, context=context)


def test_an_unknown_controller_is_refused(kubectl: Path) -> None:
    with pytest.raises(Exception, match="--only names katalogd, and the controllers are catalogd, rukpak"):
        evaluate(kubectl, only=["katalogd"])


def test_an_unknown_flag_is_refused(kubectl: Path) -> None:
    with pytest.raises(Exception, match="unknown flags") as refused:
        evaluate(kubectl, onyl=["catalogd"])
    assert isinstance(refused.value, TiltfileError) or "TiltfileError" in str(refused.value)


def test_nothing_runs_while_the_tiltfile_is_evaluated(tilt: Tilt) -> None:
    called = {name for path in DIRECTORY.glob("*Tiltfile") for name in re.findall(r"\b(\w+)\(", path.read_text())}
    assert called & {"local", "helm", "load_remote", "read_json"} == set()
    assert not any("ext://" in path.read_text() for path in DIRECTORY.glob("*Tiltfile"))
    assert tilt.settings["ci_settings"] == {"timeout": "10m", "readiness_timeout": "3m"}
    assert tilt.settings["allow_k8s_contexts"] == ["kind-olm-suite", "k3d-olm-suite"]


def test_the_samples_come_from_the_registry_of_the_cluster(tilt: Tilt) -> None:
    (catalog,) = tilt.resources["samples"].objects
    host, _, name = catalog["spec"]["source"]["image"]["ref"].partition("/")
    command = tilt.resources["sample-images"].command
    registries = (DIRECTORY / "overlay/registries.conf").read_text()
    created, cluster = yaml.safe_load_all((DIRECTORY / "cluster.yaml").read_text())
    assert command[3:] == [f"127.0.0.1:{created['port']}", "config/samples", name, "--host", host]
    assert Catalog(Registry(command[3]), name, host).reference == catalog["spec"]["source"]["image"]["ref"]
    assert f'location = "{host}"' in registries
    assert f'location = "{created["name"]}:5000"' in registries
    assert cluster["registry"] == created["name"]
    assert cluster["name"] in tilt.settings["allow_k8s_contexts"]
    assert set(OPERATORS) == {path.name for path in (REPOSITORY / "config/samples/catalog").iterdir()}


def test_the_buttons(tilt: Tilt) -> None:
    assert {name: (each["text"], each["on"]) for name, each in tilt.buttons.items()} == {
        "apply-samples": ("Apply hello-operator", "nav"),
        "status": ("Show the status of the suite", "nav"),
        "run-unit-tests": ("Run unit tests", "nav"),
        "refresh-samples": ("Check the source of the catalog", "samples"),
    }
    for each in tilt.buttons.values():
        triggered = re.findall(r"tilt trigger (\S+)", " ".join(each["args"]))
        assert set(triggered) <= set(tilt.resources)
        assert "kubectl" not in " ".join(each["args"]) or "kind-olm-suite" in each["args"]
