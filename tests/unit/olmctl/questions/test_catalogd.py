"""The error about catalogs that cannot be read."""

from __future__ import annotations

import pytest

from olmctl.commands import FAILED, REFUSED, status_of
from olmctl.questions.catalogd import CatalogReadError, unread_error
from olmctl.questions.session import Session
from olmkit.errors import ApiError, Forbidden, Unavailable
from olmkit.runtime.client import Client

NEEDED = "needs get on services/proxy of https:catalogd-catalogserver:https in namespace olm-suite-system"


def unread(name: str, cause: ApiError | None) -> Exception:
    error = CatalogReadError(name)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("causes", "status", "text"),
    [
        pytest.param(
            [Unavailable(503, "", "later"), None], FAILED, "a; b", id="it does not answer, or not as it should"
        ),
        pytest.param([None, Forbidden(403, "Forbidden", "no")], REFUSED, f"a; b; this {NEEDED}", id="without rights"),
    ],
)
async def test_a_catalog_that_cannot_be_read(causes: list[ApiError | None], status: int, text: str) -> None:
    problems = [unread(name, cause) for name, cause in zip("ab", causes, strict=True)]
    found = await unread_error(Session(Client("unused"), "olm-suite-system"), problems)
    assert (status_of(found), found.message) == (status, text)
