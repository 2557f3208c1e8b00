"""A registry whose catalog and bundles require a login: the Secret of the Catalog is enough."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from devcluster.suite import COMPONENTS, NAMESPACE
from devcluster.watch import BUNDLES, Object, is_true
from tests.conditions import triple
from tests.e2e.partner import HOST, Partner, login
from tests.e2e.stage import Stage, installed_version
from tests.servers.registry import PASSWORD

WRONG = "n0t-the-password"
PACKAGES = ("hello-operator", "message-board")


@pytest.fixture
def secrets(stage: Stage) -> Iterator[tuple[str, str]]:
    """The names of two Secrets, which do not exist yet."""
    names = (f"{stage.name[:30]}-1".replace("--", "-"), f"{stage.name[:30]}-2".replace("--", "-"))
    yield names
    stage.cluster.kubectl("delete", "secret", "-n", NAMESPACE, "--ignore-not-found", *names)


def put(stage: Stage, secret: Object) -> None:
    stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(secret))


def test_the_secret_of_a_catalog_is_enough_for_its_bundles(
    stage: Stage, partner: Partner, secrets: tuple[str, str]
) -> None:
    first, second = secrets
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    pushed = partner.repository(stage.name).push(content, packages=PACKAGES)
    assert all(image.startswith(f"{HOST}/bundles/") for image in pushed.images.values())
    catalog = _apply_catalog(stage, pushed.reference, first)
    waiting = stage.catalog_when(catalog, "waits for its login", lambda o: is_true(o, "Stalled"))
    assert f'Secret "{first}" not found in namespace "{NAMESPACE}"' in triple(waiting, "Stalled")[2]
    put(stage, login(partner, first))
    stage.catalog_when(catalog, "is read with the login", lambda o: is_true(o, "Ready"))
    only = {"matchLabels": {"olm.operatorframework.io/metadata.name": catalog}}
    hello = stage.operator("hello-operator", f"{catalog}-a", catalogSelector=only)
    stage.ready_operator(hello, "0.2.0")
    _until_pulled_with(stage, hello, first)

    # Another Secret, which does not exist: what is installed stays, and what is new waits for it.
    stage.patch_catalog(catalog, {"source": {"image": {"pullSecret": second}}})
    board = stage.operator("message-board", f"{catalog}-b", catalogSelector=only)
    missing = f'Secret "{second}" not found in namespace "{NAMESPACE}": create it there, or name another one'
    for name in (hello, board):
        stage.operator_when(name, "names the missing Secret", lambda o: missing in triple(o, "Ready")[2])
    assert installed_version(stage.get("Operator", hello)) == "0.2.0"

    put(stage, login(partner, second, WRONG))
    refused = f"refuses the login of Secret {NAMESPACE}/{second} for"
    for name in (hello, board):
        found = stage.operator_when(
            name, "names the refused login", lambda o: refused in triple(o, "Ready")[2] and not is_true(o, "Stalled")
        )
        assert is_true(found, "Reconciling")

    put(stage, login(partner, second))
    stage.ready_operator(hello, "0.2.0")
    stage.ready_operator(board, "1.0.0")
    _until_pulled_with(stage, hello, second)
    assert not _passwords_in(stage)


def _apply_catalog(stage: Stage, reference: str, secret: str) -> str:
    image = {"ref": reference, "pullSecret": secret, "pollInterval": "1s"}
    return stage.apply(
        {
            "apiVersion": "catalogd.operatorframework.io/v1alpha1",
            "kind": "Catalog",
            "metadata": {"name": stage.name[:30].strip("-")},
            "spec": {"source": {"type": "image", "image": image}},
        }
    )


def _until_pulled_with(stage: Stage, operator: str, secret: str) -> None:
    """Wait until the only Bundle of the Operator is unpacked and names this Secret."""

    def pulled(objects: object) -> bool:
        assert isinstance(objects, dict)
        own = [raw for name, raw in objects.items() if name.startswith(f"{operator}-")]
        named = [raw["spec"]["source"]["image"].get("pullSecret") for raw in own]
        return named == [secret] and is_true(own[0], "Unpacked")

    stage.until(BUNDLES, f"the Bundle of {operator} is pulled with {secret}", pulled)


def _passwords_in(stage: Stage) -> list[str]:
    """Where a password is: the logs of the controllers, the objects of the suite, the Events about them."""
    texts = {component: stage.suite.log_tail(component, 100_000) for component in COMPONENTS}
    for kind in ("catalogs", "operators.operators.operatorframework.io", "bundledeployments", "bundles", "events"):
        texts[kind] = stage.cluster.kubectl("get", kind, "-A", "-o", "json")
    assert all(texts.values())
    return [name for name, text in texts.items() if PASSWORD in text or WRONG in text]
