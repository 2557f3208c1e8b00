"""The credentials and the policy with which the image of a bundle is read: those of its Catalog."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catalogd.bundle_summaries.summaries import AskedBundle
from catalogd.bundle_summaries.summary_access import CatalogTasks
from catalogd.bundle_summaries.summary_store import SummaryStore
from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials

ASKED = AskedBundle("c", "uid", "things", "things.v1", "registry.example.com/things:v1")
KEY = "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"
VERIFY = {"authorities": [{"key": {"data": KEY}}]}
IMAGE = {"type": "image", "image": {"ref": "registry.example.com/c:v1", "pullSecret": "login"}}
GIT = {
    "type": "git",
    "git": {
        "repository": "https://example.com/c",
        "ref": {"branch": "main"},
        "auth": {"secret": {"name": "login"}},
    },
}


def catalog(source: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "catalogd.operatorframework.io/v1",
        "kind": "Catalog",
        "metadata": {"name": "c", "uid": "uid"},
        "spec": {"source": source, **spec},
    }


class Inputs:
    """The Secrets of the system namespace, as SourceInputs has them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.current = {"login": "7"}
        self.secrets = SimpleNamespace(version=self.current.get, common_version="3", credentials=self.credentials)

    async def credentials(self, name: str) -> Credentials:
        self.asked.append(name)
        return Credentials()

    async def denied_hosts(self) -> tuple[str, ...]:
        return ("10.0.0.1:443",)

    async def policy_of(self, verification: Any) -> Any:
        return "the policy"


def tasks(raw: dict[str, Any] | None, inputs: Inputs) -> CatalogTasks:
    given: Any = inputs
    return CatalogTasks(lambda name: raw if name == "c" else None, given, Access())


@pytest.mark.parametrize(
    ("source", "secret"),
    [
        pytest.param(IMAGE, "login", id="an image hands on"),
        pytest.param(GIT, "", id="a login of git is for no registry"),
    ],
)
def test_the_secret_of_the_catalog_is_used(source: dict[str, Any], secret: str, tmp_path: Path) -> None:
    inputs = Inputs()
    task = asyncio.run(tasks(catalog(source), inputs).task(ASKED, SummaryStore(tmp_path)))
    assert inputs.asked == [secret]
    assert (task.request.image, task.request.access.policy) == (ASKED.image, None)
    assert task.request.access.denied_hosts == ("10.0.0.1:443",)
    assert "redentials" not in repr(task), "requests have them"


def test_the_policy_for_bundles_is_verified(tmp_path: Path) -> None:
    raw = catalog(IMAGE, bundles={"verify": VERIFY})
    task = asyncio.run(tasks(raw, Inputs()).task(ASKED, SummaryStore(tmp_path)))
    policy: Any = task.request.access.policy
    assert policy == "the policy"


def test_access_is_proved_again_when_a_secret_or_the_policy_changes() -> None:
    inputs = Inputs()
    before = tasks(catalog(IMAGE), inputs).access_versions("c")
    assert before == tasks(catalog(IMAGE), inputs).access_versions("c")
    assert tasks(catalog(IMAGE, bundles={"verify": VERIFY}), inputs).access_versions("c") != before
    assert tasks(catalog(GIT), inputs).access_versions("c") != before
    inputs.current["login"] = "8"
    assert tasks(catalog(IMAGE), inputs).access_versions("c") != before


def test_a_catalog_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(Waiting):
        asyncio.run(tasks(None, Inputs()).task(ASKED, SummaryStore(tmp_path)))
