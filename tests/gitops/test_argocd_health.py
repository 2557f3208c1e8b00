"""What Argo CD shows: Degraded with the reason for what a person must change, and Progressing for all that passes."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from devcluster.watch import CATALOGS, OPERATORS, Event, Object
from tests.conditions import triple
from tests.gitops.argocd_delivery import ArgoCdDelivery, Health
from tests.gitops.conftest import SETTINGS

pytestmark = pytest.mark.timeout(600)


def test_a_version_that_does_not_exist_is_degraded_with_the_reason(delivery: ArgoCdDelivery) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(version="9.9.9"))
    application = delivery.until_degraded()
    found = delivery.stage.operator_when(delivery.other, "Stalled", lambda found: triple(found, "Stalled")[0] == "True")
    message = triple(found, "Ready")[2]
    assert "9.9.9" in message
    assert delivery.health_of(application, "Operator", delivery.other) == Health(
        f"Operator {delivery.other}", "Degraded", message
    )
    assert delivery.health_of(application, "Catalog", f"catalog-{delivery.name}").status == "Healthy"
    delivery.push({"all.yaml": delivery.objects(version="1.0.0")})
    delivery.until_synced_and_healthy()
    delivery.push({"all.yaml": delivery.objects(version="8.8.8")})
    application = delivery.until_degraded()
    found = delivery.stage.operator_when(delivery.other, "Stalled", lambda found: triple(found, "Stalled")[0] == "True")
    assert delivery.health_of(application, "Operator", delivery.other).message == triple(found, "Ready")[2]
    assert triple(found, "Installed")[0] == "True"


def test_installation_and_upgrades_are_never_degraded(delivery: ArgoCdDelivery, tmp_path: Path) -> None:
    """Every status that the API server has had is judged by Argo CD too, not only those that its controller saw."""
    stage = delivery.stage
    statuses: list[Object] = []

    def seen(event: Event) -> None:
        if event.object is not None and delivery.name in event.name:
            statuses.append(event.object)

    delivery.publish()
    operators, catalogs = stage.watch(OPERATORS), stage.watch(CATALOGS)
    operators.until("the Operators are listed", lambda found: True)
    catalogs.until("the Catalogs are listed", lambda found: True)
    delivery.deliver(delivery.objects(version="1.x"))
    delivery.until_synced_and_healthy()
    delivery.publish(["1.0.0", "1.1.0"])
    operators.until(
        "the new version of the catalog runs", lambda found: runs(found, delivery.other, "1.1.0"), seen=seen
    )
    delivery.publish(["1.0.0", "1.1.0", "2.0.0"])
    delivery.push({"all.yaml": delivery.objects(version="2.x")})
    operators.until("the version of the commit runs", lambda found: runs(found, delivery.other, "2.0.0"), seen=seen)
    delivery.until_synced_and_healthy()
    catalogs.until("all is seen", lambda found: True, seen=seen)
    assert delivery.statuses_of(f"Operator {delivery.other}") <= {"Missing", "Progressing", "Healthy"}
    assert {health.status for health in delivery.healths} <= {"Progressing", "Healthy", "Missing", ""}
    judged = {judge(delivery, object_, tmp_path) for object_ in statuses}
    assert judged == {"Progressing", "Healthy"}


def runs(objects: Mapping[str, Object], name: str, version: str) -> bool:
    """Whether the Operator is Ready with the version."""
    found = objects.get(name)
    if found is None or triple(found, "Ready")[0] != "True":
        return False
    return bool(found["status"]["installed"]["version"] == version)


def judge(delivery: ArgoCdDelivery, object_: Object, directory: Path) -> str:
    """The health that Argo CD's own command finds for an object."""
    path = directory / "object.yaml"
    path.write_text(json.dumps(object_))
    printed = delivery.argocd.offline_cli(
        *("admin", "settings", "resource-overrides", "health", str(path)), "--argocd-cm-path", str(SETTINGS)
    )
    (line,) = [line for line in printed.splitlines() if line.startswith("STATUS:")]
    return line.removeprefix("STATUS:").strip()
