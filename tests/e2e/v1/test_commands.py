"""What people and GitOps tools do with objects of OLM v1 besides installing: they wait, apply again, and choose odd names."""

from __future__ import annotations

import os
import re

import pytest

from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, NAMESPACES, OPERATORS
from olmctl.operators.diff import DIFFERENT
from tests.conditions import triple
from tests.e2e.stage import CLUSTER_CATALOGS, CLUSTER_EXTENSIONS
from tests.e2e.v1.bundles import Entry, bundle_name
from tests.e2e.v1.scene import Scene, installed_bundle
from tests.forked_programs import ForkedOlm

pytestmark = pytest.mark.v1

VERSIONS = (Entry("1.0.0"),)
TWO_VERSIONS = (*VERSIONS, Entry("1.1.0", replaces="1.0.0"))


def test_kubectl_wait_returns_when_it_is_installed_and_when_it_is_gone(scene: Scene) -> None:
    scene.create_namespace()
    reference = scene.push(VERSIONS)
    scene.catalogs["test"] = scene.name
    scene.refer(reference)
    scene.apply(scene.extension())
    kubectl = scene.cluster.run_kubectl
    kubectl("wait", "--for=condition=Serving=True", f"clustercatalog/{scene.name}", "--timeout=60s")
    kubectl("wait", "--for=condition=Installed", f"clusterextension/{scene.name}", "--timeout=60s")
    assert scene.read(scene.objects["Deployment"]) is not None
    kubectl("delete", f"clusterextension/{scene.name}", "--wait=false")
    kubectl("wait", "--for=delete", f"clusterextension/{scene.name}", "--timeout=60s")
    assert scene.read(scene.objects["Deployment"]) is None


