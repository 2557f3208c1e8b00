"""The inputs of a source in the cluster: the Secret with its credentials, and the files of its ConfigMaps.

For controllers that fetch sources. The files are read from the API server when a job starts, as Secrets are
(olmkit.runtime.source_secrets). An informer that keeps only metadata reports which ConfigMaps exist and when they change. Never
writes an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olmkit.api.meta import Kind, Object
from olmkit.api.signatures import Verification
from olmkit.errors import NotFound
from olmkit.runtime.api_server_addresses import ApiServerAddresses
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager
from olmkit.runtime.source_secrets import SourceSecrets
from olmkit.sources import configmaps
from olmkit.sources.credentials import Credentials
from olmkit.sources.signatures.policy import SignaturePolicy
from olmkit.sources.signatures.spec_policy import make_policy
from olmkit.sources.source import Source
from olmkit.sources.spec_source import (
    CONFIG_MAP,
    SECRET,
    InputReference,
    SourceSpec,
    input_references,
    missing_inputs,
    references_of,
    secret_name,
    source_of,
    verification_of,
)

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)


class SourceInputs:
    """The Secrets and ConfigMaps of the system namespace. `informers` has that of each kind."""

    def __init__(self, client: Client, secrets: SourceSecrets, config_maps: Informer) -> None:
        self._client = client
        self.secrets = secrets
        self.namespace = secrets.namespace
        self.informers = {SECRET: secrets.informer, CONFIG_MAP: config_maps}
        self._api_servers = ApiServerAddresses(client)

    @classmethod
    def of(cls, manager: Manager, objects: str) -> SourceInputs:
        """Those of a process, with informers of its manager; `objects` are what have sources, such as "Catalogs", in messages."""
        config_maps = manager.informer(CONFIG_MAPS, namespace=manager.settings.system_namespace, metadata_only=True)
        return cls(manager.client, SourceSecrets.of(manager, objects), config_maps)

    def versions(self, source: SourceSpec) -> Mapping[InputReference, str | None]:
        """The resourceVersion of each Secret and ConfigMap that a source refers to; None for an object that does not exist."""
        return {each: self.version(each) for each in input_references(source)}

    def version(self, each: InputReference) -> str | None:
        """The resourceVersion of a Secret or ConfigMap; None if it does not exist."""
        if each.kind == SECRET:
            return self.secrets.version(each.name)
        found = self.informers[each.kind].get(each.name, self.namespace)
        return None if found is None else str(found["metadata"].get("resourceVersion", ""))

    async def credentials(self, source: SourceSpec) -> Credentials:
        """The credentials for each host. Raises Blocked if a Secret of the source cannot be used."""
        return await self.secrets.credentials(secret_name(source))

    async def source(self, spec: SourceSpec) -> Source:
        """The source, including the files of ConfigMaps. Raises Blocked."""
        return source_of(spec) or configmaps.gather(await self.config_maps(spec))

    async def signature_policy(self, spec: SourceSpec) -> SignaturePolicy | None:
        """The policy for the signatures of the image, with its keys as they are now; None if they are not verified.

        Raises Blocked if a Secret or ConfigMap does not exist or cannot be used, and ApiError.
        """
        verification = verification_of(spec)
        return None if verification is None else await self.policy_of(verification)

    async def policy_of(self, verification: Verification) -> SignaturePolicy:
        """The policy with its keys as they are now. Raises as signature_policy()."""
        objects = {each: await self._read(each) for each in references_of(verification)}
        return make_policy(verification, objects.__getitem__)

    async def config_maps(self, spec: SourceSpec) -> Sequence[tuple[Object, str]]:
        """The ConfigMaps of a source as they are now, each with the directory of its files. Raises Blocked if one does not exist
        and if they are too large, and ApiError."""
        found: list[tuple[Object, str]] = []
        size = 0
        for each in spec.config_maps or ():
            raw = await self._config_map(each.config_map.name)
            size = configmaps.within_limit(size, raw)
            found.append((raw, each.path or ""))
        return found

    async def denied_hosts(self) -> tuple[str, ...]:
        """The hosts of the API server, which no source may have. Raises ApiError."""
        return await self._api_servers.hosts()

    async def _read(self, each: InputReference) -> Object:
        return await (self.secrets.read(each.name) if each.kind == SECRET else self._config_map(each.name))

    async def _config_map(self, name: str) -> Object:
        try:
            return await self._client.get(CONFIG_MAPS, name, self.namespace)
        except NotFound:
            raise missing_inputs([InputReference(CONFIG_MAP, name)], self.namespace) from None
