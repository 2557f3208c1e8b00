"""Checks whether the API server asks `vbundles.core.rukpak.io` before it creates a Bundle, by a dry run that has to be denied.

Until the API server is known to ask, nothing guards the spec of a Bundle, so that rukpak creates none. Creates nothing itself.
"""

from __future__ import annotations

import asyncio
import re
import time

from olmkit.api import bundles
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import ApiError, Forbidden
from olmkit.runtime.client import Client
from rukpak.admission.bundles import PROBE_ANNOTATION, PROBE_ANSWERED

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


class AdmissionProbe:
    """For all BundleDeployments of this process."""

    def __init__(self, client: Client) -> None:
        self._client = client
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

    async def _ask(self) -> str:
        try:
            await self._client.request("POST", bundles.KIND.path(), query={"dryRun": "All"}, body=_BODY)
        except Forbidden as error:
            return "" if error.reason == PROBE_ANSWERED else f"a dry run is refused: {error.message}"
        except ApiError as error:
            return f"a dry run fails: {_CHANGING.sub('', error.message)}"
        return _NOT_ASKED
