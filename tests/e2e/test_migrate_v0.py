"""`olm migrate v0` on a cluster with an operator of OLM v0: it is moved, given back, and interrupted after each write."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from olmctl.commands import NOT_FOUND
from olmctl.main import main
from olmctl.migration.command import migrate_v0
from olmctl.migration.marks import MARK, is_being_removed
from olmctl.questions.operator_state import is_terminating
from olmctl.questions.session import Session
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from tests.cluster.conftest import await_allowed
from tests.e2e.killed_commands import killed_again_and_again
from tests.e2e.packages import (
    Files,
    catalog_file,
    definition,
    group,
    labels,
    package_blobs,
    push_bundle,
    service_version,
)
from tests.e2e.stage import Stage
from tests.olm_v0 import OlmV0, Package, install

pytestmark = pytest.mark.timeout(600)

Object = dict[str, Any]
CUSTOM_RESOURCES = 1_000
CONFIG = {
    "env": [{"name": "COLOUR", "value": "warm"}],
    "resources": {"limits": {"memory": "64Mi"}},
    "tolerations": [{"key": "old", "operator": "Exists"}],
}
RULES = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]


def bundle_of(name: str, version: str = "1.0.0", *, with_webhook: bool = False) -> tuple[Object, Object]:
    """The ClusterServiceVersion of a package, with what OLM v0 and rukpak render in different ways, and a ConfigMap."""
    found = service_version(name, version)
    found["metadata"]["annotations"] = {"alm-examples": "[]", "support": "by us"}
    found["spec"]["installModes"] = [{"type": kind, "supported": True} for kind in ("OwnNamespace", "AllNamespaces")]
    install = found["spec"]["install"]["spec"]
    install["permissions"] = [{"serviceAccountName": name, "rules": RULES}]
    template = install["deployments"][0]["spec"]["template"]
    template["metadata"]["annotations"] = {"support": "by the template", "kept": "yes"}
    template["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    template["spec"]["containers"][0]["env"] = [{"name": "NAME", "value": name}]
    if version != "1.0.0":
        template["spec"]["containers"][0]["env"].append({"name": "NEWER", "value": "yes"})
    if with_webhook:
        hook = {
            **{"type": "ValidatingAdmissionWebhook", "generateName": f"vthing.{group(name)}", "deploymentName": name},
            **{"containerPort": 443, "targetPort": 9443, "webhookPath": "/validate", "failurePolicy": "Ignore"},
            **{"sideEffects": "None", "admissionReviewVersions": ["v1"]},
        }
        rule = {"apiGroups": [group(name)], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
        found["spec"]["webhookdefinitions"] = [{**hook, "rules": [rule]}]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-config"}, "data": {"a": "b"}}
    return found, config


def files_of(name: str, version: str = "1.0.0", *, with_webhook: bool = False) -> Files:
    found, config = bundle_of(name, version, with_webhook=with_webhook)
    manifests = {"csv": found, "crd": definition(name), "config": config}
    files = {f"manifests/{part}.yaml": json.dumps(body).encode() for part, body in manifests.items()}
    return {**files, "metadata/annotations.yaml": json.dumps({"annotations": labels(name)}).encode()}


class Site:
    """A package of OLM v0 on the cluster, and the command."""

    def __init__(self, stage: Stage, olm: OlmV0, name: str, **options: Any) -> None:
        self.stage, self.olm, self.name, self.namespace = stage, olm, name, f"{name}-ns"
        self.with_webhook = bool(options.pop("with_webhook", False))
        self.images = {"1.0.0": self.push("1.0.0")}
        self.publish()
        version, config = bundle_of(name, with_webhook=self.with_webhook)
        image = stage.repository().reference
        self.package = Package(
            name, version, definition(name), self.namespace, image, self.images["1.0.0"], others=[config], **options
        )
        self.uid = install(olm, self.package)
        stage.cluster.kubectl("-n", self.namespace, "rollout", "status", f"deployment/{name}", "--timeout=60s")
        stage.also_delete("Operator", name)
        stage.also_delete("Catalog", f"{name}-catalog")

    def push(self, version: str) -> str:
        return push_bundle(self.stage, self.name, files_of(self.name, version, with_webhook=self.with_webhook), version)

    def publish(self) -> None:
        self.stage.repository().push_files(catalog_file(package_blobs(self.name, self.images)))

    def run(self, *arguments: str) -> int:
        return main(["migrate", "v0", *arguments, "--kubeconfig", str(self.stage.cluster.kubeconfig)])

    def get(self, *what: str) -> Any:
        return json.loads(self.stage.cluster.kubectl("get", *what, "-o", "json", "-n", self.namespace))

    def names(self, *what: str) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.get(*what)["items"])

    def pods(self) -> dict[str, str]:
        return {each["metadata"]["uid"]: each["metadata"]["name"] for each in self.get("pods")["items"]}

    def template(self) -> Object:
        found: Object = self.get("deployment", self.name)["spec"]["template"]
        return found

    def create_things(self, number: int) -> None:
        """Custom resources with a finalizer, which nobody removes."""
        for index in range(number):
            metadata = {"name": f"thing-{index}", "finalizers": ["example.com/never"]}
            body = {"apiVersion": f"{group(self.name)}/v1", "kind": "Thing", "metadata": metadata, "spec": {"n": index}}
            path = f"/apis/{group(self.name)}/v1/namespaces/{self.namespace}/things"
            self.stage.cluster.api.call("POST", path, body)

    def things(self) -> dict[str, str]:
        """The custom resources as they are: name -> uid, resourceVersion and deletionTimestamp."""
        listed = self.get(f"things.{group(self.name)}")["items"]
        facts = ("uid", "resourceVersion", "deletionTimestamp")
        return {each["metadata"]["name"]: str([each["metadata"].get(fact) for fact in facts]) for each in listed}

    def close(self) -> None:
        found = self.stage.cluster.api.request("GET", f"/apis/{group(self.name)}/v1/things")[1]
        for each in found.get("items") or ():
            path = f"/apis/{group(self.name)}/v1/namespaces/{each['metadata']['namespace']}/things/{each['metadata']['name']}"
            patch = {"metadata": {"finalizers": None}}
            self.stage.cluster.api.request("PATCH", path, patch, "application/merge-patch+json")


@pytest.fixture(scope="module")
def olm(cluster: Cluster, suite: Suite) -> Iterator[OlmV0]:
    if not cluster.is_managed:
        pytest.skip("the cluster of the user may have an OLM v0 of its own")
    mine = OlmV0(cluster)
    try:
        mine.install()
        yield mine
    finally:
        mine.close()


def killed(site: Site, seen: set[str], on_kill: Callable[[], None] = lambda: None, **options: Any) -> int:
    """Run the command until it ends by itself; returns how often it was killed, each time after one write."""
    usual = {"packages": (site.name,), "is_all": False, "dry_run": False, "output": None, "catalogs": (), "stops": True}
    more = {"is_held": False, "is_undo": False, "removes_sources": False, "is_confirmed": True, "seconds": 60.0}

    async def command(session: Session) -> None:
        await migrate_v0.__wrapped__(session, **{**usual, **more, **options})  # type: ignore[attr-defined]

    last = NOT_FOUND if "is_undo" in options else 0
    return killed_again_and_again(site.stage.cluster.kubeconfig, command, seen, on_kill, last)


def replicas_of_controllers(stage: Stage) -> list[int]:
    listed = json.loads(stage.cluster.kubectl("get", "deployments", "-n", "olm", "-o", "json"))["items"]
    return [each["spec"]["replicas"] for each in listed]


def check_nothing_is_left(site: Site) -> None:
    """Nothing of OLM v0, and no mark of the migration."""
    for kind in ("subscriptions", "clusterserviceversions", "installplans", "operatorgroups", "catalogsources"):
        assert site.names(f"{kind}.operators.coreos.com") == []
    own = json.dumps(site.get("roles,rolebindings,deployments,serviceaccounts,services,secrets,configmaps"))
    assert [word for word in ("olm.owner", "olm.managed", "operators.coreos.com/v1alpha1", MARK) if word in own] == []
    owned = f"olm.owner={site.package.version_name}"
    assert site.names("validatingwebhookconfigurations,clusterroles,clusterrolebindings", "-l", owned) == []
    assert replicas_of_controllers(site.stage) == [1, 1]


def check_upgrade(site: Site) -> None:
    """The pods of the next version have what the bundle says, and nothing that OLM v0 wrote; they are started once."""
    site.images["1.1.0"] = site.push("1.1.0")
    site.publish()
    site.stage.patch_operator(site.name, {"version": "1.1.0"})
    site.stage.patch_catalog(f"{site.name}-catalog", {"source": {"image": {"pollInterval": "1s"}}})
    site.stage.ready_operator(site.name, "1.1.0")
    found = site.get("deployment", site.name)
    template = found["spec"]["template"]
    annotations = template["metadata"]["annotations"]
    assert annotations["support"] == "by the template"
    assert not annotations.keys() & {"olmcahash", "olm.operatorGroup", "operatorframework.io/properties"}
    (container,) = template["spec"]["containers"]
    named = [each["name"] for each in container["env"]]
    assert [each for each in named if each != "OPERATOR_CONDITION_NAME"] == ["NAME", "NEWER", "COLOUR"]
    assert KEEP_TEMPLATE_ANNOTATION not in found["metadata"]["annotations"]
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


def check_drift_is_repaired(site: Site, noted: str) -> None:
    """Somebody changes the template, and writes the annotation with the digest that rukpak had written."""
    metadata = {"annotations": {KEEP_TEMPLATE_ANNOTATION: noted}}
    template = {"spec": {"containers": [{"name": "manager", "image": "registry.example.com/other:v1"}]}}
    body = json.dumps({"metadata": metadata, "spec": {"template": template}})
    site.stage.cluster.kubectl("patch", "deployment", site.name, "-n", site.namespace, "--type=strategic", "-p", body)
    image = f"registry.example.com/{site.name}:v1.1.0"
    is_repaired = f"jsonpath={{.spec.template.spec.containers[0].image}}={image}"
    site.stage.cluster.kubectl(
        "wait", f"deployment/{site.name}", "-n", site.namespace, f"--for={is_repaired}", "--timeout=60s"
    )


def test_a_package_is_moved_without_restarting_a_pod_and_upgraded(
    stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "moved-lamp", config=CONFIG, copied_to="moved-lamp-watched", with_webhook=True)
    site.create_things(CUSTOM_RESOURCES)
    before, pods, deployment = site.things(), site.pods(), site.get("deployment", site.name)
    secret = site.get("secret", f"{site.name}-service-cert")["data"]
    try:
        assert site.run(site.name, "--yes") == 5
        assert "--stop-controllers stops them" in capsys.readouterr().err
        assert site.run(site.name, "--yes", "--stop-controllers", "--remove-catalog-sources") == 0, capsys.readouterr()
        line = f"Deployment {site.namespace}/{site.name}: its pods have not been restarted"
        assert line in capsys.readouterr().out

        moved = site.get("deployment", site.name)
        assert (site.pods(), moved["spec"]) == (pods, deployment["spec"])
        served = site.get("secret", f"{site.name}-service-cert")["data"]
        assert (served["tls.crt"], served["tls.key"]) == (secret["tls.crt"], secret["tls.key"])
        assert served["ca.crt"] == secret["olmCAKey"]
        assert site.things() == before
        check_nothing_is_left(site)
        for kind in ("bundledeployment", "Operator"):
            conditions = stage.get(kind, site.name)["status"]["conditions"]
            kept = "pods are as they were before, until the bundle changes them: Deployment.apps"
            assert [each["type"] for each in conditions if kept in each["message"]] == ["Ready"], kind
        noted = moved["metadata"]["annotations"][KEEP_TEMPLATE_ANNOTATION]
        check_upgrade(site)
        check_drift_is_repaired(site, noted)
        assert site.things() == before
    finally:
        site.close()


def state(site: Site) -> dict[str, Object]:
    """Everything that OLM v0 knows of the package, without what each write changes."""
    found: dict[str, Object] = {}
    kinds = "serviceaccounts,roles,rolebindings,deployments,configmaps,subscriptions.operators.coreos.com"
    kinds += ",clusterserviceversions.operators.coreos.com,operatorgroups.operators.coreos.com,operatorconditions"
    for each in [
        *site.get(kinds)["items"],
        *site.get("clusterroles,clusterrolebindings", "-l", "olm.managed")["items"],
    ]:
        metadata = {
            name: value
            for name, value in each["metadata"].items()
            if name not in ("managedFields", "resourceVersion", "generation")
        }
        metadata["annotations"] = {
            key: value for key, value in metadata.get("annotations", {}).items() if not key.startswith("deployment.")
        }
        found[f"{each['kind']} {metadata['name']}"] = {**each, "metadata": metadata, "status": None}
    return found


def test_a_package_is_planned_and_given_back(stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(stage, olm, "returned-lamp")
    before, pods = state(site), site.pods()
    assert site.run(site.name, "--undo") == 3
    capsys.readouterr()
    assert site.run() == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    row = [f"{site.namespace}/{site.name}", site.name, "1.0.0", "stable", "Automatic", "all", "namespaces"]
    assert [*row, f"{site.name}-catalog", "yes"] in rows
    assert site.run(site.name, "-o", "yaml") == 0
    objects = capsys.readouterr().out
    checked = stage.cluster.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=objects)
    assert [line.split("/")[0] for line in checked.splitlines()] == [
        "catalog.catalogd.operatorframework.io", "operator.operators.operatorframework.io",
    ]  # fmt: skip
    instead = f"{site.namespace}/{site.name}-catalog=nowhere"
    assert site.run(site.name, "--yes", "--stop-controllers", "--catalog", instead) == 1
    assert "there is no Catalog nowhere" in capsys.readouterr().err
    assert (state(site), replicas_of_controllers(stage)) == (before, [1, 1]), "nothing was taken yet"
    assert site.run(site.name, "--yes", "--stop-controllers", "--hold") == 0, capsys.readouterr()
    stage.ready_operator(site.name, "1.0.0")
    assert state(site) != before
    captured = capsys.readouterr()
    assert f"{site.name} is not finished" in captured.err
    assert killed(site, set(), is_undo=True) > 15
    assert state(site) == before
    assert site.pods() == pods
    assert not stage.exists("Operator", site.name)
    assert replicas_of_controllers(stage) == [1, 1]


def uid_of_deployment(site: Site) -> str:
    return str(site.get("deployment", site.name)["metadata"]["uid"])


@pytest.mark.crash
def test_marks_that_others_write_and_an_operator_that_they_delete_alone_have_nothing_deleted(
    stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "forged-lamp")
    site.create_things(2)
    assert site.run(site.name, "--yes", "--stop-controllers", "--hold") == 0, capsys.readouterr()
    uid, named = uid_of_deployment(site), ("-n", site.namespace)
    stage.cluster.kubectl("create", "configmap", "mine", *named)
    forged = json.dumps({"metadata": {"labels": {MARK: site.name}, "annotations": {MARK: '{"isNew": true}'}}})
    for what in (f"things.{group(site.name)}/thing-0", "configmap/mine", f"deployment/{site.name}"):
        stage.cluster.kubectl("patch", what, *named, "--type=merge", "-p", forged)
    stage.cluster.kubectl("delete", "operators.operators.operatorframework.io", site.name, "--cascade=orphan")
    try:
        assert site.run(site.name, "--undo") == 5
        assert "would go on applying it" in capsys.readouterr().err
        assert replicas_of_controllers(stage) == [0, 0]
        orphan = '{"spec":{"deletionPolicy":"Orphan"}}'
        stage.cluster.kubectl("patch", "bundledeployment", site.name, "--type=merge", "-p", orphan)
        stage.cluster.kubectl("delete", "bundledeployment", site.name)
        assert site.run(site.name, "--undo") == 0, capsys.readouterr()
        said = capsys.readouterr().err
        for what in ("Thing", "ConfigMap", "Deployment"):
            assert f"warning: {what} {site.namespace}/" in said
        assert "mine" in site.names("configmaps")
        assert [each for each in site.get(f"things.{group(site.name)}")["items"] if is_terminating(each)] == []
        assert uid_of_deployment(site) == uid
        assert replicas_of_controllers(stage) == [1, 1]
    finally:
        site.close()


@pytest.mark.crash
def test_a_package_whose_version_is_deleted_in_a_hold_is_completed(
    stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "deserted-lamp")
    site.create_things(2)
    things = site.things()
    assert site.run(site.name, "--yes", "--stop-controllers", "--hold") == 0, capsys.readouterr()
    uid = uid_of_deployment(site)
    version = ("clusterserviceversions.operators.coreos.com", site.package.version_name, "-n", site.namespace)
    stage.cluster.kubectl("patch", *version, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    stage.cluster.kubectl("delete", *version)
    try:
        assert site.run(site.name, "--undo") == 5
        assert "it cannot be given back" in capsys.readouterr().err
        assert replicas_of_controllers(stage) == [0, 0]
        assert killed(site, set(), removes_sources=True) > 10
        assert (uid_of_deployment(site), site.things()) == (uid, things)
        check_nothing_is_left(site)
    finally:
        site.close()


@pytest.mark.crash
def test_a_package_that_is_upgraded_in_a_hold_is_completed(
    stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not given back: OLM v0 would install the version before."""
    site = Site(stage, olm, "ahead-lamp", config=CONFIG)
    assert site.run(site.name, "--yes", "--stop-controllers", "--hold") == 0, capsys.readouterr()
    check_upgrade(site)
    assert site.run(site.name, "--undo") == 5
    assert "has version 1.1.0, and OLM v0 has 1.0.0: it cannot be given back" in capsys.readouterr().err
    assert replicas_of_controllers(stage) == [0, 0]
    assert site.run(site.name, "--yes", "--remove-catalog-sources") == 0, capsys.readouterr()
    stage.ready_operator(site.name, "1.1.0")
    check_nothing_is_left(site)


