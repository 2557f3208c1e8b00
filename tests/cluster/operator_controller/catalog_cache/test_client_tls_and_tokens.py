"""operator-controller reads from catalogd with each kind of certificate, with tokens and without TLS, under its own account."""

from __future__ import annotations

import json
import re
import ssl
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, Suite
from devcluster.watch import Object
from olmkit.tls.certificate_authority import create
from tests.cluster.operator_controller.conftest import PROCESSES, Scene

Flags = Mapping[str, Sequence[str]]


def own_certificate(directory: Path) -> Flags:
    return {}


def tokens(directory: Path) -> Flags:
    return {"catalogd": ["--authenticate-requests"], "operator-controller": ["--catalogs-token"]}


def mounted(directory: Path) -> Flags:
    """A certificate of a CA that is only in a file, while the ConfigMap contains another one."""
    certificates = create(("127.0.0.1",), datetime.now(UTC))
    directory.mkdir()
    (directory / "tls.crt").write_bytes(certificates.leaf.chain)
    (directory / "tls.key").write_bytes(certificates.leaf.key)
    (directory / "ca.crt").write_bytes(certificates.ca_bundle())
    return {
        "catalogd": ["--tls-cert-dir", str(directory)],
        "operator-controller": ["--catalogs-ca-file", str(directory / "ca.crt")],
    }


def plain(directory: Path) -> Flags:
    return {"catalogd": ["--insecure-http", "--no-leader-elect"]}


@pytest.fixture(scope="module")
def suite(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Suite]:
    """Processes with the flags of the parameter, for all tests with these flags."""
    directory = tmp_path_factory.mktemp("suite")
    with Suite(cluster, directory / "suite", request.param(directory / "flags")) as running:
        running.install()
        yield running


@pytest.fixture
def scene(cluster: Cluster, suite: Suite, request: pytest.FixtureRequest) -> Iterator[Scene]:
    suite.start(*PROCESSES)  # which the test before may have stopped
    slug = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    own = Scene(cluster, suite, f"{slug[:24].strip('-')}-{uuid.uuid4().hex[:6]}")
    try:
        yield own
    finally:
        suite.start(*PROCESSES)
        for process in PROCESSES:
            request.node.add_report_section("call", f"log of {process}", suite.log_tail(process, 40))
        own.close()


def content_url(scene: Scene) -> str:
    found: Object = json.loads(
        scene.cluster.kubectl("get", "catalog.catalogd.operatorframework.io", scene.name, "-o", "json")
    )
    return str(found["status"]["contentURL"])


@pytest.mark.parametrize(
    ("suite", "scheme"),
    [
        pytest.param(own_certificate, "https", id="a generated certificate"),
        pytest.param(tokens, "https", id="tokens"),
        pytest.param(mounted, "https", id="a mounted certificate"),
        pytest.param(plain, "http", id="plain HTTP"),
    ],
    indirect=["suite"],
)
def test_an_operator_is_resolved_from_a_catalog_served_with(scene: Scene, scheme: str) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    assert content_url(scene).startswith(f"{scheme}://")
    name = scene.operator(scene.name)
    scene.deployment_when(name, "1.0.0")


@pytest.mark.parametrize("suite", [tokens], indirect=True)
def test_content_requires_an_authorized_token(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    url = content_url(scene)
    assert get_status(scene, url, None)[0] == 401
    account = f"reader-{uuid.uuid4().hex[:6]}"
    scene.cluster.kubectl("create", "serviceaccount", account, f"--namespace={NAMESPACE}")
    token = scene.cluster.kubectl("create", "token", account, f"--namespace={NAMESPACE}").strip()
    status, body = get_status(scene, url, token)
    assert (status, f"{account} may not get this path" in body["error"]) == (403, True)
    reader = scene.cluster.kubectl("create", "token", "operator-controller", f"--namespace={NAMESPACE}").strip()
    assert get_status(scene, url, reader)[0] == 200
    for process in PROCESSES:
        log = scene.suite.log(process).read_text()
        assert token not in log
        assert reader not in log


@pytest.mark.parametrize("suite", [tokens], indirect=True)
def test_a_missing_token_is_reported(scene: Scene) -> None:
    scene.suite.stop("operator-controller")
    with Suite(scene.cluster, scene.suite.directory.parent / "other") as other:
        other.start("operator-controller")
        scene.ready_catalog(scene.catalog_of("1.0.0"))
        name = scene.operator(scene.name)
        scene.condition_when(
            name,
            "Reconciling",
            "True",
            "catalogd answered 401: it requires a token; start operator-controller with --catalogs-token",
        )


@pytest.mark.parametrize("suite", [own_certificate, tokens, mounted], indirect=True)
def test_a_second_replica_copies_the_content_of_the_first(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    url = content_url(scene)
    replica = scene.suite.start_replica("catalogd")
    second = scene.suite.addresses[replica].catalogs
    second_url = url.replace(scene.suite.addresses["catalogd"].catalogs or "", second or "")
    assert second_url != url
    token = scene.cluster.kubectl("create", "token", "operator-controller", f"--namespace={NAMESPACE}").strip()
    deadline = time.monotonic() + 60
    while (status := get_status(scene, second_url, token)[0]) != 200:
        assert status == 503
        assert time.monotonic() < deadline, scene.suite.log_tail(replica)
        time.sleep(0.1)
    scene.suite.stop(replica)


def get_status(scene: Scene, url: str, token: str | None) -> tuple[int, Object]:
    """The HTTP status, and the body of an error."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, context=trust(scene), timeout=30) as response:
            return response.status, {}
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def trust(scene: Scene) -> ssl.SSLContext:
    """The TLS context that trusts catalogd with the flags of the test's parameter."""
    file = scene.suite.directory.parent / "flags" / "ca.crt"
    if file.exists():
        return ssl.create_default_context(cafile=file)
    return ssl.create_default_context() if content_url(scene).startswith("http:") else scene.suite.tls_context()
