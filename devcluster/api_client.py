"""The few requests that bring a cluster up, sent to its own API server with the admin's token.

Used by the supervisor only; everything later goes through kubectl or the suite's own client.
"""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 5.0


class ApiClient:
    """Requests to one API server. Each is a connection of its own, so that a restarted server is nothing special."""

    def __init__(self, server: str, authority: Path, token: str) -> None:
        """`server` as "https://127.0.0.1:6443"; `authority` is the PEM file of its CA."""
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=str(authority))
        self._token = token

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the HTTP status and the parsed answer (None when it is no JSON); status 0 when nobody answers."""
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
