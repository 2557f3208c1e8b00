"""`olm migrate v1` against the API server, with objects as OLM v1 leaves them. No controller runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmctl.commands import CommandError
from olmctl.migration.changes import change
from olmctl.migration.v1.objects import MARK, MARKS, installation_of
from olmctl.migration.v1.plan import make_plan
from olmctl.migration.v1.read import owned_objects, read_olm_v1
from olmctl.migration.v1.removal import Removal, is_removing
from olmctl.operators.retrying_client import RetryingClient
from olmctl.questions.session import Session
from olmkit.api import clusterextensions, operators
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.meta import controller_reference
from olmkit.api.operators import MIGRATIONS_ANNOTATION, REPLICAS_ANNOTATION
from tests.cluster.olmctl.conftest import Desk
from tests.e2e.packages import definition, service_version
from tests.olm_v1 import COMPONENTS, MANAGER, NAMESPACE, ROLES, SECRETS, Object, OlmV1, extension, install

KINDS = "serviceaccounts,deployments,clusterroles,clusterrolebindings,customresourcedefinitions"


@pytest.fixture(scope="module")
def olm(cluster: Cluster, definitions: Cluster) -> Iterator[OlmV1]:
    mine = OlmV1(cluster)
    try:
        mine.install()
        yield mine
    finally:
        mine.close()


def installed_objects(cluster: Cluster, name: str) -> list[Object]:
    selector = f"olm.operatorframework.io/owner-name={name}"
    shown = cluster.kubectl("get", KINDS, "-A", "-l", selector, "-o", "json", "--show-managed-fields")
    found: list[Object] = json.loads(shown)["items"]
    return found


def marks_of(obj: Object) -> Object:
    return {name: obj["metadata"].get(name) for name in ("labels", "annotations", "ownerReferences")}


def forget(cluster: Cluster, *made: Object) -> None:
    """Delete ClusterExtensions as if no controller had to do something before."""
    for each in made:
        name = each["metadata"]["name"]
        patch = '{"metadata":{"finalizers":null}}'
        cluster.kubectl("patch", "clusterextension", name, "--type=merge", "-p", patch)
        cluster.kubectl("delete", "clusterextension", name)


async def take_and_return(cluster: Cluster, made: Object) -> tuple[list[Object], list[Object]]:
    """The objects of a ClusterExtension after they were taken, and after they were given back."""
    installation, results = installation_of(made), []
    async with RetryingClient(str(cluster.kubeconfig)) as client:
        session = Session(client, "olm-suite-system")
        for patch_of in (installation.detached, lambda obj: MARKS.restored(obj, {installation.uid})):
            objects = (await owned_objects(session, [installation]))[installation.name]
            for each in objects:
                await change(session, each.kind, each.obj, patch_of)
            results.append(installed_objects(cluster, installation.name))
    return results[0], results[1]


def test_what_olm_v1_has_installed_is_taken_from_it_and_given_back(cluster: Cluster, olm: OlmV1) -> None:
    made = install(olm, service_version("v1-taken"), definition("v1-taken"), "v1-taken-ns")
    before = installed_objects(cluster, "v1-taken")
    taken, returned = asyncio.run(take_and_return(cluster, made))
    assert [each["kind"] for each in taken] == [each["kind"] for each in before]
    for each in taken:
        metadata = each["metadata"]
        assert (metadata.get("ownerReferences"), metadata["labels"][MARK]) == (None, "v1-taken")
        assert "meta.helm.sh/release-name" not in metadata["annotations"]
        (helm,) = (one for one in metadata["managedFields"] if one["manager"] == MANAGER and "subresource" not in one)
        is_deployment = each["kind"] == "Deployment"
        assert [*helm["fieldsV1"]] == ["f:metadata", *["f:spec"] * is_deployment]
        assert [*helm["fieldsV1"].get("f:spec", ())] == ["f:template"] * is_deployment
        assert (KEEP_TEMPLATE_ANNOTATION in metadata["annotations"]) == is_deployment
    assert [marks_of(each) for each in returned] == [marks_of(each) for each in before]
    forget(cluster, made)


def test_the_plan_is_printed_and_nothing_is_undone_that_has_not_begun(desk: Desk, olm: OlmV1) -> None:
    planned = install(olm, service_version("v1-planned"), definition("v1-planned"), "v1-planned-ns")
    empty = olm.create(clusterextensions.KIND, extension("v1-empty", bundle=""))
    status, out, _ = desk.olm("migrate", "v1")
    rows = [line.split() for line in out.splitlines()]
    assert status == 0
    assert [*["v1-planned"] * 3, "1.0.0", "v1-planned-ns", "5", "yes"] in rows
    assert "nothing is installed: the suite serves it from its spec" in out
    assert "secret" not in out
    assert desk.olm("migrate", "v1", "--undo")[0] == 3
    status, _, error = desk.olm("migrate", "v1", "--all", "--yes")
    assert (status, "the controllers of OLM v1 run" in error) == (5, True)
    forget(desk.cluster, planned, empty)


def test_nothing_is_given_back_when_the_deletion_has_begun(cluster: Cluster, desk: Desk, olm: OlmV1) -> None:
    notes = {"annotations": {REPLICAS_ANNOTATION: "1", MIGRATIONS_ANNOTATION: "removing"}}
    patch = json.dumps({"metadata": notes, "spec": {"replicas": 0}})
    cluster.kubectl("patch", "deployment/catalogd-controller-manager", "-n", NAMESPACE, "--type=merge", "-p", patch)

    async def found() -> bool:
        async with RetryingClient(str(cluster.kubeconfig)) as client:
            return is_removing(await read_olm_v1(Session(client, "olm-suite-system")))

    assert asyncio.run(found())
    status, _, error = desk.olm("migrate", "v1", "--undo")
    assert status == 5
    assert "nothing can be given back to it; `olm migrate v1 --all` continues" in error


def moved(olm: OlmV1, made: Object) -> None:
    """Leave the Operator that has taken over what is installed for the ClusterExtension."""
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    metadata: Object = {
        **{"name": name, "labels": {MARK: name}, "annotations": {MARK: f"{name}.v1.0.0 1.0.0"}},
        "ownerReferences": [controller_reference(clusterextensions.KIND, name, uid)],
    }
    spec = {"packageName": name, "install": {"namespace": "lamps", "adoptionPolicy": "IfUnowned"}}
    installed = {"installed": {"name": f"{name}.v1.0.0", "version": "1.0.0"}}
    olm.create(operators.KIND, {"metadata": metadata, "spec": spec, "status": installed})


def part_of_release(cluster: Cluster, olm: OlmV1, name: str) -> None:
    """Leave another Secret of a release."""
    release = json.loads(cluster.kubectl("get", "secret", "-n", NAMESPACE, name, "-o", "json"))
    reference = {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": release["metadata"]["uid"]}
    labels = {"owner": MANAGER, "type": "chunk"}
    metadata = {"name": "part", "namespace": NAMESPACE, "labels": labels, "ownerReferences": [reference]}
    olm.create(SECRETS, {"metadata": metadata})


async def remove(cluster: Cluster) -> None:
    async with RetryingClient(str(cluster.kubeconfig)) as client:
        session = Session(client, "olm-suite-system")
        found = await read_olm_v1(session)
        await Removal(session, found, make_plan(found)).run()


def test_what_olm_v1_consists_of_is_deleted_and_nothing_that_it_has_installed(
    cluster: Cluster, olm: OlmV1, capsys: pytest.CaptureFixture[str]
) -> None:
    made = install(olm, service_version("v1-moved"), definition("v1-moved"), "v1-moved-ns")
    part_of_release(cluster, olm, "sh.helm.release.v1.v1-moved.v1")
    olm.create(SECRETS, {"metadata": {"name": "pull", "namespace": NAMESPACE}})
    moved(olm, made)
    cluster.kubectl("label", "clusterrole", "-l", "olm.operatorframework.io/owner-name=v1-moved", f"{MARK}=v1-moved")
    notes = json.dumps({"metadata": {"annotations": {REPLICAS_ANNOTATION: "1"}}, "spec": {"replicas": 0}})
    for component in COMPONENTS:
        deployment = f"deployment/{component}-controller-manager"
        cluster.kubectl("patch", deployment, "-n", NAMESPACE, "--type=merge", "-p", notes)
    before = {each["kind"]: each["metadata"]["uid"] for each in installed_objects(cluster, "v1-moved")}

    other = olm.create(clusterextensions.KIND, extension("v1-other"))
    with pytest.raises(CommandError, match="ClusterExtension v1-other is not taken over: nothing of OLM v1 is deleted"):
        asyncio.run(remove(cluster))
    forget(cluster, other)
    asyncio.run(remove(cluster))

    after = installed_objects(cluster, "v1-moved")
    assert {each["kind"]: each["metadata"]["uid"] for each in after} == before
    assert not any(MARK in each["metadata"].get("labels", {}) for each in after)
    assert f"{ROLES.kind} " in capsys.readouterr().err
    rest: Any = json.loads(cluster.kubectl("get", "deployments,secrets", "-n", NAMESPACE, "-o", "json"))["items"]
    controllers = {f"{component}-controller-manager" for component in COMPONENTS}
    own = {"pull", "part", "sh.helm.release.v1.v1-moved.v1", *controllers}
    assert {each["metadata"]["name"] for each in rest} & own == {"pull"}
    bindings = cluster.kubectl("get", "clusterrolebindings", "-l", "app.kubernetes.io/part-of=olm", "-o", "name")
    assert bindings == ""
    found = json.loads(cluster.kubectl("get", "clusterextension", "v1-moved", "-o", "json"))
    assert found["metadata"].get("finalizers") is None
    operator = json.loads(cluster.kubectl("get", "operators.operators.operatorframework.io", "v1-moved", "-o", "json"))
    assert operator["spec"]["install"] == {"namespace": "lamps"}
    assert MARK not in json.dumps(operator["metadata"])
