"""Checks whether the API server asks the webhooks without which rukpak does nothing. Creates nothing itself.

vbundles            guards the spec of a Bundle, so that none is created before a dry run is denied by it
vserviceaccounts    guard who names a ServiceAccount, so that nothing is installed as one while the configuration lacks them.
                    The API server asks them about those alone who may not impersonate it, as rukpak may, whose dry run would
                    show nothing
"""

from __future__ import annotations

import asyncio
import re
import time

from olmkit.api import bundles
from olmkit.api.meta import Object
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import ApiError, Forbidden
from olmkit.gocompat.text import list_names
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.admission.bundles import PROBE_ANNOTATION, PROBE_ANSWERED

ACCOUNT_GUARDS = (
    "vserviceaccounts.core.rukpak.io",
    "vserviceaccounts.operators.operatorframework.io",
    "vserviceaccounts.olm.operatorframework.io",
)
"""The webhooks that guard which account a BundleDeployment, an Operator and a ClusterExtension name."""
CONFIGURATION = "olm-suite-rukpak"
"""The ValidatingWebhookConfiguration of config/webhook."""
ANSWER_VALID_SECONDS = 60.0
"""The time for which an answer counts. Many Bundles that are created at once cost one dry run."""
MIN_RETRY_SECONDS = 1.0
"""The minimum between two dry runs without an answer: many BundleDeployments may wait for one."""
_NOT_ASKED = f"the API server does not ask it: apply the ValidatingWebhookConfiguration {CONFIGURATION} of this version"
_CHANGING = re.compile(r"\S+->(?=\S)")
"""The client's side of a connection, whose port is another one each time."""
_BODY = {
    "apiVersion": bundles.KIND.api_version,
    "kind": bundles.KIND.kind,
    "metadata": {"name": "admission-probe", "annotations": {PROBE_ANNOTATION: "true"}},
    "spec": {
        "provisionerClassName": PLAIN,
        "source": {"type": "image", "image": {"ref": "registry.invalid/admission-probe"}},
    },
}


def missing_guards(configuration: Object | None) -> str:
    """Name the webhooks about ServiceAccounts that the configuration lacks, or ignores when they do not answer; empty if it has
    all."""
    webhooks = (configuration or {}).get("webhooks") or ()
    asked = {each["name"] for each in webhooks if each.get("failurePolicy", "Fail") == "Fail" and each.get("rules")}
    missing = [name for name in ACCOUNT_GUARDS if name not in asked]
    what = f"apply the ValidatingWebhookConfiguration {CONFIGURATION} of this version"
    return f"the API server does not ask {list_names(missing)}: {what}" if missing else ""


class AdmissionProbe:
    """For all BundleDeployments of this process. `configurations` has the configuration of the webhooks."""

    def __init__(self, client: Client, configurations: Informer | None = None) -> None:
        self._client = client
        self._configurations = configurations
        self._asking = asyncio.Lock()
        self._problem = ""
        self._expires = 0.0

    async def problem(self) -> str:
        """Explain why the webhook does not answer; empty if it does."""
        async with self._asking:
            if time.monotonic() >= self._expires:
                self._problem = await self._ask()
                self._expires = time.monotonic() + (MIN_RETRY_SECONDS if self._problem else ANSWER_VALID_SECONDS)
            return self._problem

    def account_problem(self) -> str:
        """Explain why nothing guards who names a ServiceAccount; empty if the webhooks do."""
        if self._configurations is None:
            return ""
        if not self._configurations.synced.is_set():
            return f"the ValidatingWebhookConfiguration {CONFIGURATION} is not read yet"
        return missing_guards(self._configurations.get(CONFIGURATION))

    async def _ask(self) -> str:
        try:
            await self._client.request("POST", bundles.KIND.path(), query={"dryRun": "All"}, body=_BODY)
        except Forbidden as error:
            return "" if error.reason == PROBE_ANSWERED else f"a dry run is refused: {error.message}"
        except ApiError as error:
            return f"a dry run fails: {_CHANGING.sub('', error.message)}"
        return _NOT_ASKED
