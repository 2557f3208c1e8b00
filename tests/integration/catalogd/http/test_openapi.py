"""The server conforms to its OpenAPI document for valid and invalid requests: schemathesis over real HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import zstandard
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import ignored_auth

from catalogd.bundle_summaries.summaries import Answer, AskedBundle, BundleSummaries, Ready
from catalogd.http import openapi
from catalogd.http.bundle_summary_route import SummaryRoute
from catalogd.storage.catalog_store import CatalogStore
from olmkit.fbc.bundle_summary import BundleSummary
from tests.integration.catalogd.catalog_server import BLOBS, DIGEST, Site, put, serving

pytest_plugins = ["schemathesis.pytest.plugin"]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class KnownSummary(BundleSummaries):
    """The same summary of every bundle."""

    def __init__(self) -> None:
        """Has no jobs."""

    async def answer(self, asked: AskedBundle) -> Answer:
        return Ready(zstandard.compress(BundleSummary({}).to_json()), DIGEST)


def _with_examples() -> schemathesis.BaseSchema:
    """The document, with names that are there as examples: else hardly a request would find anything."""
    document = openapi.document()
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation["parameters"]:
                known = {"catalog": "c", "package": "p", "schema": "olm.bundle", "name": "p.v1", "digest": DIGEST}
                known |= {"provides": "example.com/Party", "all": "true", "bundle": "p.v1"}
                if parameter["in"] != "header":
                    parameter["example"] = known[parameter["name"]]
    # A range after the end and an unavailable encoding conform to the document, and are refused.
    accepted = {"expected-statuses": ["2xx", "3xx", 404, 406, 416]}
    config = schemathesis.Config.from_dict({"checks": {"positive_data_acceptance": accepted}})
    return schemathesis.openapi.from_dict(document, config=config)


SCHEMA = _with_examples()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a thread of its own with the catalog `c`, whose package `p` has an icon."""
    started: list[Site] = []
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve(root: Path) -> None:
        catalog_store = CatalogStore(root)
        icon = {"base64data": PICTURE, "mediatype": "image/png"}
        await put(catalog_store, "c", DIGEST, [{**BLOBS[0], "icon": icon}, *BLOBS[1:3]])
        async with serving(catalog_store, summaries=SummaryRoute(KnownSummary())) as site:
            loops.append(asyncio.get_running_loop())
            started.append(site)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve(tmp_path_factory.mktemp("catalog_store"))))
    thread.start()
    assert ready.wait(30)
    yield started[0].base
    loops[0].call_soon_threadsafe(stop.set)
    thread.join()


@SCHEMA.parametrize()
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_request_is_answered_according_to_the_document(base: str, case: schemathesis.Case[Any]) -> None:
    # A token is required only with a flag, which schemathesis cannot know.
    case.call_and_validate(base_url=base, excluded_checks=[ignored_auth], timeout=30)


def test_the_examples_find_something(base: str) -> None:
    """Else the test above would see refusals only."""
    assert {path: _get(base, _filled(path))[0] for path in SCHEMA.raw_schema["paths"]} == dict.fromkeys(
        SCHEMA.raw_schema["paths"], 200
    )


def test_the_document_that_is_served_is_the_one_that_is_tested(base: str) -> None:
    status, body, tag = _get(base, "/openapi.json")
    assert (status, json.loads(body)) == (200, openapi.document())
    assert _get(base, "/openapi.json", tag) == (304, b"", tag)


def _get(base: str, path: str, known: str = "") -> tuple[int, bytes, str]:
    """Status, body and entity tag."""
    client = http.client.HTTPConnection(base.removeprefix("http://"), timeout=30)
    client.request("GET", path, headers={"If-None-Match": known} if known else {})
    answer = client.getresponse()
    got = answer.status, answer.read(), answer.headers["ETag"]
    client.close()
    return got


def _filled(path: str) -> str:
    query = "?package=p" if path.endswith("resolution") else ""
    return path.replace("{catalog}", "c").replace("{package}", "p").replace("{bundle}", "p.v1") + query
