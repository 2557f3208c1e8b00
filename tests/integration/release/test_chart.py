"""The pods, the PodDisruptionBudgets and the permissions that the real helm renders. tests/release has the other tests of the
chart."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from olmctl.suite.manifests import load_manifests
from olmkit.api.crd import operator_condition_definition
from release.chart import KEEP, chart_files, write_chart
from release.kustomization import objects_of
from release.least_privilege import DIRECTORY, least_privilege
from release.suite import CONFIG
from tests.hardened_pods import Object, faults, pod_count
from tests.integration.release.test_kustomization import by_name, objects_of_kubectl

CONTROLLERS = {"catalogd": "catalogd", "rukpak": "rukpak", "operatorController": "operator-controller"}


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manifests = load_manifests("registry.example.com/olm-suite:v1")
    files = chart_files(manifests, objects_of(CONFIG / "prometheus"))
    return write_chart(tmp_path_factory.mktemp("chart"), manifests, files)


def _render(program: Path, chart: Path, *values: str) -> list[Object]:
    flags = [flag for value in values for flag in ("--set-json", value)]
    command = [
        str(program),
        "template",
        "any",
        str(chart),
        "--namespace=olm-suite-system",
        "--kube-version=1.34.0",
        *flags,
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [each for each in yaml.safe_load_all(text) if each]


def test_the_crd_of_operator_conditions_is_rendered_on_request(helm_program: Path, chart: Path) -> None:
    definition = operator_condition_definition()
    found = [
        [
            each
            for each in _render(helm_program, chart, *values)
            if each["metadata"]["name"] == definition["metadata"]["name"]
        ]
        for values in ((), ("operatorConditions.enabled=true",))
    ]
    kept = {**definition["metadata"], "annotations": {"helm.sh/resource-policy": "keep"}}
    assert found == [[], [{**definition, "metadata": kept}]]


def test_the_kinds_of_olm_v1_are_rendered_on_request(helm_program: Path, chart: Path) -> None:
    without = by_name(map(dict, _render(helm_program, chart)))
    rendered = by_name(map(dict, _render(helm_program, chart, "v1.enabled=true")))
    manifests = load_manifests()
    kept = [{**each, "metadata": {**each["metadata"], "annotations": KEEP}} for each in manifests.v1_crds]
    assert {key: each for key, each in rendered.items() if key not in without} == by_name([*kept, *manifests.v1])


@pytest.mark.parametrize("count", [None, 1, 2, 3], ids=["the default", "one", "two", "three"])
def test_pods_are_restricted_and_replicas_have_a_disruption_budget(
    helm_program: Path, chart: Path, count: int | None
) -> None:
    rendered = _render(helm_program, chart, *(f"{key}.replicas={count}" for key in CONTROLLERS if count))
    assert (faults(rendered), pod_count(rendered)) == ([], len(CONTROLLERS))
    budgets = {
        each["metadata"]["name"]: each["spec"]["selector"]["matchLabels"]
        for each in rendered
        if each["kind"] == "PodDisruptionBudget"
    }
    expected = {None: {"catalogd"}, 1: set[str]()}.get(count, set(CONTROLLERS.values()))
    assert budgets == {name: {"app.kubernetes.io/name": name} for name in expected}


def test_with_few_permissions_it_is_the_overlay_of_config(
    helm_program: Path, chart: Path, cluster_programs: Path
) -> None:
    """The chart has the objects that kubectl prints for config/least-privilege, and its CRDs."""
    overlay = objects_of_kubectl(cluster_programs, CONFIG / "least-privilege")
    del overlay[("Namespace", "", "olm-suite-system")]
    (image,) = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in overlay.values() if is_pod(each)}
    repository, _, tag = image.rpartition(":")
    set_image = f"image={json.dumps({'repository': repository, 'tag': tag, 'digest': ''})}"
    rendered = by_name(map(dict, _render(helm_program, chart, "leastPrivilege=true", set_image)))
    crds = [key for key, each in rendered.items() if each["metadata"].get("annotations") == KEEP]
    assert {key: each for key, each in rendered.items() if key not in crds} == overlay
    assert {key[0] for key in crds} == {"CustomResourceDefinition"}
    plain = by_name(map(dict, _render(helm_program, chart, set_image)))
    assert {key for key in rendered if key not in crds and rendered[key] != plain.get(key)} == {
        ("ClusterRole", "", "olm-suite-rukpak"),
        ("Deployment", "olm-suite-system", "rukpak"),
        *(by_name(least_privilege().objects)),
    }


def is_pod(obj: Object) -> bool:
    return bool(obj["kind"] == "Deployment")


def test_an_overlay_that_changes_more_is_refused(tmp_path: Path) -> None:
    shutil.copytree(DIRECTORY, tmp_path / "least-privilege")
    path = tmp_path / "least-privilege" / "kustomization.yaml"
    spec = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**spec, "namePrefix": "my-"}))
    with pytest.raises(ValueError, match="knows resources and patches"):
        least_privilege(tmp_path / "least-privilege")
