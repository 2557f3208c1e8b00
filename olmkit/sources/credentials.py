"""Credentials: the logins and keys that are read from Secrets, each for the hosts that its Secret names.

Pure. Reprs and errors contain names of Secrets, keys and hosts, never values.

A docker config names hosts by its keys, matched as in kubelet: `*` matches one part of a host name, the longest path wins,
and index.docker.io is Docker Hub. Unlike in kubelet, a path ends at a slash: `quay.io/team` does not match `quay.io/teams`. The
other types name their hosts in the annotation `olm.operatorframework.io/source-hosts`, and those of them that a user and a
password may be sent to without verified TLS in `olm.operatorframework.io/insecure-source-hosts`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import orjson

from olmkit.api.source_annotations import HOSTS_ANNOTATION, INSECURE_HOSTS_ANNOTATION
from olmkit.errors import Blocked
from olmkit.sources.errors import SourceReason, quoted, without_login
from olmkit.sources.oci.reference import is_host

DOCKER_HUB = "docker.io"
DOCKER_HUB_NAMES = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
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


class Login(msgspec.Struct, frozen=True, tag=True):
    """A login: `registry_token` (a bearer token), `identity_token` (an OAuth2 refresh token), or user and password.

    `secret` is the name of the Secret it came from, as "namespace/name".
    """

    user: str = ""
    password: str = ""
    identity_token: str = ""
    registry_token: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Login(secret={self.secret!r})"

    @property
    def basic(self) -> str:
        """The value of a header `Authorization: Basic`; "" when there is no password."""
        if not (self.user or self.password):
            return ""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


class SshKey(msgspec.Struct, frozen=True, tag=True):
    """A private key in OpenSSH format, and the known_hosts lines that verify the server."""

    private_key: str
    known_hosts: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"SshKey(secret={self.secret!r})"


@dataclass(frozen=True)
class CredentialRule:
    """A host, or a pattern of hosts, and the credentials for it.

    `port` 0 is the default port; `path` is a repository or a directory of repositories, without slashes at the ends; "" for all.
    """

    host: str
    port: int
    path: str
    value: Login | SshKey
    registries_only: bool = False
    """True if it is for registries only: the credentials of a docker config are."""
    insecure: bool = False
    """True if it may also be sent over plain HTTP, or without verification of the certificate."""

    def matches(self, host: str, port: int, default_ports: tuple[int, ...]) -> bool:
        """Report whether the credential may be sent to this host and port."""
        if port != self.port and not (self.port == 0 and port in default_ports):
            return False
        # As in kubelet's keyring, each * matches at most one part of the name.
        pattern = re.escape(self.host).replace(r"\*", "[^.]*")
        return re.fullmatch(pattern, host) is not None

    @property
    def host_pattern(self) -> str:
        """host[:port][/path], for messages."""
        port = f":{self.port}" if self.port else ""
        return f"{self.host}{port}" + (f"/{self.path}" if self.path else "")

    @property
    def specificity(self) -> tuple[bool, int, int]:
        """The sort key of matching rules: names before patterns, then longer paths, then longer hosts."""
        return "*" not in self.host, len(self.path), len(self.host)


Kind = TypeVar("Kind", Login, SshKey)


@dataclass(frozen=True)
class Credentials:
    """Rules in layers: the first layer with a rule for a host is used.

    `own_secret` is the Secret that the object itself names, as "namespace/name", "" for none. Messages contain its hosts and not
    those of other Secrets, because everyone who may read the object reads them. `common_secret_error` says what is wrong
    with the Secret for all objects, "" for nothing.
    """

    layers: tuple[tuple[CredentialRule, ...], ...] = ()
    own_secret: str = ""
    common_secret_error: str = ""

    @staticmethod
    def merged(first: Credentials, second: Credentials) -> Credentials:
        """The union; for hosts in both, `first` takes precedence. The object's own Secret is in `first`."""
        return Credentials(
            first.layers + second.layers, first.own_secret, first.common_secret_error or second.common_secret_error
        )

    def for_registry(self, host: str, repository: str) -> Login | None:
        """The login for a repository at "host[:port]"; None when no Secret has one. All names of Docker Hub are equal."""
        host = host.lower()
        name, port = split_port(DOCKER_HUB if host in DOCKER_HUB_NAMES else host)
        for layer in self.layers:
            matching = [each for each in layer if _may_pull(each, name, port or 443, repository)]
            found = _most_specific(matching, Login)
            if found is not None:
                return found
        return None

    def basic_auth(self, host: str, *, verified: bool = True) -> Login | None:
        """The user and password for "host[:port]" (default port 443), from Secrets whose annotation names it.

        Not `verified` means plain HTTP or a certificate that is not checked: the annotation for insecure hosts must then name the
        host too.
        """
        return self._for_server(host, 443, (443, 80), Login, verified=verified)

    def ssh_key(self, host: str) -> SshKey | None:
        """The key for "host[:port]" (default port 22)."""
        return self._for_server(host, 22, (22,), SshKey)

    def login_at(self, host: str) -> Login | None:
        """A user and password for a host at any port, for messages about credentials that do not apply."""
        rules = (
            rule for layer in self.layers for rule in layer if not rule.registries_only and rule.host == host.lower()
        )
        return next((rule.value for rule in rules if isinstance(rule.value, Login)), None)

    def key_at(self, host: str) -> SshKey | None:
        """The same for a key."""
        rules = (rule for layer in self.layers for rule in layer if rule.host == host.lower())
        return next((rule.value for rule in rules if isinstance(rule.value, SshKey)), None)

    @property
    def ssh_hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names for its key, sorted, for messages."""
        return tuple(sorted({rule.host_pattern for rule in self._own_rules() if isinstance(rule.value, SshKey)}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names in its annotation, sorted, for messages."""
        return tuple(sorted({rule.host_pattern for rule in self._own_rules() if not rule.registries_only}))

    @property
    def registry_only_secret(self) -> str:
        """The own Secret if its credentials are for registries only, else ""."""
        return self.own_secret if any(self._own_rules()) and not self.hosts else ""

    @property
    def common_secret_hint(self) -> str:
        """A hint for messages about missing credentials; "" when every Secret could be used."""
        return f"; {self.common_secret_error}" if self.common_secret_error else ""

    def _own_rules(self) -> Iterator[CredentialRule]:
        return (
            rule for layer in self.layers for rule in layer if self.own_secret and rule.value.secret == self.own_secret
        )

    def _for_server(
        self, host: str, port: int, default_ports: tuple[int, ...], kind: type[Kind], *, verified: bool = True
    ) -> Kind | None:
        name, port_given = split_port(host.lower())
        for layer in self.layers:
            matching = [
                each
                for each in layer
                if not each.registries_only and each.matches(name, port_given or port, default_ports)
            ]
            found = _most_specific([each for each in matching if verified or each.insecure], kind)
            if found is not None:
                return found
        return None


def _may_pull(rule: CredentialRule, host: str, port: int, repository: str) -> bool:
    """Rules of docker configs, and those of Secrets with an annotation that names the registry."""
    inside = not rule.path or repository == rule.path or repository.startswith(f"{rule.path}/")
    return inside and rule.matches(host, port, (443,))


def _most_specific(rules: Sequence[CredentialRule], kind: type[Kind]) -> Kind | None:
    matching = sorted(rules, key=lambda rule: rule.specificity, reverse=True)
    return next((rule.value for rule in matching if isinstance(rule.value, kind)), None)


def split_port(host: str) -> tuple[str, int]:
    """("host", port or 0) of "host[:port]"; an IPv6 address is in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        return host, 0
    return name, int(port)


# --- Secrets


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
