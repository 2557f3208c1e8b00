"""Applications of Applications and of a Helm chart, two Applications with one Operator, and a project that permits our kinds."""

from __future__ import annotations

import json

import pytest
import yaml

from devcluster.gitops.argocd import NAMESPACE
from devcluster.watch import Object
from tests.gitops.argocd_delivery import NO_WAVES, SERVER, ArgoCdDelivery

pytestmark = pytest.mark.timeout(600)

ENDLESS_RETRY = {"limit": -1, "backoff": {"duration": "2s", "factor": 2, "maxDuration": "10s"}}
NAMESPACED = "can not be managed when in namespaced mode"
CHART = {"apiVersion": "v2", "name": "operators", "version": "0.1.0"}


def test_an_application_of_applications(delivery: ArgoCdDelivery) -> None:
    """Argo CD does not wait between the Applications, so the custom resources are tried until their kinds exist."""
    delivery.publish()
    directories = {"Catalog": "catalog", "Operator": "operators", "Thing": "things"}
    names = {directory: f"{delivery.name}-{directory}" for directory in directories.values()}
    parts = []
    for directory, name in names.items():
        part = delivery.new_application(name, directory, NO_WAVES)
        part["spec"]["syncPolicy"]["retry"] = ENDLESS_RETRY
        parts.append(part)
    files: dict[str, list[Object]] = {"applications/all.yaml": parts}
    for object_ in delivery.objects(NO_WAVES):
        files.setdefault(f"{directories[object_['kind']]}/all.yaml", []).append(object_)
    delivery.push(files)
    delivery.create(delivery.new_application(path="applications"))
    for name in names.values():
        delivery.until_synced_and_healthy(name=name)
    for package in delivery.packages:
        delivery.stage.ready_operator(package, "1.0.0")
        assert delivery.thing_exists(package)

    delivery.delete_application()
    for name in (*names.values(), delivery.name):
        delivery.until_deleted(name=name)
    delivery.until_nothing_is_left()


def test_a_helm_chart(delivery: ArgoCdDelivery) -> None:
    delivery.publish(["1.0.0", "1.1.0"])
    objects = delivery.objects(NO_WAVES, version="{{ .Values.version | quote }}")
    templates = yaml.safe_dump_all(objects).replace("'{{", "{{").replace("}}'", "}}")
    files = {"Chart.yaml": yaml.safe_dump(CHART), "templates/all.yaml": templates}
    delivery.push_text({**files, "values.yaml": "version: 1.0.0\n"})
    delivery.create(delivery.new_application(layout=NO_WAVES, helm={"releaseName": "delivered"}))
    delivery.until_synced_and_healthy()
    delivery.stage.ready_operator(delivery.other, "1.0.0")
    delivery.push_text({**files, "values.yaml": "version: 1.1.0\n"})
    delivery.stage.ready_operator(delivery.other, "1.1.0")
    delivery.until_synced_and_healthy()
    assert "Degraded" not in {health.status for health in delivery.healths}, delivery.healths


def test_an_operator_in_two_applications_stays_with_the_first(delivery: ArgoCdDelivery) -> None:
    """With FailOnSharedResource; without it both would take it from each other, and the deletion of one deletes it."""
    delivery.publish()
    objects = delivery.objects(NO_WAVES)
    (shared,) = [each for each in objects if each["metadata"]["name"] == delivery.other]
    delivery.push({"first/all.yaml": objects, "second/all.yaml": [shared]})
    delivery.create(delivery.new_application(path="first", layout=NO_WAVES))
    delivery.until_synced_and_healthy()
    before = delivery.stage.get("Operator", delivery.other)["metadata"]

    name = f"{delivery.name}-2"
    second = delivery.new_application(name, "second")
    second["spec"]["syncPolicy"]["syncOptions"] = ["FailOnSharedResource=true"]
    delivery.create(second)
    failed = delivery.until("fails", lambda found: "is part of" in sync_message(found), name=name)
    assert f"Operator/{delivery.other} is part of applications" in sync_message(failed)
    delivery.delete_application(name)
    delivery.terminate(name)
    delivery.until_deleted(name=name)
    after = delivery.stage.get("Operator", delivery.other)["metadata"]
    assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])
    assert "deletionTimestamp" not in after
    delivery.until_synced_and_healthy()


def test_a_project_permits_the_kinds_of_the_cluster(delivery: ArgoCdDelivery) -> None:
    """Without clusterResourceWhitelist a project permits no object without a namespace."""
    delivery.publish()
    delivery.push({"all.yaml": delivery.objects(NO_WAVES)})
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": delivery.name, "namespace": NAMESPACE},
        "spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}]},
    }
    kubectl = delivery.stage.cluster.kubectl
    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(project))
    application = delivery.new_application(layout=NO_WAVES)
    application["spec"]["project"] = delivery.name
    try:
        delivery.create(application)
        refused = delivery.until("is refused", lambda found: "not permitted" in sync_message(found))
        assert f"is not permitted in project {delivery.name}" in sync_message(refused)
        project["spec"]["clusterResourceWhitelist"] = [
            {"group": "catalogd.operatorframework.io", "kind": "Catalog"},
            {"group": "operators.operatorframework.io", "kind": "Operator"},
        ]
        kubectl("apply", "--server-side", "-f", "-", input=json.dumps(project))
        delivery.sync()
        delivery.until_synced_and_healthy()
    finally:
        delivery.close_applications()
        kubectl("delete", "appproject", delivery.name, f"--namespace={NAMESPACE}")


def test_an_argo_cd_of_some_namespaces_refuses_our_kinds(delivery: ArgoCdDelivery) -> None:
    """The Secret of the cluster restricts it."""
    delivery.publish()
    delivery.push({"all.yaml": delivery.objects(NO_WAVES)})
    kubectl = delivery.stage.cluster.kubectl
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "this-cluster",
            "namespace": NAMESPACE,
            "labels": {"argocd.argoproj.io/secret-type": "cluster"},
        },
        "stringData": {"name": "in-cluster", "server": SERVER, "namespaces": "default", "config": "{}"},
    }
    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(secret))
    try:
        delivery.create(delivery.new_application(layout=NO_WAVES))
        delivery.until("is refused", lambda found: NAMESPACED in messages(found))
    finally:
        kubectl("delete", "secret", "this-cluster", f"--namespace={NAMESPACE}")


def messages(application: Object) -> str:
    """What its conditions say."""
    return " ".join(each["message"] for each in (application.get("status") or {}).get("conditions") or ())


def sync_message(application: Object) -> str:
    """The message of its last sync, and those of its objects."""
    operation = (application.get("status") or {}).get("operationState") or {}
    resources = (operation.get("syncResult") or {}).get("resources") or ()
    return " ".join([operation.get("message", ""), *(each.get("message", "") for each in resources)])
