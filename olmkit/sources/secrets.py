"""Parses Secrets of the supported types into credentials.

Pure. Errors name the Secret, its keys and hosts, never a value. The keys of a docker config are its hosts. Secrets of other types
name their hosts in the annotation `olm.operatorframework.io/source-hosts`, and those of them that a user and a password may be
sent to without verified TLS in `olm.operatorframework.io/insecure-source-hosts`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from olmkit.api.source_annotations import HOSTS_ANNOTATION, INSECURE_HOSTS_ANNOTATION
from olmkit.errors import Blocked
from olmkit.sources.credentials import (
    DOCKER_HUB,
    DOCKER_HUB_NAMES,
    CredentialRule,
    Credentials,
    Login,
    SshKey,
    split_port,
)
from olmkit.sources.errors import SourceReason, quoted, without_login
from olmkit.sources.oci.reference import is_host

DOCKER_CONFIG = "kubernetes.io/dockerconfigjson"
DOCKER_CFG = "kubernetes.io/dockercfg"
BASIC_AUTH = "kubernetes.io/basic-auth"
SSH_AUTH = "kubernetes.io/ssh-auth"
OPAQUE = "Opaque"
_HINTS = {
    "ssh-privatekey": "give a private key without a passphrase, as ssh-keygen writes it",
    "ssh-knownhosts": "give the lines that ssh-keyscan prints of the server, once you have compared them with what its"
    " owner publishes",
    "username": "give the user, or any word where a token is the password",
    "password": "give the password, or a token",
}


class BadSecret(Blocked):
    """A Secret that cannot be used. `public_message` contains nothing of the Secret, for objects that do not name it."""

    def __init__(self, reason: str, message: str, public_message: str, subject: Iterable[str] = ()) -> None:
        super().__init__(reason, message, subject)
        self.public_message = public_message

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.public_message, self.subject)


def missing_secret(name: str, namespace: str) -> Blocked:
    """The error for a Secret that does not exist."""
    text = f'Secret "{name}" not found in namespace "{namespace}": create it there, or name another one'
    return Blocked(SourceReason.INVALID_SECRET, text, [f"missing {namespace}/{name}"])


def credentials_of(secret: Mapping[str, Any]) -> Credentials:
    """The credentials of a Secret object.

    Raises Blocked(InvalidSecret), which names the Secret and the missing or invalid key.
    """
    rules = tuple(_rules(_Secret(secret)))
    return Credentials((rules,), rules[0].value.secret)


@dataclass(frozen=True)
class _Secret:
    """Access to the keys and annotations of a Secret object."""

    raw: Mapping[str, Any] = field(repr=False)

    @property
    def type(self) -> str:
        """Opaque by default, as in the API server."""
        return self.raw.get("type") or OPAQUE

    @property
    def name(self) -> str:
        """namespace/name."""
        metadata = self.raw.get("metadata") or {}
        return "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)

    @property
    def keys(self) -> Mapping[str, str]:
        """The keys and their base64 values."""
        return self.raw.get("data") or {}

    def text(self, key: str) -> str:
        """The text of a key. Raises BadSecret when it is missing, empty or not text."""
        if not self.keys.get(key):
            hint = _HINTS.get(key)
            raise self.bad(f"no {key}", f"has no key {key}: {hint}" if hint else f"has no key {key}")
        try:
            return base64.b64decode(self.keys[key], validate=True).decode()
        except ValueError:  # binascii.Error and UnicodeDecodeError
            raise self.bad(key, f"has a value that is not text at the key {key}") from None

    def line(self, key: str) -> str:
        """The text of a key, without trailing newlines."""
        return self.text(key).rstrip("\r\n")

    def hosts(self) -> Iterator[tuple[str, int, bool]]:
        """Host, port (0 for none) and whether the annotation for insecure hosts has it too, for each host of the annotation.

        Raises BadSecret when there is none.
        """
        hosts, insecure = self._annotation_hosts(HOSTS_ANNOTATION), self._annotation_hosts(INSECURE_HOSTS_ANNOTATION)
        if unnamed := next((each for each in insecure if each not in hosts), ""):
            rest = f" in its annotation {INSECURE_HOSTS_ANNOTATION}, which {HOSTS_ANNOTATION} does not name: name it in both"
            raise self.bad(INSECURE_HOSTS_ANNOTATION, "has", unnamed, rest)
        if not hosts:
            raise self.bad(
                HOSTS_ANNOTATION,
                "does not name the hosts that it may be sent to:"
                f' set the annotation {HOSTS_ANNOTATION} on it, for example to "git.example.com,files.example.com:8443"',
            )
        for each in hosts:
            if not is_host(each):
                rest = f" in its annotation {HOSTS_ANNOTATION}, which is not host[:port]"
                raise self.bad(f"{HOSTS_ANNOTATION} {each}", "has", each, rest)
            yield (*split_port(each), each in insecure)

    def _annotation_hosts(self, annotation: str) -> list[str]:
        annotations = (self.raw.get("metadata") or {}).get("annotations") or {}
        return [part.strip().lower() for part in annotations.get(annotation, "").split(",") if part.strip()]

    def bad(self, part: str, words: str, shown: str | None = None, rest: str = "") -> BadSecret:
        """The error for a part of this Secret; `shown` is a text of the Secret between `words` and `rest`."""
        begin, subject = f"Secret {self.name} {words}", [f"{self.name}: {part}"]
        if shown is None:
            return BadSecret(SourceReason.INVALID_SECRET, begin, begin, subject)
        message = f"{begin} {quoted(without_login(shown))}{rest}"
        return BadSecret(SourceReason.INVALID_SECRET, message, f"{begin} …{rest}", subject)


def _rules(secret: _Secret) -> Iterator[CredentialRule]:
    match _type(secret):
        case "kubernetes.io/dockerconfigjson":
            yield from _rules_of_docker_config(secret, ".dockerconfigjson")
        case "kubernetes.io/dockercfg":
            yield from _rules_of_docker_config(secret, ".dockercfg")
        case "kubernetes.io/basic-auth":
            login = Login(secret.line("username"), secret.line("password"), secret=secret.name)
            if ":" in login.user:
                raise secret.bad("username", "has a colon in its username, which basic authentication cannot send")
            yield from (
                CredentialRule(host, port, "", login, insecure=insecure) for host, port, insecure in secret.hosts()
            )
        case "kubernetes.io/ssh-auth":
            key = SshKey(secret.text("ssh-privatekey"), secret.text("ssh-knownhosts"), secret.name)
            yield from (CredentialRule(host, port, "", key) for host, port, _ in secret.hosts())
        case other:
            usable = ", ".join((DOCKER_CONFIG, DOCKER_CFG, BASIC_AUTH, SSH_AUTH))
            raise secret.bad("type", f"is of type {quoted(other)}: supported types are {usable}")


def _type(secret: _Secret) -> str:
    """The type; for Opaque it is detected by the keys."""
    if secret.type != OPAQUE:
        return secret.type
    by_key = {
        ".dockerconfigjson": DOCKER_CONFIG,
        ".dockercfg": DOCKER_CFG,
        "ssh-privatekey": SSH_AUTH,
        "ssh-knownhosts": SSH_AUTH,
        "username": BASIC_AUTH,
        "password": BASIC_AUTH,
    }
    found = next((kind for key, kind in by_key.items() if key in secret.keys), None)
    if found is None:
        raise secret.bad("keys", f"has none of the keys {', '.join(by_key)}")
    return found


def _rules_of_docker_config(secret: _Secret, key: str) -> Iterator[CredentialRule]:
    try:
        document = orjson.loads(secret.text(key))
    except orjson.JSONDecodeError:
        raise secret.bad(key, f"has invalid JSON at the key {key}") from None
    auths = document.get("auths") if isinstance(document, dict) and key == ".dockerconfigjson" else document
    if not isinstance(auths, dict) or not all(isinstance(entry, dict) for entry in auths.values()):
        inside = " under auths" if key == ".dockerconfigjson" else ""
        raise secret.bad(f"{key} auths", f"has no logins by registry{inside} at the key {key}")
    if not auths:
        raise secret.bad(f"{key} registry", f"does not name a registry at the key {key}")
    for registry, entry in auths.items():
        host, port, path = _parse_registry(secret, registry)
        yield CredentialRule(host, port, path, _login(secret, registry, entry), registries_only=True)


def _parse_registry(secret: _Secret, registry: str) -> tuple[str, int, str]:
    """Host, port and path of a docker config's key. As in kubelet, a scheme and the API version are ignored."""
    bare = registry.partition("://")[2] if "://" in registry else registry
    authority, _, path = bare.partition("/")
    if path.startswith(("v1/", "v2/")) or path in ("v1", "v2"):
        path = path[3:]
    host = authority.lower()
    if not is_host(host.replace("*", "x")):
        raise secret.bad(registry, "names the registry", registry, ", which is not host[:port][/path]")
    host, port = split_port(host)
    return DOCKER_HUB if host in DOCKER_HUB_NAMES else host, port, path.strip("/")


def _login(secret: _Secret, registry: str, entry: Mapping[str, Any]) -> Login:
    bearer = _string(entry, "registrytoken")
    if not (bearer.isascii() and bearer.isprintable()):
        raise secret.bad(
            f"registrytoken {registry}",
            "has a registrytoken for",
            registry,
            " with characters that a header cannot contain",
        )
    user, password = _string(entry, "username"), _string(entry, "password")
    if _string(entry, "auth"):
        user, password = _decode_auth(secret, registry, _string(entry, "auth"))
    login = Login(user, password, _string(entry, "identitytoken"), bearer, secret.name)
    if login == Login(user, secret=secret.name):
        words = " with no password, auth, identitytoken or registrytoken (credential helpers are not supported)"
        raise secret.bad(f"login {registry}", "has a login for", registry, words)
    return login


def _decode_auth(secret: _Secret, registry: str, auth: str) -> tuple[str, str]:
    try:
        bare = auth.replace("\r", "").replace("\n", "")
        padded = bare + "=" * (-len(bare) % 4)
        user, colon, password = base64.b64decode(padded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise secret.bad(f"auth {registry}", "has an auth for", registry, " that is not user:password in base64")
    return user, password


def _string(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
