"""A console on loopback, in front of an API server that knows tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.console import Browser, running_console
from tests.servers.reviewing_api import ReviewingApi, reviewing_api

ANNA, BEN = "token-of-anna", "token-of-ben"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ReviewingApi]:
    """The API server. Anna and Ben have tokens; the kubeconfig has one too."""
    users = {ANNA: "anna", BEN: "ben", "the-token-of-the-kubeconfig": "admin"}
    async with reviewing_api(tmp_path, users) as running:
        running.objects["/api/v1/namespaces"] = {"metadata": {"resourceVersion": "1"}, "items": []}
        running.objects |= {"/api": {"items": []}, "/apis": {"items": []}}
        yield running


@pytest.fixture
async def browser(api: ReviewingApi) -> AsyncIterator[Browser]:
    """A browser at a console where people paste tokens. It has no session."""
    async with running_console(str(api.kubeconfig)) as found:
        yield found
