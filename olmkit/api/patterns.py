"""The grammars of names, digests, image references and addresses: schemas refuse by them, and code that reads checks again. Pure.

Each is a text for `re` and for the API server alike. Those with ^ and $ are for schemas, as they stand; the others are parts.
Apart from the models, because jobs do without pydantic.
"""

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
OBJECT_NAME = rf"^{DNS_SUBDOMAIN}$"

DIGEST = r"(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})"
"""A digest in a form that this suite computes."""
CHECKSUM = r"^sha256:[0-9a-f]{64}$"

_DOMAIN_PART = r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REPOSITORY_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
IMAGE_HOST = rf"({_DOMAIN_PART}(\.{_DOMAIN_PART})*|\[[0-9a-fA-F:.]+\])(:[0-9]{{1,5}})?"
"""A registry's host name or address, and its port."""
IMAGE_REPOSITORY = rf"{_REPOSITORY_PART}(/{_REPOSITORY_PART})*"
IMAGE_TAG = r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}"
IMAGE_REFERENCE = rf"^({IMAGE_HOST}/)?{IMAGE_REPOSITORY}(:{IMAGE_TAG})?(@{DIGEST})?$"
"""What olmkit.sources.oci.reference reads, but for what only the meaning of the first part decides."""

SEGMENT = r"([^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.\.[^/\x00-\x1f\x7f]+)"
RELATIVE_PATH = rf"^(\./)?{SEGMENT}(/{SEGMENT})*/?$|^\./?$"
"""A path within the content: no empty part, no "..", nothing absolute."""
HOST = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
PORT = r"(:[0-9]{1,5})?"
USER = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
PATH = r"[^\s?#\x00-\x1f\x7f]"
REPOSITORY = (
    rf"^(https?://{HOST}{PORT}/{PATH}+|ssh://({USER}@)?{HOST}{PORT}/{PATH}+|{USER}@{HOST}:[^\s/\x00-\x1f\x7f-]{PATH}*)$"
)
"""http(s)://host/path, ssh://user@host/path or user@host:path; no password, no query, nothing that git would run."""
URL = rf"^https?://{HOST}{PORT}/[^\s#\x00-\x1f\x7f]*$"
REF_NAME = r"^[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]*$"
"""git-check-ref-format(1), but for what a regular expression cannot say; olmkit.api.content has that as a rule."""
COMMIT = r"^([0-9a-f]{40}|[0-9a-f]{64})$"
