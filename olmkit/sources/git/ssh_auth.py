"""Authentication at an ssh server: connection options from a Secret, and errors for a Secret that is missing or unsuitable.

Opens no connection. Messages never contain a part of a key.
"""

from __future__ import annotations

from typing import Any

import asyncssh

from olmkit.api.source_annotations import HOSTS_ANNOTATION
from olmkit.errors import Blocked, Waiting
from olmkit.sources.credentials import SSH_AUTH, Credentials, SshKey
from olmkit.sources.errors import RETRY_DELAY, SourceReason
from olmkit.sources.git.address import GitAddress
from olmkit.sources.transport import ADDRESS_RETRY_DELAY


def connect_options(address: GitAddress, key: SshKey, *, insecure: bool) -> dict[str, Any]:
    """Options of asyncssh.connect. They include all that it would otherwise read from this machine. Raises Blocked."""
    private_key = _private_key(key)
    try:
        known_hosts = asyncssh.import_known_hosts(key.known_hosts)
    except ValueError:
        words = (
            f"Secret {key.secret} has ssh-knownhosts that cannot be read: lines as ssh-keyscan prints them are needed"
        )
        raise Blocked(SourceReason.INVALID_SECRET, words, [f"{key.secret}: ssh-knownhosts"]) from None
    return {
        "host": address.host.strip("[]"),
        "port": address.effective_port,
        "username": address.user,
        "client_keys": [private_key],
        "known_hosts": None if insecure else known_hosts,
        "preferred_auth": ("publickey",),
        "config": None,
        "agent_path": None,
        "x509_trusted_certs": None,
        "x509_trusted_cert_paths": None,
        "gss_host": None,
    }


def _private_key(key: SshKey) -> asyncssh.SSHKey:
    """The private key of a Secret. Raises Blocked."""
    try:
        return asyncssh.import_private_key(key.private_key)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        if str(error).startswith("Passphrase must be"):
            problem = "an ssh-privatekey that is encrypted with a passphrase: use a key without one (ssh-keygen -p -N '' -f FILE)"
        elif _is_public(key.private_key):
            problem = (
                "a public key as its ssh-privatekey: give the private one, the file whose name does not end in .pub"
            )
        else:
            problem = "an ssh-privatekey that cannot be read: give a private key without a passphrase, as ssh-keygen writes it"
        words = f"Secret {key.secret} has {problem}"
        raise Blocked(SourceReason.INVALID_SECRET, words, [f"{key.secret}: ssh-privatekey"]) from None


def _is_public(text: str) -> bool:
    try:
        asyncssh.import_public_key(text)
    except (asyncssh.KeyImportError, ValueError):
        return False
    return True


def missing_key(address: GitAddress, credentials: Credentials) -> Blocked:
    """The error for an address without a key: Blocked, because only a Secret or another address helps."""
    words = f"git server {address.authority} is reached over ssh, which needs a key"
    hint = (
        f"create a Secret of type {SSH_AUTH} in the namespace of the suite with ssh-privatekey, ssh-knownhosts and the"
        f' annotation {HOSTS_ANNOTATION}: "{address.authority}", and name it in auth.secret'
    )
    login, hosts = credentials.login_at(address.host), credentials.ssh_hosts
    if login is not None:
        words += f", and Secret {login.secret} has a user and a password, which are for https: {hint}"
    elif hosts:
        others = ", ".join(hosts)
        words += f", and the Secret is for other hosts ({others}): name it in its annotation {HOSTS_ANNOTATION} too"
    else:
        words += f": {hint}"
    return Blocked(
        SourceReason.UNAUTHORIZED, words + credentials.common_secret_hint, [login.secret if login else "", *hosts]
    )


def login_failed(error: Exception, server: str, key: SshKey) -> Waiting:
    """The error for a session that could not be established; `server` is the name of the server in messages."""
    match error:
        case asyncssh.HostKeyNotVerifiable():
            words = f"{server} presents a host key that is not in the ssh-knownhosts of Secret {key.secret}"
            return Waiting(SourceReason.HOST_KEY_REFUSED, words, ADDRESS_RETRY_DELAY)
        case asyncssh.PermissionDenied():
            words = f"{server} does not accept the key of Secret {key.secret}"
            return Waiting(SourceReason.UNAUTHORIZED, words, RETRY_DELAY, [key.secret])
        case TimeoutError():
            return Waiting(
                SourceReason.SOURCE_UNAVAILABLE,
                f"{server} does not answer: the ssh session was not established in time",
                RETRY_DELAY,
            )
        case asyncssh.KeyExchangeFailed():
            return Waiting(
                SourceReason.SOURCE_UNAVAILABLE,
                f"{server} offers no encryption or no type of host key that is supported",
                RETRY_DELAY,
            )
        case _:
            return Waiting(
                SourceReason.SOURCE_UNAVAILABLE, f"{server} does not speak ssh, or closed the connection", RETRY_DELAY
            )
