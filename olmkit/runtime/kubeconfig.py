"""Where the API server is and who we are to it: a kubeconfig, or the account of the pod; tokens are read again.

The only import of kubernetes_asyncio, used for kubeconfig, tokens, client certificates and the TLS transport; its models, its
watch and its leader election are not used. Called by olmkit.runtime.client. Asks the API server nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from yaml import YAMLError

from olmkit.errors import OlmError
from olmkit.runtime.partial_import import package_without_init

MAX_CREDENTIALS_AGE_SECONDS = 60.0
"""Seconds after which token files and exec plugins are asked again; mounted tokens are replaced an hour before they expire."""

log = logging.getLogger(__name__)


def _paths(kubeconfig: str | None) -> str | None:
    """What to read: the argument, $KUBECONFIG (several files, as kubectl merges them), ~/.kube/config; None inside a pod."""
    paths = kubeconfig or os.environ.get("KUBECONFIG")
    if not paths:
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return None
        paths = "~/.kube/config"
    if not any(Path(part).expanduser().is_file() for part in paths.split(os.pathsep) if part):
        raise OlmError("NoKubeconfig", f"there is no kubeconfig at {paths}: name one with --kubeconfig or $KUBECONFIG")
    return paths


class Driver(NamedTuple):
    """What of kubernetes_asyncio is used."""

    config: Any
    configuration: Any
    transport: Any


@cache
def driver() -> Driver:
    """kubernetes_asyncio's configuration and transport, when they are needed first.

    Without its generated models and calls, which would cost 37 MB and half a second, in any process that reaches the API server.
    """
    package_without_init("kubernetes_asyncio")
    client = package_without_init("kubernetes_asyncio.client")
    from kubernetes_asyncio.client import configuration, rest

    # What config takes from the package: the one it uses, and the one it only offers to others.
    vars(client).setdefault("Configuration", configuration.Configuration)
    vars(client).setdefault("ApiClient", None)
    from kubernetes_asyncio import config

    return Driver(config, configuration.Configuration, rest.RESTClientObject)


async def load(configuration: Any, kubeconfig: str | None) -> Callable[[], Any]:
    """Fill the configuration; returns what reads its credentials again. Raises OlmError with what a person can do."""
    config = driver().config
    in_cluster: Any = config.load_incluster_config
    try:
        paths = _paths(kubeconfig)
        if paths is None:
            in_cluster(configuration, try_refresh_token=False)
            return lambda: in_cluster(configuration, try_refresh_token=False)
        loader = await config.load_kube_config(paths, client_configuration=configuration, persist_config=False)
        return lambda: loader.load_and_set(configuration)
    except (config.ConfigException, OSError, ValueError, TypeError, AssertionError, YAMLError) as error:
        raise OlmError("BadKubeconfig", f"the kubeconfig cannot be used: {error}") from error


@dataclass
class ApiCredentials:
    """Headers that say who asks; read again when old or refused."""

    configuration: Any
    reload: Callable[[], Any]
    read_at: float

    async def headers(self) -> dict[str, str]:
        """The authorization header, or none when a client certificate does it."""
        if time.monotonic() - self.read_at > MAX_CREDENTIALS_AGE_SECONDS:
            await self.renew()
        token = (self.configuration.api_key.get("BearerToken") or "").strip()
        if token:
            return {"Authorization": token}
        if self.configuration.username:
            return {"Authorization": self.configuration.get_basic_auth_token()}
        return {}

    async def renew(self) -> None:
        """Read tokens again; what cannot be read leaves the old ones in place."""
        self.read_at = time.monotonic()
        try:
            result = self.reload()
            if asyncio.iscoroutine(result):
                await result
        except (driver().config.ConfigException, OSError, ValueError) as error:
            log.warning("credentials cannot be read again, the old ones stay in use", extra={"error": str(error)})
