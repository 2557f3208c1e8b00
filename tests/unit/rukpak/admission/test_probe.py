"""The webhooks about ServiceAccounts that the configuration has to have, before anything is installed as one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from devcluster.suite import WEBHOOKS
from olmkit.api.clusterextensions import SERVICE_ACCOUNT_PATTERN
from rukpak.admission.probe import ACCOUNT_GUARDS, missing_guards

Object = dict[str, Any]


def configuration(*without: str, policy: str = "Fail") -> Object:
    """That of config/webhook, without these webhooks, and with this policy of those about accounts."""
    found: Object = yaml.safe_load((WEBHOOKS / "rukpak.yaml").read_text())
    webhooks = [each for each in found["webhooks"] if each["name"] not in without]
    guards = [{**each, "failurePolicy": policy} if each["name"] in ACCOUNT_GUARDS else each for each in webhooks]
    return {**found, "webhooks": guards}


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        pytest.param(configuration(), [], id="that of this version"),
        pytest.param(None, [*ACCOUNT_GUARDS], id="none"),
        pytest.param({"webhooks": None}, [*ACCOUNT_GUARDS], id="an empty one"),
        pytest.param(configuration(ACCOUNT_GUARDS[0]), [ACCOUNT_GUARDS[0]], id="without that of BundleDeployments"),
        pytest.param(configuration(ACCOUNT_GUARDS[1]), [ACCOUNT_GUARDS[1]], id="without that of Operators"),
        pytest.param(configuration(ACCOUNT_GUARDS[2]), [ACCOUNT_GUARDS[2]], id="without that of ClusterExtensions"),
        pytest.param(configuration(policy="Ignore"), [*ACCOUNT_GUARDS], id="ignored when rukpak does not answer"),
    ],
)
def test_the_guards_that_are_missing_are_named(seen: Object | None, missing: list[str]) -> None:
    problem = missing_guards(seen)
    assert [name for name in ACCOUNT_GUARDS if name in problem] == missing
    assert problem.startswith("the API server does not ask ") if missing else not problem


def test_the_api_server_and_the_suite_read_the_account_of_a_clusterextension_in_the_same_way() -> None:
    (guard,) = (each for each in configuration()["webhooks"] if each["name"] == ACCOUNT_GUARDS[2])
    assert f".matches( r'{SERVICE_ACCOUNT_PATTERN}')" in guard["matchConditions"][1]["expression"]
