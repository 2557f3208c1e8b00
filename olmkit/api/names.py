"""Validation of Kubernetes names and of digests, unique safe names, and counts with nouns. Pure."""

from __future__ import annotations

import hashlib
import re

from olmkit.api.patterns import DIGEST, DNS_LABEL, DNS_SUBDOMAIN

_LABEL = re.compile(DNS_LABEL)
_SUBDOMAIN = re.compile(DNS_SUBDOMAIN)
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DIGEST = re.compile(DIGEST)
_INVALID_CHARACTERS = re.compile(r"[^-.a-z0-9]")
_EDGES = re.compile(r"(^[-.]+|[-.]+$)")
_SEAMS = re.compile(r"[-.]*\.[-.]*")

MAX_SUBDOMAIN_LENGTH = 253
MAX_LABEL_LENGTH = 63


def is_dns1123_label(name: str) -> bool:
    """Lower-case letters, digits and `-`, at most 63, starting and ending with a letter or digit."""
    return len(name) <= MAX_LABEL_LENGTH and _LABEL.fullmatch(name) is not None


def is_dns1123_subdomain(name: str) -> bool:
    """Labels joined by dots, at most 253 characters in all."""
    return len(name) <= MAX_SUBDOMAIN_LENGTH and _SUBDOMAIN.fullmatch(name) is not None


def dns1123_subdomain_errors(name: str) -> list[str]:
    """Each reason why the name is not a DNS-1123 subdomain, as a sentence about "it"; empty if it is one."""
    errors = []
    if len(name) > MAX_SUBDOMAIN_LENGTH:
        errors.append(f"it is longer than {MAX_SUBDOMAIN_LENGTH} characters")
    if not re.fullmatch(r"[a-z0-9.-]*", name):
        errors.append('it holds other characters than lower-case letters, digits, "-" and "."')
    if not all(re.fullmatch(r"[^-](.*[^-])?", part, re.DOTALL) for part in name.split(".")):
        errors.append("it, or a part of it between dots, does not begin and end with a letter or digit")
    return errors


def is_kubernetes_namespace(name: str) -> bool:
    """Report whether the namespace of this name belongs to Kubernetes, so that nothing may own it."""
    return name == "default" or name.startswith("kube-")


def is_label_value(text: str) -> bool:
    """Report whether it is a valid, non-empty value of a label."""
    return 0 < len(text) <= MAX_LABEL_LENGTH and _LABEL_VALUE.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    """Report whether text is a sha256, sha384 or sha512 digest in lower-case hex."""
    return _DIGEST.fullmatch(text) is not None


def digest_of_reference(ref: str) -> str:
    """The digest of an image reference; empty when it has none."""
    return ref.rpartition("@")[2] if "@" in ref else ""


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """`1 replica`, `2 replicas`; `plural` if it is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def safe_name(name: str, identity: str, limit: int = MAX_SUBDOMAIN_LENGTH) -> str:
    """`name` in lower case with invalid characters as `-`, truncated, plus `-` and 8 hex digits of sha256(identity).

    For a name that is not a DNS-1123 subdomain, is too long or is not unique. The same identity results in the same name.
    """
    suffix = hashlib.sha256(identity.encode()).hexdigest()[:8]
    base = _INVALID_CHARACTERS.sub("-", name.lower())[: limit - len(suffix) - 1]
    base = _SEAMS.sub(".", _EDGES.sub("", base))
    return f"{base}-{suffix}" if base else f"x-{suffix}"
