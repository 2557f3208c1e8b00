"""The address of the API server and the credentials for it, from a kubeconfig or the ServiceAccount of the pod.

The only import of kubernetes_asyncio, used for kubeconfig, tokens, client certificates and the TLS transport; its models, its
watch and its leader election are not used (docs/decisions/0010). Chooses the proxy, and makes the session that the client sends
requests with. Sends none itself.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakSet

import aiohttp
from yaml import YAMLError

from olmkit.errors import OlmError
from olmkit.sources.proxies import DEFAULT_PORTS, Proxies

POD_CA_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
"""The CA of the API server in a pod."""
READ_BUFFER_BYTES = 2 * 1024 * 1024
"""Bytes of a response that are received before they are read: an object with large fields arrives without a pause."""
MAX_CREDENTIALS_AGE_SECONDS = 60.0
"""Token files are read and exec plugins are run again after this time; mounted tokens are replaced an hour before they expire."""

log = logging.getLogger(__name__)


def _paths(kubeconfig: str | None) -> str | None:
    """The files to read: the argument, $KUBECONFIG (several files, as kubectl merges them), ~/.kube/config; None inside a pod."""
    paths = kubeconfig or os.environ.get("KUBECONFIG")
    if not paths:
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return None
        paths = "~/.kube/config"
    if not any(Path(part).expanduser().is_file() for part in paths.split(os.pathsep) if part):
        raise OlmError("NoKubeconfig", f"there is no kubeconfig at {paths}: name one with --kubeconfig or $KUBECONFIG")
    return paths


class KubernetesAsyncio(NamedTuple):
    """The parts of kubernetes_asyncio that are used."""

    config: Any
    configuration: Any
    transport: Any


@cache
def load_kubernetes_asyncio() -> KubernetesAsyncio:
    """Import the configuration and the transport of kubernetes_asyncio, at their first use.

    Without its generated models and calls, which would cost every process 37 MB and half a second.
    """
    package_without_init("kubernetes_asyncio")
    client = package_without_init("kubernetes_asyncio.client")
    from kubernetes_asyncio.client import configuration, rest

    # The names that the module config imports from the package: it uses the first, and only re-exports the second.
    vars(client).setdefault("Configuration", configuration.Configuration)
    vars(client).setdefault("ApiClient", None)
    from kubernetes_asyncio import config

    return KubernetesAsyncio(config, configuration.Configuration, rest.RESTClientObject)


async def load(configuration: Any, kubeconfig: str | None, context: str | None = None) -> Callable[[], Any]:
    """Fill the configuration from a context of the kubeconfig (None: its current one); returns the function that reads its
    credentials again. Raises OlmError, whose message has the remedy."""
    config = load_kubernetes_asyncio().config
    in_cluster: Any = config.load_incluster_config
    paths = _paths(kubeconfig)
    try:
        if paths is None:
            in_cluster(configuration, try_refresh_token=False)
            return lambda: in_cluster(configuration, try_refresh_token=False)
        loader = await config.load_kube_config(
            paths, context=context, client_configuration=configuration, persist_config=False
        )
        return lambda: loader.load_and_set(configuration)
    except (TypeError, AttributeError) as error:
        raise OlmError("BadKubeconfig", f"the kubeconfig cannot be used: {paths} has another form") from error
    except (config.ConfigException, OSError, ValueError, AssertionError, YAMLError) as error:
        raise OlmError("BadKubeconfig", f"the kubeconfig cannot be used: {error}") from error


async def load_address(configuration: Any, kubeconfig: str | None, context: str | None = None) -> Callable[[], Any]:
    """Fill the configuration as load() does, without anything that identifies: no token, password or client certificate.

    Inside a pod no ServiceAccount token is needed. Returns a function that does nothing.
    """
    if _paths(kubeconfig) is None:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        configuration.host = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        configuration.ssl_ca_cert = str(POD_CA_FILE)
    else:
        await load(configuration, kubeconfig, context)
        configuration.cert_file = configuration.key_file = None
        configuration.username = configuration.password = None
        configuration.api_key.clear()
    return lambda: None


def own_session(transport: Any, transports: WeakSet[asyncio.BaseTransport]) -> aiohttp.ClientSession:
    """A session with the connections of the transport, in the place of its own; each connection is added to `transports`.

    Before each request, its own has two threads look for a login in ~/.netrc and for a proxy in the environment, and a login from
    there would be in the way of the token.
    """
    replaced: aiohttp.ClientSession = transport.pool_manager
    jar = aiohttp.DummyCookieJar()
    session = aiohttp.ClientSession(connector=replaced.connector, cookie_jar=jar, read_bufsize=READ_BUFFER_BYTES)
    replaced.detach()
    transport.pool_manager = session
    _remember_transports(session, transports)
    return session


def _remember_transports(session: aiohttp.ClientSession, transports: WeakSet[asyncio.BaseTransport]) -> None:
    """Add the transport of each connection of the session. Those that are being closed are not known to aiohttp any more."""
    connector: Any = session.connector
    connect = connector.connect

    async def remembered(*arguments: Any, **options: Any) -> Any:
        connection = await connect(*arguments, **options)
        if connection.transport is not None:
            transports.add(connection.transport)
        return connection

    connector.connect = remembered


def choose_proxy(configuration: Any, environment: Mapping[str, str]) -> None:
    """Have requests use the proxy of the environment, unless the kubeconfig names one. Raises Blocked for one that is no URL."""
    if configuration.proxy:
        return
    host = urlsplit(configuration.host)
    port = host.port or DEFAULT_PORTS.get(host.scheme, 0)
    if (proxy := Proxies.load(environment).choose(host.scheme, host.hostname or "", port)) is not None:
        configuration.proxy = proxy.url
        configuration.proxy_headers = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else None


@dataclass
class ApiCredentials:
    """The headers that authenticate requests; read again when they are old or were rejected."""

    configuration: Any
    reload: Callable[[], Any]
    read_at: float

    async def headers(self) -> dict[str, str]:
        """The Authorization header; empty if a client certificate authenticates."""
        if time.monotonic() - self.read_at > MAX_CREDENTIALS_AGE_SECONDS:
            await self.renew()
        token = (self.configuration.api_key.get("BearerToken") or "").strip()
        if token:
            return {"Authorization": token}
        if self.configuration.username:
            return {"Authorization": self.configuration.get_basic_auth_token()}
        return {}

    async def renew(self) -> None:
        """Read tokens again; if that fails, the old ones remain in use."""
        self.read_at = time.monotonic()
        try:
            result = self.reload()
            if asyncio.iscoroutine(result):
                await result
        except (load_kubernetes_asyncio().config.ConfigException, OSError, ValueError) as error:
            log.warning("credentials cannot be read again, the old ones stay in use", extra={"error": str(error)})


def package_without_init(name: str) -> ModuleType:
    """The package as an empty module in sys.modules, or unchanged if it is imported already. Its submodules are imported as
    usual.

    Its parent package must be imported, or made by this function. Raises ModuleNotFoundError.
    """
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    if spec is not None:
        package = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
        above, _, own = name.rpartition(".")
        if above:
            setattr(sys.modules[above], own, package)
    if name not in sys.modules:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return sys.modules[name]