def test_an_object_that_is_applied_again_is_not_written_again(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog(VERSIONS)
    extension = scene.extension()
    scene.kubectl_apply(extension)
    installed = scene.rolled_out("1.0.0")
    operator = scene.cluster.api.call("GET", f"{OPERATORS}/{scene.name}")
    assert scene.kubectl_apply(extension).stdout.strip().endswith("unchanged")
    # A pass of each controller, which another object announces.
    scene.cluster_catalog([Entry("9.0.0")], "other", team="others")
    for path, before in ((CLUSTER_EXTENSIONS, installed), (OPERATORS, operator)):
        after = scene.cluster.api.call("GET", f"{path}/{scene.name}")
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"], path


def test_the_order_in_which_catalog_and_extension_are_applied_does_not_matter(scene: Scene) -> None:
    scene.create_namespace()
    scene.catalogs["test"] = f"test-{scene.name}"
    scene.apply(scene.extension())
    sentence = f'no bundles found for package "{scene.package}"'
    assert scene.reports("Progressing", "True", "Retrying") == sentence
    scene.cluster_catalog(VERSIONS)
    scene.rolled_out("1.0.0")


def test_a_catalog_that_never_serves_stops_no_extension(scene: Scene) -> None:
    scene.create_namespace()
    scene.catalogs["broken"] = f"broken-{scene.name}"
    scene.refer(f"{scene.cluster.registry}/catalogs/{scene.name}:none", "broken")
    message = triple(
        scene.until(
            CLUSTER_CATALOGS,
            "it is retried",
            lambda found: (
                one
                if (one := found.get(scene.catalogs["broken"])) and triple(one, "Progressing")[1] == "Retrying"
                else None
            ),
        ),
        "Progressing",
    )[2]
    assert message.startswith("source catalog content: ")
    scene.cluster_catalog(VERSIONS)
    scene.apply(scene.extension(selector={}))
    scene.rolled_out("1.0.0")


def test_labels_of_a_clustercatalog_come_and_go_on_its_catalog(scene: Scene) -> None:
    name = scene.cluster_catalog(VERSIONS, team="red")
    assert scene.cluster.api.call("GET", f"{CATALOGS}/{name}")["metadata"]["labels"]["team"] == "red"
    scene.cluster.kubectl("label", "clustercatalog", name, "team-")
    scene.until(CATALOGS, "the label is gone", lambda found: "team" not in found[name]["metadata"]["labels"])


def test_a_package_with_a_dot_is_installed_by_an_extension_with_dots_into_default(scene: Scene) -> None:
    scene.package, scene.namespace = f"{scene.name}.io", "default"
    scene.cluster_catalog(VERSIONS)
    scene.name = f"{scene.name}.v1.io"
    found = scene.install()
    assert installed_bundle(found) == (bundle_name(scene.package, "1.0.0"), "1.0.0")
    scene.delete("ClusterExtension", scene.name)
    default = scene.cluster.api.call("GET", f"{NAMESPACES}/default")
    assert [label for label in default["metadata"]["labels"] if "rukpak" in label] == []


def test_a_long_name_has_an_operator_with_a_short_one(scene: Scene, forked_olm: ForkedOlm) -> None:
    scene.create_namespace()
    scene.cluster_catalog(TWO_VERSIONS)
    extension = scene.extension(version="1.0.0")
    name = extension["metadata"]["name"] = f"{scene.name}.{'x' * 200}"
    scene.apply(extension)
    scene.until(CLUSTER_EXTENSIONS, "it is installed", lambda found: triple(found.get(name), "Installed")[0] == "True")
    owners = {
        each["metadata"]["name"]: [owner["name"] for owner in each["metadata"].get("ownerReferences") or ()]
        for each in scene.cluster.api.call("GET", OPERATORS)["items"]
    }
    (operator,) = (each for each, names in owners.items() if names == [name])
    assert len(operator) <= 45
    deployment = scene.read(scene.objects["Deployment"])
    assert deployment is not None
    assert len(deployment["metadata"]["labels"]["olm.operatorframework.io/owner-name"]) <= 63
    check_commands(scene, forked_olm, name, operator)


def check_commands(scene: Scene, olm: ForkedOlm, name: str, operator: str) -> None:
    """The commands of olm find the Operator by the name of its ClusterExtension."""

    def printed(*arguments: str, status: int = 0) -> str:
        environment = {**os.environ, "KUBECONFIG": str(scene.cluster.kubeconfig)}
        done = olm.run(*arguments, environment=environment)
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done.stdout

    assert f"Operator:    {operator}\nBelongs to:  ClusterExtension {name}\n" in printed("why", name)
    shown = {f"Operator/{operator}", f"Deployment/{scene.namespace}/{scene.package}"}
    assert shown <= set(printed("tree", name).split())
    registry = ("--registries-conf", str(scene.cluster.registries_conf), "--allow-source-cidr", "127.0.0.0/8")
    difference = printed("diff", name, "1.1.0", "--full", *registry, status=DIFFERENT)
    assert difference.startswith(f"# {operator}: 1.0.0 -> 1.1.0\n")
    assert {bundle_name(scene.package, each.version) for each in TWO_VERSIONS} <= set(
        re.findall(rf"{scene.package}\.[0-9.]+[0-9]", printed("graph", name))
    )


def test_what_an_orphaned_extension_has_installed_stays(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog(VERSIONS)
    scene.install()
    scene.also_delete("Operator", scene.name)
    uid = scene.cluster.api.call("GET", scene.objects["Deployment"])["metadata"]["uid"]
    scene.cluster.run_kubectl("delete", f"clusterextension/{scene.name}", "--cascade=orphan", "--timeout=60s")
    operator = scene.ready_operator(scene.name, "1.0.0")
    assert not operator["metadata"].get("ownerReferences")
    assert scene.cluster.api.call("GET", scene.objects["Deployment"])["metadata"]["uid"] == uid


def test_an_operator_that_is_handed_over_keeps_what_it_has_installed(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog(VERSIONS)
    scene.operator(scene.package, scene.name, channel="beta", install={"namespace": scene.namespace})
    scene.ready_operator(scene.name, "1.0.0")
    uid = scene.cluster.api.call("GET", scene.objects["Deployment"])["metadata"]["uid"]
    scene.apply(scene.extension())
    blocked = scene.until(
        CLUSTER_EXTENSIONS,
        "it is blocked",
        lambda found: (
            one if (one := found.get(scene.name)) and triple(one, "Progressing")[:2] == ("False", "Blocked") else None
        ),
    )
    assert triple(blocked, "Progressing")[2].startswith(
        f'Operator "{scene.name}" exists and does not belong to this ClusterExtension: '
    )
    annotation = f"operators.operatorframework.io/adopt-for={scene.name}"
    scene.cluster.kubectl("annotate", "operators.operators.operatorframework.io", scene.name, annotation)
    scene.rolled_out("1.0.0")
    assert scene.cluster.api.call("GET", scene.objects["Deployment"])["metadata"]["uid"] == uid
    scene.delete("ClusterExtension", scene.name)
    assert scene.read(f"{BUNDLE_DEPLOYMENTS}/{scene.name}") is None
