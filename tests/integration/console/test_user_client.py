"""Contents of catalogs: read once for all users, and only for those who may list Packages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from console.catalog_service import CatalogService
from console.user_client import UserClient
from console.users import Users
from olmctl.questions.catalogd import CatalogReadError, proxy_path, read_catalog
from olmctl.questions.session import Session
from olmkit.api import catalogs, packages
from olmkit.api.meta import Object
from olmkit.errors import ApiError
from olmkit.tls.client_tls import ClientTls
from tests.console import NAMESPACE
from tests.integration.console.conftest import ANNA, BEN
from tests.servers.reviewing_api import ReviewingApi

PACKAGES = "api/v1/packages"
PROXIED = f"{proxy_path(NAMESPACE)}/catalogs/samples/{PACKAGES}"


def catalog(digest: str, generation: int = 1) -> Object:
    """A Catalog that serves content of a digest."""
    condition = {"type": "Serving", "status": "True", "reason": "Available", "message": ""}
    status = {
        "contentDigest": f"sha256:{digest * 64}",
        "contentURL": "https://catalogd/all.json",
        "conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    metadata = {"name": "samples", "uid": "u", "generation": generation, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"source": {"type": "image", "image": {"ref": "a/b:c"}}}, "status": status}


def serve(api: ReviewingApi, *found: Object) -> None:
    api.objects[catalogs.KIND.path()] = {"metadata": {"resourceVersion": "1"}, "items": list(found)}


@pytest.fixture
async def users(api: ReviewingApi) -> AsyncIterator[Users]:
    """Sessions at the API server, with a Catalog that it proxies."""
    serve(api, catalog("a"))
    api.objects[PROXIED] = {"packages": ["one"]}
    async with UserClient(str(api.kubeconfig), is_anonymous=True) as client:
        await client.open()
        yield Users(client, NAMESPACE)


def reads(api: ReviewingApi) -> list[str]:
    """The tokens with which the content was read."""
    return [token.removeprefix("Bearer ") for _, path, token in api.asked if path == PROXIED]


async def test_what_one_user_has_read_is_there_for_the_next(api: ReviewingApi, users: Users) -> None:
    for token in (ANNA, BEN, ANNA):
        session = Session(users.client_of(token), NAMESPACE)
        found = await read_catalog(session, "samples", PACKAGES)
        assert found == {"packages": ["one"]}
        found["packages"].append("a change of the caller")
    assert reads(api) == [ANNA]


async def test_other_content_and_another_list_of_packages_are_read_again(api: ReviewingApi, users: Users) -> None:
    for number, each in enumerate((catalog("a"), catalog("a", generation=2), catalog("b")), 1):
        serve(api, each)
        await read_catalog(Session(users.client_of(ANNA), NAMESPACE), "samples", PACKAGES)
        assert len(reads(api)) == number


async def test_who_may_not_list_packages_gets_nothing_of_the_cache(api: ReviewingApi, users: Users) -> None:
    await read_catalog(Session(users.client_of(ANNA), NAMESPACE), "samples", PACKAGES)
    api.allowed = lambda attributes: attributes["resource"] != packages.KIND.plural
    api.objects[PROXIED] = 403
    with pytest.raises(CatalogReadError):
        await read_catalog(Session(users.client_of(BEN), NAMESPACE), "samples", PACKAGES)
    assert reads(api) == [ANNA, BEN]


async def test_an_error_is_not_kept(api: ReviewingApi, users: Users) -> None:
    session = Session(users.client_of(ANNA), NAMESPACE)
    kept = api.objects.pop(PROXIED)
    with pytest.raises(CatalogReadError):
        await read_catalog(session, "samples", PACKAGES)
    api.objects[PROXIED] = kept
    assert await read_catalog(session, "samples", PACKAGES) == kept


async def test_a_summary_may_come_later_and_is_asked_for_each_time(api: ReviewingApi, users: Users) -> None:
    path = "api/v1/bundles/x.v1/summary"
    session = Session(users.client_of(ANNA), NAMESPACE)
    for answer in ({"state": "pending"}, {"state": "ready"}):
        api.objects[f"{proxy_path(NAMESPACE)}/catalogs/samples/{path}"] = answer
        assert await read_catalog(session, "samples", path) == answer


@pytest.mark.parametrize("needs_token", [False, True])
async def test_in_the_cluster_catalogd_itself_is_asked(api: ReviewingApi, users: Users, needs_token: bool) -> None:
    """Without rights on Services. A token is sent over HTTPS only."""
    asked: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization", ""))
        return (
            web.json_response({"error": "a token"}, status=401)
            if needs_token
            else web.json_response({"of": "catalogd"})
        )

    application = web.Application()
    application.router.add_get(f"/catalogs/samples/{PACKAGES}", handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    service = CatalogService(f"http://127.0.0.1:{runner.addresses[0][1]}", ClientTls())
    client = users._client.for_user(ANNA, users._cache, NAMESPACE, service)
    try:
        if needs_token:
            with pytest.raises(ApiError):
                await client.request("GET", PROXIED)
        else:
            assert await client.request("GET", PROXIED) == {"of": "catalogd"}
    finally:
        await service.close()
        await runner.cleanup()
    assert (set(asked), reads(api)) == ({""}, [])
