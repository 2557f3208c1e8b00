"""Requests to the API server of a cluster while it starts, with the admin's token.

Called by the supervisor only; later requests are made by kubectl or the suite's own client.
"""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 5.0


class ApiClient:
    """Requests to one API server. Each uses a new connection, so a restart of the server does not matter."""

    def __init__(self, server: str, authority: Path, token: str) -> None:
        """`server` as "https://127.0.0.1:6443"; `authority` is the PEM file of its CA."""
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=str(authority))
        self._token = token

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the HTTP status and the parsed response (None if it is not JSON); status 0 if the server does not answer."""
        connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=_TIMEOUT_SECONDS)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, _parsed(answer.read())
        except (OSError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
