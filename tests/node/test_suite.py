"""The suite as pods: they find each other by the names of their Services over TLS, a Catalog is served, the console shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import operator_object
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Catalog, Content, Registry
from devcluster.pod_suite import PodSuite
from devcluster.suite import COMPONENTS, NAMESPACE
from devcluster.watch import CATALOGS, OPERATORS, Object, Watch, is_true
from tests.deployed_console import browser_at, visit

CATALOG = "samples"
# In a pod of rukpak, which has no part in serving catalogs. A replica that has not copied the content yet says when to ask again.
GET_PACKAGES = """
import ssl, sys, time, urllib.error, urllib.request
context = ssl.create_default_context(cadata=sys.argv[1])
while True:
    try:
        with urllib.request.urlopen(sys.argv[2], context=context, timeout=20) as answer:
            print(answer.status, len(answer.read()) > 0)
        break
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        time.sleep(int(error.headers["Retry-After"]))
"""


@pytest.fixture(scope="session")
def served(cluster: Cluster, installed_suite: PodSuite) -> Object:
    """The Catalog of config/samples, which is served."""
    Catalog(Registry(cluster.registry), "catalogs/samples:latest", "registry.example.com").push(
        Content(SAMPLES / "catalog", SAMPLES / "bundles")
    )
    with Watch(cluster, CATALOGS) as catalogs:
        cluster.kubectl("apply", f"--filename={SAMPLES / 'sample-catalog.yaml'}")
        found = catalogs.until("the Catalog is Ready", lambda objects: ready(objects.get(CATALOG)))
    assert found is not None
    return found


def ready(found: Object | None) -> Object | None:
    return found if is_true(found, "Ready") else None


def test_each_process_runs_without_privileges_and_was_never_restarted(
    cluster: Cluster, suite: PodSuite, console: str
) -> None:
    listed = json.loads(cluster.kubectl("get", "pods", f"--namespace={NAMESPACE}", "--output=json"))["items"]
    names = sorted(pod["metadata"]["labels"]["app.kubernetes.io/name"] for pod in listed)
    assert names == sorted(["catalogd", *COMPONENTS, console, console])
    for pod in listed:
        (status,) = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
    for name in (*COMPONENTS, console):
        state = cluster.kubectl(
            *("exec", f"deployment/{name}", f"--namespace={NAMESPACE}", "--"),
            *("python", "-c", "print(open('/proc/1/status').read())"),
        )
        lines = dict(line.split(":", 1) for line in state.splitlines() if ":" in line)
        found = {key: lines[key].split() for key in ("Uid", "CapEff", "NoNewPrivs", "Seccomp")}
        assert found == {"Uid": ["65532"] * 4, "CapEff": ["0" * 16], "NoNewPrivs": ["1"], "Seccomp": ["2"]}


def test_jobs_are_restricted_in_pods(suite: PodSuite, served: Object) -> None:
    for name in COMPONENTS:
        # The sandbox of jobs logs what it cannot restrict.
        assert "jobs may" not in suite.log_tail(name, 1000)


def test_a_catalog_is_served_over_tls_by_the_name_of_its_service(
    cluster: Cluster, suite: PodSuite, served: Object
) -> None:
    address = served["status"]["contentURL"]
    assert address.startswith(f"https://catalogd-catalogserver.{NAMESPACE}.svc/")
    authority = json.loads(
        cluster.kubectl("get", "configmap", "catalogd-ca", f"--namespace={NAMESPACE}", "--output=json")
    )["data"]["ca.crt"]
    answer = cluster.kubectl(
        *("exec", "deployment/rukpak", f"--namespace={NAMESPACE}", "--"),
        *("python", "-c", GET_PACKAGES, authority, address),
    )
    assert answer.split() == ["200", "True"]


def token_of(cluster: Cluster, role: str) -> str:
    """The token of a new account with a ClusterRole."""
    account = f"visitor-{role}"
    cluster.kubectl("create", "serviceaccount", account, f"--namespace={NAMESPACE}")
    subject = f"--serviceaccount={NAMESPACE}:{account}"
    cluster.kubectl("create", "clusterrolebinding", account, f"--clusterrole={role}", subject)
    return cluster.kubectl("create", "token", account, f"--namespace={NAMESPACE}").strip()


def service_address(cluster: Cluster, name: str) -> str:
    """The address of a Service of the suite."""
    return cluster.kubectl("get", "service", name, f"--namespace={NAMESPACE}", "--output=jsonpath={.spec.clusterIP}")


async def test_a_session_of_the_console_is_one_of_all_its_pods(
    cluster: Cluster, suite: PodSuite, served: Object, console: str
) -> None:
    inside = f"--namespace={NAMESPACE}"
    token = token_of(cluster, "view")
    service = service_address(cluster, console)
    async with browser_at(service) as browser:
        await visit(browser, "/login")
        assert (await browser.log_in(token)).status == 303
        pages = await visit(browser, "/catalog", "/catalogs", "/suite", f"/catalog/{CATALOG}/hello-operator/versions")
        cookies = browser.cookies
    assert "hello-operator" in pages["/catalog"]
    assert console in pages["/suite"]
    listed = cluster.kubectl("get", "pods", inside, f"--selector=app.kubernetes.io/name={console}", "--output=json")
    for pod in json.loads(listed)["items"]:
        async with browser_at(pod["status"]["podIP"], 8443) as browser:
            browser.cookies.update(cookies)
            # catalogd is asked by the name of its Service, with the CA that it has published
            versions = await browser.get(f"/catalog/{CATALOG}/hello-operator/versions")
            assert (versions.status, "0.2.0" in versions.text) == (200, True)
            assert "The catalog cannot be read" not in versions.text
            async with browser.live("/catalogs") as events:
                assert (await anext(events))[0] == "parts"
    assert token[-30:] not in suite.log_tail(console, 1000)


async def test_the_console_shows_the_last_resolution_of_the_debug_server(
    cluster: Cluster, suite: PodSuite, console: str
) -> None:
    """To somebody who may reach the pods of operator-controller; the console itself may not."""
    with Watch(cluster, OPERATORS) as operators:
        cluster.kubectl("apply", "--filename=-", input=json.dumps(operator_object("absent")))
        operators.until("it is refused", lambda objects: is_true(objects.get("absent"), "Stalled"))
    async with browser_at(service_address(cluster, console)) as browser:
        assert (await browser.log_in(token_of(cluster, "cluster-admin"))).status == 303
        page = await browser.get("/operators/absent/why?trace=1")
    cluster.kubectl("delete", "operators.operators.operatorframework.io", "absent")
    assert "cannot be read" not in page.text
    assert "The last resolution" in page.text


def test_olm_shows_what_runs(cluster: Cluster, suite: PodSuite, served: Object, console: str) -> None:
    def olm(*arguments: str) -> str:
        command = [sys.executable, "-m", "olmctl", *arguments]
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    rows = [line.split() for line in olm("suite", "status").splitlines()]
    states = {row[0]: row[3] for row in rows if row[2:3] == ["Deployment"]}
    assert states == dict.fromkeys((*COMPONENTS, console), "Available")
    assert "hello-operator" in olm("search")
