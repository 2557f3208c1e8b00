"""Bearer tokens, reviewed by the real API server, at a real HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from olmkit.tls.delegated_auth import ALLOWED_TTL_SECONDS, DENIED_TTL_SECONDS, MAX_CONCURRENT_REVIEWS, DelegatedAuth
from olmkit.tls.peers import Peers
from olmkit.tls.review_rate_limiter import ACCESS_REVIEW_RATES, TOKEN_REVIEW_RATES
from olmkit.tls.server_tls import ServerTls
from tests.cluster.olmkit.conftest import proxied, until_allowed
from tests.cluster.proxy import Proxy
from tests.servers.https_site import Site, serve


@dataclass
class World:
    """A server that reviews tokens through a proxy to the API server; the test sets the time."""

    cluster: Cluster
    namespace: str
    site: Site
    proxy: Proxy
    client: Client
    http: aiohttp.ClientSession
    time: list[float]
    allowed: str
    """The token of an account that may get /catalogs/*."""
    reviews: list[str] = field(default_factory=list)

    async def get(
        self, path: str = "/catalogs/c/all.json", authorization: str | None = None
    ) -> tuple[int, str, dict[str, str]]:
        headers = {} if authorization is None else {"Authorization": authorization}
        async with self.http.get(f"http://127.0.0.1:{self.site.port}{path}", headers=headers) as answer:
            return answer.status, str(answer.reason), dict(answer.headers)

    async def status(self, token: str, path: str = "/catalogs/c/all.json") -> int:
        return (await self.get(path, f"Bearer {token}"))[0]

    def token(self, account: str) -> str:
        """Create a ServiceAccount and return a token of it."""
        self.cluster.kubectl("create", "serviceaccount", account, f"--namespace={self.namespace}")
        return self.cluster.kubectl("create", "token", account, f"--namespace={self.namespace}").strip()


class RecordingClient(Client):
    """A client that records its requests."""

    asked: list[str]

    async def request(self, method: str, path: str, **options: object) -> dict[str, object]:
        self.asked.append(path.rpartition("/")[2])
        return await super().request(method, path, **options)  # type: ignore[arg-type]  # passed on


@pytest.fixture
async def world(cluster: Cluster, namespace: str, tmp_path: Path) -> AsyncIterator[World]:
    role = f"reader-{uuid.uuid4().hex[:8]}"
    rules = [{"nonResourceURLs": ["/catalogs/*"], "verbs": ["get"]}]
    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role},
        "rules": rules,
    }
    cluster.kubectl("create", "-f", "-", input=json.dumps(body))
    cluster.kubectl(
        "create", "clusterrolebinding", role, f"--clusterrole={role}", f"--serviceaccount={namespace}:reader"
    )
    async with contextlib.AsyncExitStack() as stack:
        proxy, admin = await stack.enter_async_context(proxied(cluster, tmp_path))
        may_read = {"verb": "get", "path": "/catalogs/any"}
        await until_allowed(admin, f"{namespace}:reader", nonResourceAttributes=may_read)
        client = await stack.enter_async_context(await RecordingClient.connect(str(proxy.kubeconfig)))
        client.asked = []
        time = [1000.0]
        # Hundreds of concurrent clients in one process are slow.
        check = DelegatedAuth(client, lambda: time[0], timeout=60.0)
        site = await stack.enter_async_context(serve(None, [check.middleware]))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        made = World(cluster, namespace, site, proxy, client, http, time, "", client.asked)
        made.allowed = await asyncio.to_thread(made.token, "reader")
        yield made
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", role)


@pytest.mark.parametrize("path", ["/catalogs/c/all.json", "/catalogs/c/api/v1/metas?schema=olm.package"])
async def test_an_account_with_the_role_is_allowed(world: World, path: str) -> None:
    assert await world.status(world.allowed, path) == 200
    async with world.http.head(
        f"http://127.0.0.1:{world.site.port}{path}", headers={"Authorization": f"bearer {world.allowed}"}
    ) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("authorization", "said"),
    [
        pytest.param(None, "send a token: Authorization: Bearer <token>", id="no header"),
        pytest.param("", "send a token: Authorization: Bearer <token>", id="an empty header"),
        pytest.param("Bearer", "send a token: Authorization: Bearer <token>", id="no token"),
        pytest.param("Bearer  ", "send a token: Authorization: Bearer <token>", id="blanks only"),
        pytest.param("Basic dTpw", "send a token: Authorization: Bearer <token>", id="a password"),
        pytest.param("Bearer nonsense", "the token is not valid or has expired", id="nonsense"),
        pytest.param("Bearer \xff\xfe", "the token is not valid or has expired", id="bytes that are not text"),
        pytest.param(f"Bearer {'x' * 7000}", "the token is not valid or has expired", id="a long token"),
    ],
)
async def test_a_request_without_a_valid_token_is_unauthorized(
    world: World, authorization: str | None, said: str
) -> None:
    status, reason, headers = await world.get(authorization=authorization)
    assert (status, reason, headers["WWW-Authenticate"]) == (401, said, "Bearer")
    assert not world.site.asked


@pytest.mark.parametrize("path", ["/replication/v1/records", "/catalogs", "/catalogsandmore", "/"])
async def test_a_path_that_the_role_does_not_name_is_forbidden(world: World, path: str) -> None:
    status, reason, _ = await world.get(path, f"Bearer {world.allowed}")
    name = f"system:serviceaccount:{world.namespace}:reader"
    assert (status, reason) == (403, f"{name} may not get this path: a ClusterRole with nonResourceURLs grants it")
    assert not world.site.asked


async def test_an_account_without_the_role_is_forbidden(world: World) -> None:
    token = await asyncio.to_thread(world.token, "stranger")
    assert await world.status(token) == 403
    assert not world.site.asked


async def test_an_allowed_review_is_cached_for_a_minute_also_without_the_api_server(world: World) -> None:
    assert await world.status(world.allowed) == 200
    world.proxy.close()
    world.proxy.cut()
    world.time[0] += ALLOWED_TTL_SECONDS - 1
    assert await world.status(world.allowed) == 200
    world.time[0] += 1
    status, reason, headers = await world.get(authorization=f"Bearer {world.allowed}")
    assert (status, headers["Retry-After"]) == (503, "2")
    assert reason == "the API server, which authorizes requests, does not respond"
    await world.proxy.open()
    assert await world.status(world.allowed) == 200


async def test_a_denied_review_is_cached_for_ten_seconds(world: World) -> None:
    token = await asyncio.to_thread(world.token, "late")
    assert await world.status(token) == 403
    asked = len(world.reviews)
    assert await world.status(token) == 403
    assert len(world.reviews) == asked
    name = f"late-{uuid.uuid4().hex[:8]}"
    await asyncio.to_thread(
        world.cluster.kubectl,
        *("create", "clusterrolebinding", name, "--clusterrole=cluster-admin"),
        f"--serviceaccount={world.namespace}:late",
    )
    try:
        async with asyncio.timeout(60):  # the API server's authorizer is updated with a short delay
            while await world.status(token) != 200:
                world.time[0] += DENIED_TTL_SECONDS
    finally:
        await asyncio.to_thread(world.cluster.kubectl, "delete", "clusterrolebinding", name)


async def test_a_deleted_account_is_allowed_for_a_minute_at_most(world: World) -> None:
    token = world.allowed
    assert await world.status(token) == 200
    await asyncio.to_thread(
        world.cluster.kubectl, "delete", "serviceaccount", "reader", f"--namespace={world.namespace}"
    )
    world.time[0] += ALLOWED_TTL_SECONDS
    async with asyncio.timeout(60):  # the API server caches tokens for ten seconds
        while await world.status(token) != 401:
            await asyncio.sleep(0.2)
            world.time[0] += ALLOWED_TTL_SECONDS


async def test_concurrent_requests_share_one_review(world: World) -> None:
    found = await asyncio.gather(*(world.status(world.allowed) for _ in range(50)))
    assert set(found) == {200}
    assert sorted(world.reviews) == ["subjectaccessreviews", "tokenreviews"]


async def test_a_client_that_disconnects_does_not_cancel_the_review(world: World) -> None:
    world.proxy.silence()
    gone, stays = (asyncio.create_task(world.status(world.allowed)) for _ in range(2))
    async with asyncio.timeout(60):
        while not world.reviews:  # noqa: ASYNC110 there is no event for a review
            await asyncio.sleep(0.02)
    gone.cancel()
    await asyncio.wait({gone})
    world.proxy.resume()
    assert await stays == 200


async def test_a_review_without_response_times_out(world: World) -> None:
    check = DelegatedAuth(world.client, timeout=0.3)
    world.proxy.silence()
    async with serve(None, [check.middleware]) as site:
        headers = {"Authorization": f"Bearer {world.allowed}"}
        async with world.http.get(f"http://127.0.0.1:{site.port}/catalogs/c", headers=headers) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
        world.proxy.resume()
        async with asyncio.timeout(60):
            while True:
                async with world.http.get(f"http://127.0.0.1:{site.port}/catalogs/c", headers=headers) as answer:
                    if answer.status == 200:
                        return


async def test_invalid_tokens_do_not_displace_cached_users(world: World) -> None:
    assert await world.status(world.allowed) == 200
    await asyncio.gather(*(world.status(f"stranger-{number}") for number in range(5 * MAX_CONCURRENT_REVIEWS)))
    world.proxy.close()
    world.proxy.cut()
    assert await world.status(world.allowed) == 200


async def test_token_reviews_are_rate_limited(world: World) -> None:
    asked = world.reviews.count("tokenreviews")
    answers = await asyncio.gather(*(world.get(authorization=f"Bearer stranger-{number}") for number in range(200)))
    reviews = world.reviews.count("tokenreviews") - asked
    assert reviews <= TOKEN_REVIEW_RATES.burst, reviews
    refused = [(reason, headers["Retry-After"]) for status, reason, headers in answers if status == 429]
    assert len(refused) == 200 - reviews
    assert set(refused) == {("too many new tokens: try again later", "2")}
    world.time[0] += 1
    found = await asyncio.gather(*(world.status(f"other-{number}") for number in range(200)))
    assert found.count(401) == TOKEN_REVIEW_RATES.rate


async def test_a_valid_token_is_exempt_from_the_rate_limit(world: World) -> None:
    assert await world.status(world.allowed) == 200
    await asyncio.gather(*(world.status(f"stranger-{number}") for number in range(100)))
    assert await world.status("one-more") == 429
    assert await world.status(world.allowed) == 200
    world.time[0] += ALLOWED_TTL_SECONDS
    await asyncio.gather(*(world.status(f"later-{number}") for number in range(100)))
    assert await world.status("one-more-later") == 429
    asked = world.reviews.count("tokenreviews")
    assert await world.status(world.allowed) == 200
    assert world.reviews.count("tokenreviews") == asked + 1, "it is reviewed again, without a limit"


async def test_replication_has_a_rate_limit_of_its_own(world: World) -> None:
    await asyncio.gather(*(world.status(f"stranger-{number}") for number in range(100)))
    assert await world.status(world.allowed) == 429
    assert await world.status(world.allowed, "/replication/v1/records") == 403, "it is reviewed, and forbidden"


OTHER_PATHS = 3 * ACCESS_REVIEW_RATES.burst


async def flood(world: World, token: str, prefix: str) -> list[tuple[int, str, dict[str, str]]]:
    """Responses for new paths."""
    paths = [f"{prefix}-{number}" for number in range(OTHER_PATHS)]
    return list(await asyncio.gather(*(world.get(path, f"Bearer {token}") for path in paths)))


@pytest.mark.parametrize(
    ("prefix", "answered"),
    [
        pytest.param("/elsewhere", 403, id="forbidden"),
        pytest.param("/catalogs/absent", 404, id="allowed but missing"),
    ],
)
async def test_access_reviews_are_rate_limited(world: World, prefix: str, answered: int) -> None:
    assert await world.status(world.allowed) == 200
    asked = world.reviews.count("subjectaccessreviews")
    answers = await flood(world, world.allowed, prefix)
    reviews = world.reviews.count("subjectaccessreviews") - asked
    assert reviews == ACCESS_REVIEW_RATES.burst
    assert [status for status, _, _ in answers].count(answered) == reviews
    refused = [(reason, headers["Retry-After"]) for status, reason, headers in answers if status == 429]
    assert len(refused) == OTHER_PATHS - reviews
    assert set(refused) == {("too many new paths: try again later", "2")}
    world.time[0] += 1
    found = await flood(world, world.allowed, f"{prefix}-later")
    assert [status for status, _, _ in found].count(answered) == ACCESS_REVIEW_RATES.rate


async def test_existing_paths_are_exempt_from_the_rate_limit(world: World) -> None:
    other = await asyncio.to_thread(world.token, "other")
    assert await world.status(world.allowed) == 200
    world.time[0] += ALLOWED_TTL_SECONDS
    await flood(world, world.allowed, "/catalogs/absent")
    assert await world.status(world.allowed, "/catalogs/absent") == 429
    asked = world.reviews.count("subjectaccessreviews")
    assert await world.status(world.allowed) == 200, "an existing path"
    assert world.reviews.count("subjectaccessreviews") == asked + 1, "it is reviewed again, without a limit"
    assert await world.status(other, "/elsewhere") == 403, "each account has its own limit"


async def test_requests_for_existing_paths_are_not_limited(world: World) -> None:
    for number in range(OTHER_PATHS):
        assert await world.status(world.allowed, f"/catalogs/c/api/v1/packages/{number}/icon") == 200


async def test_tokens_of_one_account_share_access_reviews(world: World) -> None:
    again = await asyncio.to_thread(
        world.cluster.kubectl, "create", "token", "reader", f"--namespace={world.namespace}"
    )
    assert await world.status(world.allowed) == 200
    assert await world.status(again.strip()) == 200
    assert sorted(world.reviews) == ["subjectaccessreviews", "tokenreviews", "tokenreviews"]


async def test_no_token_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world.proxy.close()
    world.proxy.cut()
    assert await world.status(world.allowed) == 503
    assert await world.status(world.allowed) == 503
    text = str([vars(one) for one in caplog.records])
    assert text.count("token and access reviews fail") >= 1
    assert len([one for one in caplog.records if "reviews fail" in one.getMessage()]) == 1
    assert world.allowed not in text


async def test_a_replica_sends_its_own_token(world: World, cluster: Cluster) -> None:
    path = await asyncio.to_thread(cluster.token_kubeconfig, world.namespace, "reader")
    async with await Client.connect(str(path)) as client:
        options = await Peers(ServerTls(), client=client).request_options()
        assert options["headers"]["Authorization"].startswith("Bearer ey")
