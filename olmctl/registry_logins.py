"""The logins of registries that docker, podman and buildah store for this user, in their files and in credential helpers.

A credential helper is the program `docker-credential-NAME` that a file names for a registry. It is run once for each registry
that a command uses, with limits on its time and its output. Passwords and tokens are in no message.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from olmctl.programs import TimeIsUp, TooMuchOutput, run_program
from olmkit.errors import Blocked
from olmkit.sources.access import Access
from olmkit.sources.credentials import DOCKER_HUB, DOCKER_HUB_NAMES, Credentials, credentials_of
from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.oci.reference import parse
from olmkit.sources.oci.registries_conf import Registries

HELPER_SECONDS = 60.0
"""The time that a credential helper has: it may ask a person."""
MAX_HELPER_BYTES = 1024**2
"""Bytes of the answer of a credential helper. Tokens have a few thousand."""
_LOGIN_KEYS = ("auth", "username", "password", "identitytoken", "registrytoken")
_DOCKER_HUB_SERVER = "https://index.docker.io/v1/"
_DOCKER_HUB_KEYS = (_DOCKER_HUB_SERVER, *sorted(DOCKER_HUB_NAMES))
_HELPER_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_NO_LOGIN = "credentials not found in native keychain"
"""The words that helpers print if they have no login for a registry."""
_IDENTITY_TOKEN_USER = "<token>"
"""The user name of a login that is an identity token."""


def reached_registries(references: Iterable[str], access: Access) -> Registries:
    """The registries of these images, with the logins of this user. Raises Blocked, BadReference."""
    registries = access.registries()
    endpoints = (endpoint for text in references for endpoint in registries.endpoints(parse(text)))
    return replace(registries, credentials=stored_logins(endpoint.host for endpoint in endpoints))


def login_hint() -> str:
    """The advice if a registry denies access."""
    path = login_file()
    store = _read(path).get("credsStore")
    program = _program(store) if isinstance(store, str) and store else ""
    more = f", and {program}, which it names, is not installed" if program and not shutil.which(program) else ""
    return f"log in with docker, podman or buildah ({path} is read{more})"


def stored_logins(hosts: Iterable[str]) -> Credentials:
    """The logins of this user; credential helpers are asked for those of these registries ("host[:port]"). Raises Blocked."""
    path = login_file()
    document = _read(path)
    logins = _logins(document)
    for host in dict.fromkeys(hosts):
        name, is_own = _helper(document, host)
        if name and (login := _login_of_helper(name, host, path, is_own=is_own)):
            _replace(logins, host, login)
    return _credentials(logins, path) if logins else Credentials()


def login_file() -> Path:
    """The file of logins that the environment names, else the one of podman if it exists, else the one of docker."""
    if named := os.environ.get("REGISTRY_AUTH_FILE"):
        return Path(named)
    docker = Path(os.environ.get("DOCKER_CONFIG") or Path("~/.docker").expanduser()) / "config.json"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    containers = Path(runtime) / "containers" / "auth.json" if runtime else docker
    return containers if containers.is_file() else docker


def _read(path: Path) -> dict[str, Any]:
    """The content of the file of logins; empty if there is none. Raises Blocked."""
    try:
        document = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except orjson.JSONDecodeError:
        raise _blocked(f"{path} is not valid JSON: it must be a file of logins") from None
    return document if isinstance(document, dict) else {}


def _credentials(logins: Mapping[str, Any], path: Path) -> Credentials:
    data = base64.b64encode(orjson.dumps({"auths": logins})).decode()
    secret = {
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": str(path)},
        "data": {".dockerconfigjson": data},
    }
    try:
        return credentials_of(secret)
    except Blocked as error:
        raise Blocked(error.reason, error.message.removeprefix("Secret ")) from error


def _logins(document: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that contain a login."""
    auths = document.get("auths")
    if not isinstance(auths, dict):
        return {}
    return {
        host: entry
        for host, entry in auths.items()
        if isinstance(entry, dict) and any(entry.get(key) for key in _LOGIN_KEYS)
    }


def _names(host: str) -> tuple[str, ...]:
    """The keys under which a file may have a registry."""
    return _DOCKER_HUB_KEYS if host in DOCKER_HUB_NAMES else (host, f"https://{host}")


def _helper(document: Mapping[str, Any], host: str) -> tuple[str, bool]:
    """The name of the helper for a registry, "" if there is none, and True if the file names it for this registry alone."""
    helpers = document.get("credHelpers")
    own = next((helpers[name] for name in _names(host) if name in helpers), "") if isinstance(helpers, dict) else ""
    found = own or document.get("credsStore")
    return (found, bool(own)) if isinstance(found, str) else ("", False)


def _program(name: str) -> str:
    return f"docker-credential-{name}"


def _login_of_helper(name: str, host: str, path: Path, *, is_own: bool) -> dict[str, str] | None:
    """The entry of a registry that a helper gives; None if it has none. Raises Blocked."""
    if not _HELPER_NAME.fullmatch(name):
        raise _blocked(f"{path} names the credential helper {quoted(name)}, which is no name of a program")
    program = _program(name)
    server = _DOCKER_HUB_SERVER if host in DOCKER_HUB_NAMES else host
    begin = f"{program}, which {path} names for {host},"
    try:
        ended = run_program([program, "get"], HELPER_SECONDS, MAX_HELPER_BYTES, server.encode(), with_errors=False)
    except FileNotFoundError:
        if not is_own:
            return None  # such a file is often a copy from another machine, and the registry may need no login
        raise _blocked(f"{begin} is not installed") from None
    except OSError as error:
        raise _blocked(f"{begin} cannot be run: {error.strerror}") from None
    except TimeIsUp:
        raise _blocked(f"{begin} has not ended within {HELPER_SECONDS:g} seconds") from None
    except TooMuchOutput:
        raise _blocked(f"{begin} prints more than {MAX_HELPER_BYTES:,} bytes, which is no login") from None
    if ended.status != 0:
        if _NO_LOGIN in ended.output.decode(errors="replace"):
            return None
        raise _blocked(f"{begin} ended with exit status {ended.status}: run `echo {server} | {program} get` to see why")
    return _entry(ended.output, begin)


def _entry(output: bytes, begin: str) -> dict[str, str] | None:
    try:
        found = orjson.loads(output)
        user, secret = found["Username"], found["Secret"]
    except (orjson.JSONDecodeError, TypeError, KeyError):
        user = secret = None
    if not isinstance(user, str) or not isinstance(secret, str):
        raise _blocked(f"{begin} printed no Username and Secret")
    if not secret:
        return None
    return {"identitytoken": secret} if user == _IDENTITY_TOKEN_USER else {"username": user, "password": secret}


def _replace(logins: dict[str, Any], host: str, login: Mapping[str, str]) -> None:
    """Put the login of a helper in the place of the entries of its registry."""
    for name in _names(host):
        logins.pop(name, None)
    logins[DOCKER_HUB if host in DOCKER_HUB_NAMES else host] = login


def _blocked(text: str) -> Blocked:
    return Blocked(SourceReason.INVALID_SECRET, text)
