"""Which environment variables jobs get: those that name proxies, authorities, the language and the time zone.

Used by olmkit.jobs.fork_client. All others stay with the controller: they may hold what is nobody else's business. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""In upper and in lower case."""
NAMES = frozenset(
    {
        *PROXIES,
        *map(str.lower, PROXIES),
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
SAID = {"HOME": "/nonexistent", "USER": "olm-suite"}
"""What libraries ask the machine for unless they are told."""


def allowed(environment: Mapping[str, str]) -> dict[str, str]:
    """What of a controller's environment its jobs get."""
    return {**{name: value for name, value in environment.items() if name in NAMES}, **SAID}
