"""Why a refusal does not offer to ignore some rules: the API server has them too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.errors import Invalid
from rukpak.bundledeployment.cluster.rest_mapper import CRDS
from rukpak.crd_safety.compare import compare
from rukpak.crd_safety.problem import NOT_PERMITTED
from tests.cluster.rukpak.harness import Harness, Object, definition


def another_scope(crd: Object) -> None:
    crd["spec"]["scope"] = "Cluster"


def another_kind(crd: Object) -> None:
    crd["spec"]["names"]["kind"] = "Ship"


def without_the_stored_version(crd: Object) -> None:
    crd["spec"]["versions"] = [{**crd["spec"]["versions"][0], "name": "v2"}]


CHANGES: dict[Rule, Callable[[Object], None]] = {
    Rule.SCOPE_CHANGED: another_scope,
    Rule.KIND_CHANGED: another_kind,
    Rule.STORED_VERSION_REMOVED: without_the_stored_version,
}


@pytest.mark.parametrize("rule", sorted(NOT_PERMITTED))
async def test_the_api_server_does_not_permit_what_no_setting_permits(rule: Rule, at: Harness) -> None:
    crd = definition(at.group)
    await at.create(CRDS, crd)
    live = await at.when(
        CRDS, crd["metadata"]["name"], "", lambda found: "Established" in str((found or {}).get("status"))
    )
    assert live is not None
    CHANGES[rule](crd)
    assert rule in {problem.rule for problem in compare(live, crd)}
    with pytest.raises(Invalid):
        await at.client.apply(CRDS, crd, "test", dry_run=True)
