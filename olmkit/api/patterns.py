"""Regular expressions for names, digests, image references and addresses, used by schemas and by the code that parses them. Pure.

Each is valid for `re` and for the API server. Those with ^ and $ are complete patterns for schemas; the others are parts.
Separate from the models, because jobs do not import pydantic.
"""

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
OBJECT_NAME = rf"^{DNS_SUBDOMAIN}$"

PACKAGE_NAME = r"^[^\s,/\x00-\x1f\x7f]+$"
"""The name of a package of a catalog in a list. Catalogs may have names that no Operator can request."""

DIGEST = r"(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})"
"""A digest with one of the supported algorithms."""
CHECKSUM = r"^sha256:[0-9a-f]{64}$"

_DOMAIN_PART = r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REPOSITORY_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
IMAGE_HOST = rf"({_DOMAIN_PART}(\.{_DOMAIN_PART})*|\[[0-9a-fA-F:.]+\])(:[0-9]{{1,5}})?"
"""The host name or address of a registry, with an optional port."""
IMAGE_REPOSITORY = rf"{_REPOSITORY_PART}(/{_REPOSITORY_PART})*"
IMAGE_TAG = r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}"
IMAGE_REFERENCE = rf"^({IMAGE_HOST}/)?{IMAGE_REPOSITORY}(:{IMAGE_TAG})?(@{DIGEST})?$"
"""The grammar of olmkit.sources.oci.reference, which also decides whether the first part is a registry."""

SEGMENT = r"([^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.\.[^/\x00-\x1f\x7f]+)"
RELATIVE_PATH = rf"^(\./)?{SEGMENT}(/{SEGMENT})*/?$|^\./?$"
"""A relative path within the content, without empty parts and ".."."""
HOST = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
PORT = r"(:[0-9]{1,5})?"
USER = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
PATH = r"[^\s?#\x00-\x1f\x7f]"
REPOSITORY = (
    rf"^(https?://{HOST}{PORT}/{PATH}+|ssh://({USER}@)?{HOST}{PORT}/{PATH}+|{USER}@{HOST}:[^\s/\x00-\x1f\x7f-]{PATH}*)$"
)
"""http(s)://host/path, ssh://user@host/path or user@host:path; no password, no query, nothing that git would execute."""
URL = rf"^https?://{HOST}{PORT}/[^\s#\x00-\x1f\x7f]*$"
CHART_REPOSITORY = rf"^(https?|oci)://{HOST}{PORT}(/[^\s#\x00-\x1f\x7f]*)?$"
"""The address of a repository of charts."""
CHART_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
REF_NAME = r"^[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]*$"
"""git-check-ref-format(1), except what a regular expression cannot express; olmkit.api.content has CEL rules for that."""
COMMIT = r"^([0-9a-f]{40}|[0-9a-f]{64})$"