@pytest.mark.crash
def test_controllers_whose_permissions_are_missing_are_not_taken_for_those_of_a_tenant(
    stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "guarded-lamp")
    binding = json.loads(stage.cluster.kubectl("get", "clusterrolebinding", "olm-operator-binding-olm", "-o", "json"))
    stage.cluster.kubectl("delete", "clusterrolebinding", "olm-operator-binding-olm")
    before = state(site)
    try:
        deadline = time.monotonic() + 30
        while True:  # the API server reads bindings a moment later
            assert site.run(site.name, "--yes") == 5
            said = capsys.readouterr().err
            if "Deployment olm/catalog-operator runs, and may be a controller of OLM v0" in said:
                break
            assert time.monotonic() < deadline, said
        assert (state(site), replicas_of_controllers(stage)) == (before, [1, 1])
    finally:
        binding["metadata"] = {"name": binding["metadata"]["name"]}
        stage.cluster.kubectl("create", "-f", "-", input=json.dumps(binding))
        attributes = {"group": "operators.coreos.com", "resource": "clusterserviceversions", "verb": "update"}
        await_allowed(stage.cluster, "olm:olm-operator-serviceaccount", **attributes)


@pytest.mark.crash
def test_a_migration_to_objects_from_git_that_is_killed_after_each_write_is_completed(
    stage: Stage, olm: OlmV0, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "killed-lamp")
    site.create_things(3)
    assert site.run(site.name, "-o", "yaml") == 0
    stage.cluster.kubectl("apply", "-f", "-", input=capsys.readouterr().out)
    stage.operator_when(site.name, "is blocked", lambda found: "OLM v0" in json.dumps(found["status"]["conditions"]))
    before, pods, seen = site.things(), site.pods(), set[str]()
    refused: list[int] = []

    def ask_for_everything_back() -> None:
        """From the first deletion on, this is refused, and changes nothing; until that of the version itself, which may be gone
        at any time then."""
        versions = site.get("clusterserviceversions.operators.coreos.com")["items"]
        if not any(is_being_removed(each) and not is_terminating(each) for each in versions):
            return
        then = state(site)
        capsys.readouterr()
        refused.append(site.run(site.name, "--undo"))
        assert "is being deleted: it cannot be given back; `olm migrate v0" in capsys.readouterr().err
        assert state(site) == then
        assert replicas_of_controllers(stage) == [0, 0]

    try:
        kills = killed(site, seen, ask_for_everything_back, removes_sources=True)
        assert kills > 20
        assert len(refused) > 5
        assert set(refused) == {5}
        assert (site.pods(), site.things()) == (pods, before)
        stage.ready_operator(site.name, "1.0.0")
        check_nothing_is_left(site)
    finally:
        site.close()
