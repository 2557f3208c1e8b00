"""The client of one user, at the real API server: its own token, and contents of a real catalogd that users share.

catalogd is asked as in a cluster, by its Service; the rest goes through a proxy that counts.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from catalogd.storage.catalog_store import CatalogStore
from console.catalog_service import CatalogService
from console.user_client import UserClient
from console.users import Users
from devcluster.cluster import Cluster
from olmctl.questions.catalogd import CatalogReadError, proxy_path, read_catalog
from olmctl.questions.session import Session
from olmkit.api import catalogs
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Forbidden, NotFound, Unavailable
from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import create
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.delegated_auth import DelegatedAuth
from olmkit.tls.server_tls import ServerTls
from tests.cluster.olmkit.conftest import NAMESPACE as NAMESPACES
from tests.cluster.olmkit.conftest import until_allowed
from tests.cluster.proxy import run_as
from tests.cluster.recording_proxy import RecordingProxy
from tests.integration.catalogd.catalog_server import DIGEST, put, serving

CATALOG, PACKAGES = "fresh", "api/v1/packages"
SYSTEM = "olm-suite-system"
ANY_TOKEN = "no-token-of-anybody"
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
READER = (
    "--verb=get,list,watch",
    "--resource=catalogs.catalogd.operatorframework.io,packages.catalogd.operatorframework.io",
)


@dataclass(frozen=True)
class Names:
    """A namespace with the accounts anna, ben, who may read catalogs, and nobody; and their tokens."""

    namespace: str
    anna: str
    ben: str
    nobody: str


@pytest.fixture(scope="module")
def names(definitions: Cluster) -> Iterator[Names]:
    cluster, name = definitions, f"users-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    made = {}
    for account in ("anna", "ben", "nobody"):
        cluster.kubectl("create", "serviceaccount", account, f"--namespace={name}")
        made[account] = cluster.kubectl("create", "token", account, f"--namespace={name}").strip()
    cluster.kubectl("create", "clusterrole", name, *READER)
    cluster.kubectl(
        *("create", "clusterrolebinding", name, f"--clusterrole={name}"),
        *(f"--serviceaccount={name}:{account}" for account in ("anna", "ben")),
    )
    yield Names(name, **made)
    for kind in ("clusterrolebinding", "clusterrole", "namespace"):
        cluster.kubectl("delete", kind, name, "--wait=false")


class CountingService(CatalogService):
    """The client of catalogd's Service; `asked` has the paths."""

    def __init__(self, url: str, ca_file: Path | None = None) -> None:
        super().__init__(url, ClientTls(ca_file))
        self.asked: list[str] = []

    async def get(self, target: str, token: str) -> Object:
        self.asked.append(target)
        return await super().get(target, token)


