"""Nothing is installed as an account while no webhook guards who names it; what is installed is removed all the same."""

from __future__ import annotations

from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.gocompat.text import list_names
from rukpak.admission.probe import ACCOUNT_GUARDS, CONFIGURATION
from tests.cluster.rukpak.admission.conftest import Place
from tests.cluster.rukpak.harness import CONFIG_MAPS, READY, config_map, gone, says
from tests.cluster.rukpak.tenants import Tenant


async def test_nothing_is_done_as_an_account_before_the_webhooks_guard_who_names_it(
    place: Place, tenant: Tenant
) -> None:
    at, whole = place.at, place.configuration()
    fewer = {**whole, "webhooks": [each for each in whole["webhooks"] if each["name"] not in ACCOUNT_GUARDS]}
    await tenant.bind("admin", tenant.namespace)
    async with place.rukpak():
        await at.client.apply(WEBHOOK_CONFIGURATIONS, fewer, "test")
        await place.answers()
        await tenant.install([config_map("log", tenant.namespace)])
        missing = f"the API server does not ask {list_names(ACCOUNT_GUARDS)}"
        await at.until(says("Reconciling", "True", "WaitingForWebhook", missing))
        assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None
        await place.configure()
        await at.until(READY)
        await place.kubectl("delete", "validatingwebhookconfiguration", CONFIGURATION)
        await at.remove()
        await at.until(gone)
        assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None
