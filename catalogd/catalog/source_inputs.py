"""Reads the inputs of a source from the cluster: the Secret with its credentials, and the files of ConfigMaps.

Used by catalogd.catalog.act when a job starts, and by catalogd.catalog.reconciler for their versions. The data is read from the
API server when the job starts, so that no Secret is kept in this process; informers of metadata alone report which exist and
when they change.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from catalogd.catalog.desired_source import CONFIG_MAP, SECRET, input_references, missing_input, secret_name, source_of
from catalogd.catalog.world import InputReference
from olmkit.api.catalogs import CatalogSource
from olmkit.api.meta import Kind
from olmkit.errors import Blocked, NotFound, OlmError
from olmkit.runtime.api_server_addresses import ApiServerAddresses
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.sources import configmaps
from olmkit.sources.credentials import Credentials
from olmkit.sources.secrets import BadSecret
from olmkit.sources.source import Source

SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)

log = logging.getLogger(__name__)


class SourceInputs:
    """Secrets and ConfigMaps of the system namespace, `namespace`. `pull_secret` is the cluster-wide one, "" for none."""

    def __init__(
        self, client: Client, namespace: str, secrets: Informer, config_maps: Informer, pull_secret: str = ""
    ) -> None:
        self._client = client
        self.namespace = namespace
        self.informers = {SECRET: secrets, CONFIG_MAP: config_maps}
        self._api_servers = ApiServerAddresses(client)
        self.pull_secret = pull_secret

    def versions(self, source: CatalogSource) -> Mapping[InputReference, str | None]:
        """The resourceVersion of each Secret and ConfigMap that a source refers to, None for one that does not exist."""
        return {each: self._version(each) for each in input_references(source)}

    @property
    def pull_secret_version(self) -> str:
        """The resourceVersion of the cluster-wide Secret, "" when there is none."""
        return (self._version(InputReference(SECRET, self.pull_secret)) or "") if self.pull_secret else ""

    def _version(self, each: InputReference) -> str | None:
        found = self.informers[each.kind].get(each.name, self.namespace)
        return None if found is None else str(found["metadata"].get("resourceVersion", ""))

    async def credentials(self, source: CatalogSource) -> Credentials:
        """The credentials for each host: the Catalog's own Secret first, then the cluster-wide one.

        Raises Blocked for an own Secret that cannot be used. A cluster-wide Secret that cannot be used is logged and left out;
        the status of a Catalog that lacks a login then names it.
        """
        own = Credentials()
        if name := secret_name(source):
            own = Credentials.from_secret(await self._get(SECRETS, name))
        if not self.pull_secret:
            return own
        try:
            shared = Credentials.from_secret(await self._get(SECRETS, self.pull_secret))
        except OlmError as error:
            log.warning("the cluster-wide pull secret is not used", extra={"error": error.message})
            shared = Credentials(common_secret_error=_unusable(error))
        return Credentials.merged(own, shared)

    async def source(self, spec: CatalogSource) -> Source:
        """The source, files of ConfigMaps included. Raises Blocked."""
        source = source_of(spec)
        if source is not None:
            return source
        return configmaps.gather(
            [(await self._get(CONFIG_MAPS, each.config_map.name), each.path or "") for each in spec.config_maps or ()]
        )

    async def denied_hosts(self) -> tuple[str, ...]:
        """The hosts that no source may have: those of the API server. Raises ApiError."""
        return await self._api_servers.hosts()

    async def _get(self, kind: Kind, name: str) -> dict[str, object]:
        try:
            return await self._client.get(kind, name, self.namespace)
        except NotFound:
            raise missing_input(InputReference(kind.kind, name), self.namespace) from None


def _unusable(error: OlmError) -> str:
    """The error without the content of the Secret: readers of a Catalog need not be allowed to read Secrets."""
    match error:
        case BadSecret():
            return error.public_message
        case Blocked():
            return error.message  # it does not exist
        case _:
            return "it cannot be read; see the log of catalogd"