@dataclass
class Place:
    """A process of the console: its users, their tokens, and what it asks of whom."""

    users: Users
    names: Names
    api: RecordingProxy
    service: CountingService
    store: CatalogStore
    admin: Client
    cluster: Cluster
    made: list[str] = field(default_factory=list)

    def session(self, token: str) -> Session:
        return Session(self.users.client_of(token), SYSTEM)

    async def read(self, token: str, path: str = PACKAGES) -> Object:
        return await read_catalog(self.session(token), CATALOG, path)

    async def catalog(self, digest: str = DIGEST, **spec: Any) -> None:
        """Write the Catalog that serves this content."""
        source = {"type": "image", "image": {"ref": f"example.com/c@{DIGEST}"}}
        body: Object = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": {"name": CATALOG}}
        await self.admin.apply(catalogs.KIND, {**body, "spec": {"source": source, **spec}}, "test")
        serving_now = {"type": "Serving", "status": "True", "reason": "Available", "message": ""}
        status = {
            "contentDigest": digest,
            "contentURL": f"https://catalogd/catalogs/{CATALOG}/all.json",
            "conditions": [{**serving_now, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        }
        await self.admin.apply_status(catalogs.KIND, {**body, "status": status}, "test")


@pytest.fixture
async def place(definitions: Cluster, names: Names, tmp_path: Path) -> AsyncIterator[Place]:
    store = CatalogStore(tmp_path / "store")
    await put(store, CATALOG, DIGEST, uid=f"uid-of-{CATALOG}")
    async with (
        serving(store) as site,
        run_as(RecordingProxy, definitions.kubeconfig, tmp_path) as api,
        await Client.connect(str(definitions.kubeconfig)) as admin,
        UserClient(str(api.kubeconfig), is_anonymous=True) as client,
    ):
        await client.open()
        service = CountingService(site.base)
        found = Place(Users(client, SYSTEM, service), names, api, service, store, admin, definitions)
        may_list = {"verb": "list", "group": "catalogd.operatorframework.io", "resource": "packages"}
        for account in ("anna", "ben"):
            await until_allowed(admin, f"{names.namespace}:{account}", resourceAttributes=may_list)
        await found.catalog()
        yield found
        await service.close()
        await admin.delete(catalogs.KIND, CATALOG)


async def user_of(client: Client) -> str:
    """The name that the API server knows the client by."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    found = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=review)
    return str(found["status"]["userInfo"]["username"])


async def test_each_user_is_known_by_the_own_token_and_nobody_by_that_of_the_process(place: Place) -> None:
    names = place.names
    clients = {account: place.users.client_of(getattr(names, account)) for account in ("anna", "ben", "nobody")}
    for account, client in clients.items():
        assert await user_of(client) == f"system:serviceaccount:{names.namespace}:{account}"
    with pytest.raises(Forbidden) as unknown:
        await place.users.client_of(ANY_TOKEN).list(catalogs.KIND)
    assert unknown.value.status == 401
    with pytest.raises(ApiError):
        await user_of(place.users._client)
    with pytest.raises(RuntimeError, match="has an identity of its own"):
        place.admin.with_token(names.anna)
    assert {tuple(each.impersonation) for each in place.api.requests} == {()}, "no identity is ever borrowed"


async def test_what_one_user_has_read_is_there_for_the_next(place: Place) -> None:
    found = await place.read(place.names.anna)
    assert [each["name"] for each in found["packages"]] == ["p", "q"]
    found["packages"].clear()  # a change of the caller
    for token in (place.names.ben, place.names.anna):
        assert [each["name"] for each in (await place.read(token))["packages"]] == ["p", "q"]
    assert place.service.asked == [f"/catalogs/{CATALOG}/{PACKAGES}"]
    assert [each for each in place.api.requests if "/proxy/" in each.path] == []


async def test_other_content_and_another_spec_are_read_again(place: Place) -> None:
    other = f"sha256:{'2' * 64}"
    await place.read(place.names.anna)
    await place.catalog(priority=5)
    await place.read(place.names.anna)
    await put(place.store, CATALOG, other, [{"schema": "olm.package", "name": "new"}], uid=f"uid-of-{CATALOG}")
    await place.catalog(other, priority=5)
    assert [each["name"] for each in (await place.read(place.names.anna))["packages"]] == ["new"]
    assert len(place.service.asked) == 3


async def test_who_may_not_list_packages_gets_nothing_that_others_have_read(place: Place) -> None:
    await place.read(place.names.anna)
    with pytest.raises(CatalogReadError) as refused:
        await place.read(place.names.nobody)
    assert "cannot get resource" in str(refused.value)
    assert len(place.service.asked) == 1
    asked = [each.path for each in place.api.requests if "/proxy/" in each.path]
    assert asked == [f"{proxy_path(SYSTEM)}/catalogs/{CATALOG}/{PACKAGES}"], "the API server decides"


async def test_where_catalogd_asks_for_tokens_a_user_gets_nothing_that_only_others_may_read(
    place: Place, tmp_path: Path
) -> None:
    """ben may list packages, but not get the paths of this catalog: only the permission of anna is for these."""
    cluster, names, role = place.cluster, place.names, f"{place.names.namespace}-paths"
    certificates, tls = create(("127.0.0.1",), datetime.now(UTC)), ServerTls()
    tls.use(certificates.leaf)
    (tmp_path / "ca.crt").write_bytes(certificates.ca_bundle())
    path = f"/catalogs/{CATALOG}/*"
    cluster.kubectl("create", "clusterrole", role, "--verb=get", f"--non-resource-url={path}")
    cluster.kubectl(
        "create", "clusterrolebinding", role, f"--clusterrole={role}", f"--serviceaccount={names.namespace}:anna"
    )
    attributes = {"path": f"/catalogs/{CATALOG}/{PACKAGES}", "verb": "get"}
    await until_allowed(place.admin, f"{names.namespace}:anna", nonResourceAttributes=attributes)
    async with serving(place.store, tls=tls.context, authorize=DelegatedAuth(place.admin).middleware) as site:
        place.service = CountingService(site.base.replace("http:", "https:"), tmp_path / "ca.crt")
        place.users = Users(place.users._client, SYSTEM, place.service)
        try:
            for _ in range(3):
                assert [each["name"] for each in (await place.read(names.anna))["packages"]] == ["p", "q"]
            with pytest.raises(CatalogReadError, match="may not"):
                await place.read(names.ben)
            assert len(place.service.asked) == 3, "what anna may read is kept, once it is known that catalogd asks"
        finally:
            await place.service.close()
            for kind in ("clusterrolebinding", "clusterrole"):
                cluster.kubectl("delete", kind, role)


async def test_an_error_is_not_kept_and_a_summary_is_asked_for_each_time(place: Place) -> None:
    await place.store.remove(CATALOG)
    with pytest.raises(CatalogReadError):
        await place.read(place.names.anna)
    await put(place.store, CATALOG, DIGEST, uid=f"uid-of-{CATALOG}")
    assert (await place.read(place.names.anna))["packages"]
    place.service.asked.clear()
    for _ in range(2):
        with pytest.raises(CatalogReadError, match="started with --bundle-summaries=Never"):
            await place.read(place.names.anna, "api/v1/bundles/p.v1/summary")
    assert len(place.service.asked) == 2


async def test_a_connection_that_is_cut_is_an_error_and_the_next_request_has_another_one(place: Place) -> None:
    client = place.users.client_of(place.names.anna)
    _, version = await client.list(catalogs.KIND)
    async with aclosing(client.watch(catalogs.KIND, version)) as events:
        assert (await anext(events))["type"] == "BOOKMARK"
        place.api.cut()
        with pytest.raises(Unavailable):
            await anext(events)
    assert (await client.get(catalogs.KIND, CATALOG))["metadata"]["name"] == CATALOG
    place.api.close()
    place.api.cut()
    with pytest.raises(Unavailable):
        await client.get(catalogs.KIND, CATALOG)
    await place.api.open()
    assert (await client.get(catalogs.KIND, CATALOG))["metadata"]["name"] == CATALOG


async def test_what_is_known_is_not_asked_for_and_what_is_not_there_is_an_error(place: Place) -> None:
    known: Object = {"metadata": {"name": "k"}}

    def reading(kind: Kind, namespace: str | None, name: str | None, selector: str | None) -> list[Object] | None:
        if kind is not CONFIG_MAPS:
            return None
        return [known] if name in (None, "k") else []

    client = place.users.client_of(place.names.nobody).reading_from(reading)
    assert await client.get(CONFIG_MAPS, "k", "n") == known
    assert await client.list(CONFIG_MAPS) == ([known], "")
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "other", "n")
    assert place.api.requests == []
    with pytest.raises(Forbidden):
        await client.list(NAMESPACES)
    with pytest.raises(Forbidden):
        await anext(client.pages(CONFIG_MAPS, field_selector="metadata.name=k"))
