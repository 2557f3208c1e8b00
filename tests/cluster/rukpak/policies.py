"""Admission policies that tests create."""

from __future__ import annotations

import asyncio
from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from tests.cluster.rukpak.harness import Harness

_GROUP = "admissionregistration.k8s.io"
POLICIES = Kind(_GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies")
BINDINGS = Kind(_GROUP, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings")


async def until_denied(at: Harness, method: str, path: str, body: Any) -> None:
    """Wait until such a request is denied. A policy counts some time after it was made, and no event reports when."""
    async with asyncio.timeout(60):
        while True:
            try:
                await at.client.request(method, path, query={"dryRun": "All"}, body=body)
            except ApiError:
                return
            await asyncio.sleep(0.2)
