"""Pull secrets at registries with authentication: where a login is sent, how often, and the errors."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from olmkit.errors import Waiting
from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.ca_bundle import CABundle
from olmkit.sources.credentials import credentials_of
from olmkit.sources.oci import image
from olmkit.sources.oci.registries_conf import Registries, parse
from tests import images
from tests.images import tar
from tests.integration.olmkit.sources.proxied_image import empty_directory, insecure_rule
from tests.secrets import auth, docker_config
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry import (
    PASSWORD,
    USER,
    TokenService,
    basic_auth,
    own_registry,
    served,
    server_context,
    tls,
    token_auth,
)
from tests.servers.registry_proxy import RegistryProxy, redirect, redirect_to
from tests.servers.server_keys import make_keys

pytestmark = pytest.mark.usefixtures("cluster_programs")

NUMBERS = itertools.count()
LOGIN = auth(USER, PASSWORD)
WRONG = auth(USER, "wr0ng-Sesame")


@dataclass(frozen=True)
class Kept:
    """A directory with images, for registries that serve it."""

    directory: Path
    repository: str
    digest: str
    keys: Path


@pytest_asyncio.fixture
async def kept(cluster_programs: Path, tmp_path: Path) -> Kept:
    directory = tmp_path / "images"
    async with own_registry(directory) as address:
        for repository in ("team/app", "public/app"):
            digest = images.push(address, repository, "v1", [tar({"a": "1"}), tar({"b": "2"})], {})
    return Kept(directory, "team/app", digest, make_keys(tmp_path))


def known(addresses: tuple[str, ...], auths: Mapping[str, Mapping[str, str]]) -> Registries:
    """Registries without TLS, with logins by host."""
    loopback = SourceAddresses.load(["127.0.0.0/8"])
    registries = Registries(parse("".join(insecure_rule(each) for each in addresses)), addresses=loopback)
    return replace(registries, credentials=credentials_of(docker_config(auths))) if auths else registries


def sent_types(proxy: RegistryProxy) -> list[str]:
    """The types of authorization of all requests, except those that detect TLS."""
    return [
        headers.get("Authorization", "none").partition(" ")[0]
        for line, headers in proxy.requests
        if not line.endswith("/v2/")
    ]


@asynccontextmanager
async def behind_basic(kept: Kept) -> AsyncIterator[RegistryProxy]:
    async with own_registry(kept.directory, basic_auth(kept.directory)) as address, RegistryProxy(address) as proxy:
        yield proxy


@asynccontextmanager
async def behind_tokens(kept: Kept, service: TokenService) -> AsyncIterator[tuple[RegistryProxy, str]]:
    """A proxy in front of a registry that requires tokens, and its token service."""
    async with (
        served(service.answer) as realm,
        own_registry(kept.directory, token_auth(f"http://{realm}/token", kept.keys)) as address,
        RegistryProxy(address) as proxy,
    ):
        yield proxy, realm


async def test_a_password_is_sent_once_and_after_a_challenge_only(kept: Kept, tmp_path: Path) -> None:
    async with behind_basic(kept) as proxy:
        registries = known((proxy.address,), {proxy.address: LOGIN})
        ref = f"{proxy.address}/{kept.repository}:v1"
        assert (await image.resolve(ref, registries)).digest == kept.digest
        assert sent_types(proxy) == ["none", "Basic"]
        assert (await image.resolve(ref, registries)).digest == kept.digest
        assert sent_types(proxy) == ["none", "Basic", "Basic"], "resolving again takes one request in the same job"
        into = empty_directory(tmp_path)
        await image.pull(ref, into, registries)
        assert sorted(each.name for each in into.iterdir()) == ["a", "b"]
        assert sent_types(proxy).count("none") == 1


@pytest.mark.parametrize(
    ("named", "entry", "sentence"),
    [
        pytest.param(
            "HOST",
            WRONG,
            'registry HOST refuses the login of Secret olm-suite-system/login for "IMAGE" (401)',
            id="a wrong password",
        ),
        pytest.param(
            "HOST/team",
            WRONG,
            'registry HOST refuses the login of Secret olm-suite-system/login for "IMAGE" (401)',
            id="a wrong password for the path",
        ),
        pytest.param(
            "HOST",
            {"identitytoken": "1dentity"},
            'registry HOST requires credentials for "IMAGE" of a kind that Secret olm-suite-system/login does not '
            "hold (401)",
            id="a token instead of a password",
        ),
        *(
            pytest.param(
                named,
                LOGIN,
                'registry HOST requires credentials for "IMAGE" or has no such repository (401): no pull secret has a login '
                "for HOST; add a Secret of type kubernetes.io/dockerconfigjson with one",
                id=identity,
            )
            for named, identity in (
                ("quay.io", "the right password for another host"),
                ("127.0.0.1", "for the host without its port"),
                ("127.0.0.1:1", "for another port"),
                ("HOST/tea", "for a path that only begins the same"),
                ("HOST/team/app/more", "for a longer path"),
                ("*.127.0.0.1", "for hosts below"),
            )
        ),
    ],
)
async def test_a_refused_login_is_reported_without_its_value(
    kept: Kept, named: str, entry: Mapping[str, str], sentence: str
) -> None:
    async with behind_basic(kept) as proxy:
        ref = f"{proxy.address}/{kept.repository}:v1"
        registries = known((proxy.address,), {named.replace("HOST", proxy.address): entry})
        with pytest.raises(Waiting) as raised:
            await image.resolve(ref, registries)
        assert raised.value.message.replace(ref, "IMAGE").replace(proxy.address, "HOST") == sentence
        assert raised.value.reason == "Unauthorized"
        sent = "refuses" in sentence
        assert ("Basic" in sent_types(proxy)) == sent, "a login is sent only to the hosts of its Secret"


async def test_the_longest_path_wins(kept: Kept) -> None:
    async with behind_basic(kept) as proxy:
        auths = {proxy.address: WRONG, f"{proxy.address}/team": WRONG, f"http://{proxy.address}/v2/team/app": LOGIN}
        ref = f"{proxy.address}/{kept.repository}:v1"
        assert (await image.resolve(ref, known((proxy.address,), auths))).digest == kept.digest


async def test_a_password_is_not_sent_to_the_target_of_a_redirect(kept: Kept, tmp_path: Path) -> None:
    """Neither the target of a redirect, nor its challenge, nor a redirect back gets the password."""
    async with behind_basic(kept) as proxy, behind_basic(kept) as other:
        registries = known((proxy.address, other.address), {proxy.address: LOGIN})
        proxy.on("/blobs/", redirect_to(other.address))
        with pytest.raises(Waiting) as raised:
            await image.pull(f"{proxy.address}/{kept.repository}:v1", empty_directory(tmp_path), registries)
        assert raised.value.reason == "Unauthorized"
        ref = f"{proxy.address}/{kept.repository}:v1"
        sent = f"{other.address}, to which registry {proxy.address} redirects,"
        assert raised.value.message == f'{sent} requires credentials for "{ref}" (401): credentials are not sent there'
        assert set(sent_types(other)) == {"none"}

        other.on("/blobs/", redirect(f"http://{proxy.address}/v2/{kept.repository}/manifests/v1"))
        proxy.requests.clear()
        with pytest.raises(Waiting):
            await image.pull(f"{proxy.address}/{kept.repository}:v1", empty_directory(tmp_path), registries)
        assert "Basic" not in [headers.get("Authorization", "") for _, headers in other.requests]
        assert sent_types(proxy)[-1] == "none", "a redirect back gets no login"


@pytest.mark.parametrize("entry", [LOGIN, {"identitytoken": "r3fresh"}], ids=["a password", "an identity token"])
async def test_challenges_of_the_target_of_a_redirect_are_ignored(
    kept: Kept, local_registry: LocalRegistry, entry: Mapping[str, str]
) -> None:
    """All connections use verified TLS: what matters is which host names the token service."""
    heard: list[Mapping[str, str]] = []

    async def greedy(request: web.Request) -> web.StreamResponse:
        heard.append({**request.headers, **request.query, **{k: str(v) for k, v in (await request.post()).items()}})
        challenge = f'Bearer realm="https://{request.host}/token",service="s", Basic realm="r"'
        return web.Response(status=401, headers={"WWW-Authenticate": challenge})

    context = server_context(kept.keys)
    async with served(greedy, context) as elsewhere, RegistryProxy(local_registry.address, tls=context) as proxy:
        proxy.on("/manifests/", redirect(f"https://{elsewhere}/v2/x"))
        rules = parse("".join(f'[[registry]]\nlocation = "{each}"\n' for each in (proxy.address, elsewhere)))
        credentials = credentials_of(docker_config({proxy.address: entry}))
        registries = Registries(rules, ca_bundle=CABundle.load(kept.keys), credentials=credentials)
        with pytest.raises(Waiting, match=r"requires credentials for .* credentials are not sent there"):
            await image.resolve(f"{proxy.address}/{kept.repository}:v1", registries)
    assert len(heard) == 1
    assert "Authorization" not in heard[0]


async def test_a_token_is_requested_with_the_password_and_cached_for_the_job(kept: Kept, tmp_path: Path) -> None:
    service = TokenService(kept.keys)
    async with behind_tokens(kept, service) as (proxy, realm):
        registries = known((proxy.address,), {proxy.address: LOGIN, realm: LOGIN})
        ref = f"{proxy.address}/{kept.repository}:v1"
        resolved = await image.resolve(ref, registries)
        assert resolved.digest == kept.digest
        assert sent_types(proxy) == ["none", "Bearer"]
        await image.resolve(ref, registries)
        assert sent_types(proxy) == ["none", "Bearer", "Bearer"], "resolving again takes one request in the same job"
        await image.pull(resolved.ref_by_digest, empty_directory(tmp_path), registries)
        assert set(sent_types(proxy)[1:]) == {"Bearer"}, "the registry sees no password"
        ((method, asked, headers),) = service.requests
        assert (method, headers["Authorization"].partition(" ")[0]) == ("GET", "Basic")
        assert asked == {"service": "own registry", "scope": "repository:team/app:pull"}


async def test_an_identity_token_is_exchanged_for_a_token(kept: Kept, tmp_path: Path) -> None:
    service = TokenService(kept.keys)
    async with behind_tokens(kept, service) as (proxy, realm):
        entry = {**auth("<token>", ""), "identitytoken": service.refresh}
        registries = known((proxy.address,), {proxy.address: entry, realm: entry})
        await image.pull(f"{proxy.address}/{kept.repository}:v1", empty_directory(tmp_path), registries)
        ((method, form, headers),) = service.requests
        assert method == "POST"
        assert "Authorization" not in headers
        assert form["grant_type"] == "refresh_token"
        assert form["refresh_token"] == service.refresh


@pytest.mark.parametrize(
    "entry",
    [WRONG, {"identitytoken": "st4le"}, {"registrytoken": "st4le"}],
    ids=["a password", "an identity token", "a token"],
)
async def test_a_denial_of_the_token_service_differs_from_its_failure(kept: Kept, entry: Mapping[str, str]) -> None:
    async with behind_tokens(kept, TokenService(kept.keys)) as (proxy, realm):
        registries = known((proxy.address,), {proxy.address: entry, realm: entry})
        with pytest.raises(Waiting) as raised:
            await image.resolve(f"{proxy.address}/{kept.repository}:v1", registries)
        assert raised.value.reason == "Unauthorized"
        assert "refuses the login of Secret olm-suite-system/login" in raised.value.message
        assert "st4le" not in raised.value.message


async def test_a_public_image_needs_no_login(kept: Kept, tmp_path: Path) -> None:
    service = TokenService(kept.keys)
    async with behind_tokens(kept, service) as (proxy, _):
        registries = known((proxy.address,), {})
        await image.pull(f"{proxy.address}/public/app:v1", empty_directory(tmp_path), registries)
        assert "Authorization" not in service.requests[0][2]
        with pytest.raises(Waiting, match=r"requires credentials for .* or has no such repository \(401\)"):
            await image.resolve(f"{proxy.address}/{kept.repository}:v1", registries)


async def test_an_expired_token_is_requested_again(kept: Kept, tmp_path: Path) -> None:
    service = TokenService(kept.keys)
    async with behind_tokens(kept, service) as (proxy, realm):
        seen: set[str] = set()

        async def forget_the_first(request: web.Request, through: RegistryProxy) -> web.StreamResponse:
            token = request.headers.get("Authorization", "")
            seen.add(token)
            if len(seen) < 2:
                challenge = f'Bearer realm="http://{realm}/token",service="own registry",error="invalid_token"'
                return web.Response(status=401, headers={"WWW-Authenticate": challenge})
            code, headers, body = await through.fetch(request)
            return web.Response(status=code, headers=headers, body=body)

        proxy.on("/blobs/", forget_the_first)
        registries = known((proxy.address,), {proxy.address: LOGIN, realm: LOGIN})
        await image.pull(f"{proxy.address}/{kept.repository}:v1", empty_directory(tmp_path), registries)
        assert len(service.requests) == 2


async def test_the_token_service_of_a_registry_without_tls_is_not_trusted(kept: Kept) -> None:
    service = TokenService(kept.keys)
    async with behind_tokens(kept, service) as (proxy, realm):
        registries = known((proxy.address,), {proxy.address: LOGIN})
        with pytest.raises(Waiting) as raised:
            await image.resolve(f"{proxy.address}/{kept.repository}:v1", registries)
        assert raised.value.reason == "Unauthorized"
        assert raised.value.message == (
            f"registry {proxy.address} names {realm} as its token service, where the login of Secret olm-suite-system/login "
            f"is sent only if the Secret has the same entry for {realm}: a registry that is insecure in registries.conf is not "
            "trusted to choose it"
        )
        assert service.requests == []


async def test_the_token_service_of_a_registry_with_tls_gets_the_login(kept: Kept, tmp_path: Path) -> None:
    service = TokenService(kept.keys)
    trust = CABundle.load(kept.keys)
    async with (
        served(service.answer, server_context(kept.keys)) as realm,
        own_registry(kept.directory, {**token_auth(f"https://{realm}/token", kept.keys), **tls(kept.keys)}) as address,
    ):
        # The realm is not in registries.conf, so its address would be refused as loopback.
        rules = parse(f'[[registry]]\nlocation = "{address}"\n[[registry]]\nlocation = "{realm}"')
        credentials = credentials_of(docker_config({address: LOGIN}))
        registries = Registries(rules, ca_bundle=trust, credentials=credentials)
        await image.pull(f"{address}/{kept.repository}:v1", empty_directory(tmp_path), registries)
        assert [headers["Authorization"].partition(" ")[0] for _, _, headers in service.requests] == ["Basic"]


async def test_a_token_service_without_tls_gets_no_login(kept: Kept) -> None:
    service = TokenService(kept.keys)
    trust = CABundle.load(kept.keys)
    async with (
        served(service.answer) as realm,
        own_registry(kept.directory, {**token_auth(f"http://{realm}/token", kept.keys), **tls(kept.keys)}) as address,
    ):
        credentials = credentials_of(docker_config({address: LOGIN, realm: LOGIN}))
        registries = Registries(
            parse(f'[[registry]]\nlocation = "{address}"'), ca_bundle=trust, credentials=credentials
        )
        with pytest.raises(
            Waiting, match=f"names {realm} as its token service over plain HTTP, where the login .* is not sent"
        ):
            await image.resolve(f"{address}/{kept.repository}:v1", registries)
        assert service.requests == []


@pytest.mark.parametrize("entry", [LOGIN, {"identitytoken": "r3fresh"}], ids=["a password", "an identity token"])
async def test_a_redirect_of_the_token_service_gets_no_login(kept: Kept, entry: Mapping[str, str]) -> None:
    service = TokenService(kept.keys)
    async with served(service.answer) as elsewhere:

        async def away(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": f"http://{elsewhere}{request.path_qs}"})

        async with (
            served(away) as realm,
            own_registry(kept.directory, token_auth(f"http://{realm}/token", kept.keys)) as address,
        ):
            registries = known((address, elsewhere), {address: entry, realm: entry})
            with pytest.raises(Waiting):
                await image.resolve(f"{address}/{kept.repository}:v1", registries)
            for _, asked, headers in service.requests:
                assert "Authorization" not in headers
                assert "refresh_token" not in asked
            assert len(service.requests) == (1 if "auth" in entry else 0), "a POST is not redirected, a GET is"
