"""What is removed from git, and all of an Application that is deleted, is deleted in the right order until nothing is left."""

import json

import pytest

from tests.e2e.packages import group
from tests.gitops.delivery import BACKGROUND, FOREGROUND, LAST_FIRST, NO_WAVES, WAVES, Delivery, Layout
from tests.gitops.removal import Removal

pytestmark = pytest.mark.timeout(900)

WATCH_DELAY_SECONDS = 1.0
"""How much later the watch of one kind may report than that of another one."""
LAYOUTS = {"waves": WAVES, "no waves": NO_WAVES, "no waves, Catalog last": LAST_FIRST}


@pytest.mark.parametrize("layout", [WAVES, NO_WAVES], ids=["waves", "no waves"])
def test_pruning(delivery: Delivery, layout: Layout) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout)
    delivery.until_synced_and_healthy()
    with Removal(delivery) as removal:
        delivery.push({"README.md": []})
        removal.until_gone()
        assert_order(delivery, removal, layout)
    delivery.until_synced_and_healthy()
    assert_nothing_is_left(delivery)


@pytest.mark.parametrize("finalizer", [FOREGROUND, BACKGROUND], ids=["foreground", "background"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_deletion(delivery: Delivery, layout: Layout, finalizer: str) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout, finalizer)
    delivery.until_synced_and_healthy()
    with Removal(delivery) as removal:
        delivery.delete_application()
        removal.until_gone()
        assert_order(delivery, removal, layout)
    delivery.until_deleted()
    assert_nothing_is_left(delivery)


def assert_order(delivery: Delivery, removal: Removal, layout: Layout) -> None:
    """What requires is gone before what is required; with waves, each wave is gone before the next one is asked to go."""
    gone = {name: max(removal.gone(f"Operator {name}")) for name in (delivery.dependant, delivery.dependency)}
    assert gone[delivery.dependant] <= gone[delivery.dependency] + WATCH_DELAY_SECONDS
    for package in removal.packages:
        operator = min(removal.gone(f"Operator {package}"))
        assert max(removal.gone(f"BundleDeployment {package}")) <= operator + WATCH_DELAY_SECONDS
    if layout.waves:
        managed = [f"Operator {delivery.dependant}", f"Operator {delivery.other}"]
        assert max(removal.gone("Thing")) <= min(removal.asked(*managed)) + WATCH_DELAY_SECONDS
        assert max(removal.gone(*managed)) <= min(removal.asked("Catalog")) + WATCH_DELAY_SECONDS


def assert_nothing_is_left(delivery: Delivery) -> None:
    """No object of the test, nor of its packages."""
    kubectl = delivery.stage.cluster.kubectl
    kinds = "catalogs,packages,operators.operators.operatorframework.io,bundledeployments,bundles,namespaces,crds"
    for kind in kinds.split(","):
        names = [item["metadata"]["name"] for item in json.loads(kubectl("get", kind, "-o", "json"))["items"]]
        assert not [name for name in names if delivery.name in name], kind
    for package in (delivery.dependant, delivery.dependency, delivery.other):
        assert not delivery.stage.exists("crd", f"things.{group(package)}")
