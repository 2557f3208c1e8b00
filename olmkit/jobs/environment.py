"""Which environment variables jobs get: those that name proxies, certificate authorities, the language and the time zone.

All others stay with the controller, because they may hold secrets. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Passed in upper and in lower case."""
ALLOWED_VARIABLES = frozenset(
    {
        *PROXY_VARIABLES,
        *map(str.lower, PROXY_VARIABLES),
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "OPENSSL_CONF",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "RES_OPTIONS",
        "LOCALDOMAIN",
        "LD_LIBRARY_PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
        "PYTHONWARNINGS",
    }
)
FIXED_VARIABLES = {"HOME": "/nonexistent", "USER": "olm-suite"}
"""Variables that are set because libraries would otherwise look their values up on the machine."""


def filter_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a controller's environment that its jobs get."""
    return {**{name: value for name, value in environment.items() if name in ALLOWED_VARIABLES}, **FIXED_VARIABLES}
