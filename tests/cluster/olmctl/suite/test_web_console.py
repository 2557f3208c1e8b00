"""The web console of the suite, from a cluster without the suite until it is removed with it. The tests run in this order."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable

from console.login import AuthMode
from devcluster.cluster import Cluster
from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests
from olmctl.suite.objects import name_of
from tests.cluster.olmctl.suite.conftest import INSTALL, Olm
from tests.console import Answer, running_console

NAMES = [name_of(each) for each in load_manifests().console]
SECRET = "olm-console-session-key"
ANOTHER_IMAGE = "registry.example.com/another/olm-suite:v9"


def first_page(cluster: Cluster, holds: Callable[[Answer], bool]) -> Answer:
    """The first page of `olm console` at the cluster, when it is as it should be; or what it is after a while."""

    async def read() -> Answer:
        async with running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG) as browser:
            deadline = time.monotonic() + 20
            while not holds(found := await browser.get("/")) and time.monotonic() < deadline:  # noqa: ASYNC110 as people do
                await asyncio.sleep(0.1)
            return found

    return asyncio.run(read())


def own_lines(out: str) -> list[str]:
    """What a command has printed about the objects of the console."""
    return [line for line in out.splitlines() if line.split()[0] in NAMES]


def secret(cluster: Cluster) -> dict[str, object]:
    """The Secret with the key of the sessions."""
    found: dict[str, object] = json.loads(
        cluster.kubectl("get", "secret", SECRET, "-n", SYSTEM_NAMESPACE, "-o", "json")
    )
    return found


def test_the_first_page_says_how_to_install_the_suite_where_it_is_missing(olm: Olm, bare_cluster: Cluster) -> None:
    assert olm("suite", "uninstall", "--remove", "--yes", "--force", "--timeout", "60s")[0] == 0
    page = first_page(bare_cluster, lambda found: found.status == 200)
    assert (page.status, "olm-suite is not installed" in page.text, "olm suite install" in page.text) == (
        200,
        True,
        True,
    )


def test_the_console_is_installed_on_request_with_a_key_of_its_own(olm: Olm, bare_cluster: Cluster) -> None:
    status, out, err = olm(*INSTALL, "--console", "--force")
    assert status == 0, err
    assert own_lines(out) == [f"{name} created" for name in NAMES]
    assert f"secret/{SECRET} created\n" in out
    found = secret(bare_cluster)
    (owner,) = found["metadata"]["ownerReferences"]  # type: ignore[index]
    assert (owner["kind"], owner["name"]) == ("Deployment", "olm-console")
    assert len(base64.b64decode(found["data"]["key"])) == 64  # type: ignore[index]
    rows = [line.split() for line in olm("suite", "status")[1].splitlines()]
    assert [row[3] for row in rows if (row[0], row[2:3]) == ("olm-console", ["Deployment"])] == ["Available"]
    page = first_page(bare_cluster, lambda found: found.status == 303)
    assert (page.status, page.headers["Location"]) == (303, "/catalog")


def test_later_installations_keep_it_up_to_date_and_its_key(olm: Olm, bare_cluster: Cluster) -> None:
    before = secret(bare_cluster)["data"]
    status, out, err = olm("suite", "install")
    assert (status, own_lines(out)) == (0, [f"{name} unchanged" for name in NAMES]), err
    status, out, err = olm("suite", "install", "--image", ANOTHER_IMAGE)
    assert (status, "deployment.apps/olm-console configured" in own_lines(out)) == (0, True), err
    images = bare_cluster.kubectl(
        *("get", "deployments", "-n", SYSTEM_NAMESPACE),
        '--output=jsonpath={range .items[*]}{.spec.template.spec.containers[0].image}{"\\n"}{end}',
    ).split()
    assert images == [ANOTHER_IMAGE] * 4
    assert f"secret/{SECRET}" not in out
    assert secret(bare_cluster)["data"] == before


def test_it_is_removed_with_the_controllers_and_its_key_with_it(olm: Olm, bare_cluster: Cluster) -> None:
    assert olm(*INSTALL, "--console", "--force", "--no-wait")[0] == 0
    status, out, err = olm("suite", "uninstall", "--orphan", "--yes", "--force", "--timeout", "60s")
    assert status == 0, err
    assert_removed(olm, bare_cluster, out)


def assert_removed(olm: Olm, cluster: Cluster, out: str) -> None:
    """The command that has printed this has removed the console."""
    assert own_lines(out) == [f"{name} deleted" for name in NAMES[::-1]]
    left = cluster.kubectl("get", "deployments,services,secrets,serviceaccounts", "-A", "-o", "name")
    assert "olm-console" not in left
    assert "olm-console" not in olm("suite", "status")[1]
