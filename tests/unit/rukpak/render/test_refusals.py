"""What is refused of a bundle that upstream renders: in its files, and as it is rendered."""

from __future__ import annotations

import pytest

from rukpak.format import BadBundle, PlainBundle, read_registry
from rukpak.render.refusals import applicable, check_files
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak.builders import Body, csv, deployment, files


@pytest.mark.parametrize("version", ["1.0", "3.2.001", "v1.1.1-57"])
def test_the_version_of_a_csv_is_a_semantic_version(version: str) -> None:
    bundle = read_registry(files(csv(version=version)))
    error = f'ClusterServiceVersion things.v1.0.0: spec.version "{version}" is not a semantic version'
    with pytest.raises(BadBundle, match=error):
        check_files(bundle)
    with pytest.raises(BadBundle, match=error):
        applicable(bundle, render(bundle, RenderOptions("a")))


def test_a_bundle_with_and_without_a_version_is_taken() -> None:
    check_files(read_registry(files(csv())))
    check_files(read_registry(files(csv(version="1.0.0-rc.1+2"))))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"instal": {"strategy": "deployment", "spec": {"deployments": [deployment()]}}}, id="no install"),
        pytest.param({"install": {"strategy": "deployment"}}, id="no install.spec"),
        pytest.param({"install": {"strategy": "deployment", "spec": {"permissions": []}}}, id="no deployments"),
    ],
)
def test_a_csv_names_its_deployments(spec: Body) -> None:
    body = csv()
    del body["spec"]["install"]
    body["spec"].update(spec)
    bundle = read_registry(files(body))
    error = "ClusterServiceVersion things.v1.0.0: spec.install.spec.deployments is missing"
    with pytest.raises(BadBundle, match=error):
        check_files(bundle)
    with pytest.raises(BadBundle, match=error):
        applicable(bundle, render(bundle, RenderOptions("a")))


def test_a_csv_may_have_an_empty_list_of_deployments() -> None:
    check_files(read_registry(files(csv(install={"deployments": []}))))


def test_repeated_items_are_found_in_the_files_and_as_rendered() -> None:
    ports = [{"containerPort": 1, "name": "a"}, {"containerPort": 1, "name": "b"}]
    container = {"name": "c", "image": "i", "ports": ports}
    one = deployment(containers=[container])
    bundle = read_registry(files(csv(install={"deployments": [one]})))
    with pytest.raises(BadBundle, match=r"containers\[c\]\.ports has 1/TCP twice"):
        check_files(bundle)
    with pytest.raises(BadBundle, match=r"Deployment.apps a/manager: .*ports has 1/TCP twice"):
        applicable(bundle, render(bundle, RenderOptions("a")))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    with pytest.raises(BadBundle, match=r"Pod p: spec\.containers\[c\]\.ports has 1/TCP twice"):
        check_files(PlainBundle((pod,)))
