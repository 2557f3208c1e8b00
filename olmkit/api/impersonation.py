"""The identity under which rukpak acts for a BundleDeployment with a ServiceAccount: the account, and a mark of the suite.

The mark is an extra of the user. The API server lets nobody send it who may not impersonate it (config/rbac), so that policies of
the suite recognize what rukpak does as an account. The groups of the account are added by the API server, because no group is
sent. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

EXTRA_KEY = "core.rukpak.io/impersonated-by"
"""The key of the extra: lower-case, as the API server reads it from a header."""
EXTRA_VALUE = "rukpak"
_USER_PREFIX = "system:serviceaccount"


class Account(NamedTuple):
    """A ServiceAccount."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """The account in messages."""
        return f"ServiceAccount {self.namespace}/{self.name}"

    @property
    def user(self) -> str:
        """The user name of the account."""
        return f"{_USER_PREFIX}:{self.namespace}:{self.name}"

    def headers(self) -> Mapping[str, str]:
        """The headers of a request as the account."""
        return {"Impersonate-User": self.user, f"Impersonate-Extra-{quote(EXTRA_KEY, safe='')}": EXTRA_VALUE}
