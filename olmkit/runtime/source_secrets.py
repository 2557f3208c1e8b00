"""Reads the Secrets with the logins of sources: the one that an object names, and the one of `--pull-secret` for all objects.

Used by the controllers that fetch sources, catalogd and rukpak: `credentials` when a job starts, the versions for each World.
The data is read from the API server when a job starts, so that no Secret is kept in the process; an informer of metadata alone
reports which Secrets exist and when they change. Never writes a Secret, and never logs or reports the data of one.
"""

from __future__ import annotations

import logging

from olmkit.api.meta import Kind
from olmkit.errors import Blocked, NotFound, OlmError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager
from olmkit.sources.credentials import BadSecret, Credentials, credentials_of, missing_secret

SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)

log = logging.getLogger(__name__)


class SourceSecrets:
    """The Secrets of the system namespace, `namespace`.

    `common` is the name of the one for all objects, "" for none; `objects` is what these are called in messages, such as
    "Catalogs".
    """

    def __init__(self, client: Client, namespace: str, informer: Informer, objects: str, common: str = "") -> None:
        self._client = client
        self.namespace = namespace
        self.informer = informer
        self._objects = objects
        self.common = common

    @classmethod
    def of(cls, manager: Manager, objects: str) -> SourceSecrets:
        """Those of a process, with an informer of its manager."""
        settings = manager.settings
        informer = manager.informer(SECRETS, namespace=settings.system_namespace, metadata_only=True)
        return cls(manager.client, settings.system_namespace, informer, objects, settings.pull_secret)

    def version(self, name: str) -> str | None:
        """The resourceVersion of a Secret, None if it does not exist."""
        found = self.informer.get(name, self.namespace)
        return None if found is None else str(found["metadata"].get("resourceVersion", ""))

    @property
    def common_version(self) -> str:
        """The resourceVersion of the Secret for all objects, "" if there is none."""
        return (self.version(self.common) or "") if self.common else ""

    async def credentials(self, name: str) -> Credentials:
        """The credentials for each host: those of the Secret `name` ("" for none) first, then those for all objects.

        Raises Blocked for a Secret `name` that cannot be used. A Secret for all objects that cannot be used is logged and left
        out; the message about a missing login then names it.
        """
        own = credentials_of(await self.read(name)) if name else Credentials()
        if not self.common:
            return own
        try:
            common = credentials_of(await self.read(self.common))
        except OlmError as error:
            log.warning("the Secret for all %s is not used", self._objects, extra={"error": error.message})
            text = f"the Secret for all {self._objects} cannot be used: {_without_content(error)}"
            common = Credentials(common_secret_error=text)
        return Credentials.merged(own, common)

    async def read(self, name: str) -> dict[str, object]:
        """The Secret as it is. Raises Blocked if it does not exist, and ApiError."""
        try:
            return await self._client.get(SECRETS, name, self.namespace)
        except NotFound:
            raise missing_secret(name, self.namespace) from None


def _without_content(error: OlmError) -> str:
    """The error without the content of the Secret: readers of a status need not be allowed to read Secrets."""
    match error:
        case BadSecret():
            return error.public_message
        case Blocked():
            return error.message  # it does not exist
        case _:
            return "it cannot be read; the log has the reason"
