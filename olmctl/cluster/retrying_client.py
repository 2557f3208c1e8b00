"""The client of a command: repeats a request when the API server asks for it, as kubectl does.

Called by olmctl.cluster.session. Controllers do not use it: their queues and informers repeat.
"""

from __future__ import annotations

import asyncio
from typing import Any

from olmkit.api.meta import Object
from olmkit.errors import Unavailable
from olmkit.runtime.client import Client

MAX_RETRIES = 10
"""Per request, as in kubectl."""
MAX_RETRY_AFTER_SECONDS = 30
"""A request that should be repeated only after a longer time fails at once."""


class RetryingClient(Client):
    """A Client that repeats requests which the API server rejects with Retry-After, such as those for a kind of which the CRD has
    just been created. Such a request was not carried out."""

    async def request(self, method: str, path: str, **options: Any) -> Object:
        """As Client.request. Raises Unavailable when MAX_RETRIES are used up."""
        for _ in range(MAX_RETRIES):
            try:
                return await super().request(method, path, **options)
            except Unavailable as error:
                if error.retry_after is None or error.retry_after > MAX_RETRY_AFTER_SECONDS:
                    raise
                await asyncio.sleep(error.retry_after)
        return await super().request(method, path, **options)
