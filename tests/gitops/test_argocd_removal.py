"""What is removed from git, and all of an Application that is deleted, is deleted in the right order until nothing is left."""

import pytest

from tests.gitops.argocd_delivery import BACKGROUND, FOREGROUND, LAST_FIRST, NO_WAVES, WAVES, ArgoCdDelivery, Layout
from tests.gitops.removal import Removal

pytestmark = pytest.mark.timeout(900)

LAYOUTS = {"waves": WAVES, "no waves": NO_WAVES, "no waves, Catalog last": LAST_FIRST}


@pytest.mark.parametrize("layout", [WAVES, NO_WAVES], ids=["waves", "no waves"])
def test_pruning(delivery: ArgoCdDelivery, layout: Layout) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout)
    delivery.until_synced_and_healthy()
    with Removal(delivery) as removal:
        delivery.push({"README.md": []})
        removal.until_gone()
        assert_order(delivery, removal, layout)
    delivery.until_synced_and_healthy()
    delivery.until_nothing_is_left()


@pytest.mark.parametrize("finalizer", [FOREGROUND, BACKGROUND], ids=["foreground", "background"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_deletion(delivery: ArgoCdDelivery, layout: Layout, finalizer: str) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout, finalizer)
    delivery.until_synced_and_healthy()
    with Removal(delivery) as removal:
        delivery.delete_application()
        removal.until_gone()
        assert_order(delivery, removal, layout)
    delivery.until_deleted()
    delivery.until_nothing_is_left()


def assert_order(delivery: ArgoCdDelivery, removal: Removal, layout: Layout) -> None:
    """What requires is gone before what is required; with waves, each wave is gone before the next one is asked to go."""
    gone = {name: max(removal.gone(f"Operator {name}")) for name in (delivery.dependant, delivery.dependency)}
    assert gone[delivery.dependant] < gone[delivery.dependency]
    for package in removal.packages:
        operator = min(removal.gone(f"Operator {package}"))
        assert max(removal.gone(f"BundleDeployment {package}")) < operator
    if layout.waves:
        managed = [f"Operator {delivery.dependant}", f"Operator {delivery.other}"]
        assert max(removal.gone("Thing")) < min(removal.asked(*managed))
        assert max(removal.gone(*managed)) < min(removal.asked("Catalog"))
