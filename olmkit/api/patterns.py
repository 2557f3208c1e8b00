"""Patterns that schemas refuse by, and that what reads a source checks again. Pure.

Apart from the models, because jobs do without pydantic.
"""

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
CHECKSUM = r"^sha256:[0-9a-f]{64}$"
OBJECT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
