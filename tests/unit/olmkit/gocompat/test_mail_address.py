"""Go's errors for texts that are no addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.mail_address import address_error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("ada@example.com", "", id="an address"),
        pytest.param("Ada Lovelace <ada@example.com>", "", id="a name and an address"),
        pytest.param('"Ada, L." <ada@example.com>', "", id="a name in quotes"),
        pytest.param("ada@example.com (Ada)", "", id="a comment"),
        pytest.param('"a b"@example.com', "", id="a mailbox in quotes"),
        pytest.param("ada@[127.0.0.1]", "", id="an address of a machine"),
        pytest.param("Team: ada@example.com;", "", id="a group of one"),
        pytest.param("", "mail: no address", id="nothing"),
        pytest.param("ada@", "mail: missing '@' or angle-addr", id="no domain"),
        pytest.param("ada", "mail: missing '@' or angle-addr", id="no @"),
        pytest.param("Ada Lovelace", "mail: no angle-addr", id="a name"),
        pytest.param("Ada <ada@example.com", "mail: unclosed angle-addr", id="half a bracket"),
        pytest.param("Ada <ada>", "mail: missing @ in addr-spec", id="no @ in brackets"),
        pytest.param(
            "ada@example.com, bob@example.com", 'mail: expected single address, got ", bob@example.com"', id="two"
        ),
        pytest.param("Team: a@b, c@d;", "mail: group with multiple addresses", id="a group of two"),
        pytest.param("Team:;", "mail: empty group", id="an empty group"),
        pytest.param("@example.com", "mail: missing word in phrase: mail: invalid string", id="no mailbox"),
        pytest.param(".ada@example.com", "mail: missing '@' or angle-addr", id="a leading dot"),
        pytest.param("<a..b@example.com>", "mail: double dot in atom", id="two dots"),
        pytest.param("<a@example.com.>", "mail: trailing dot in atom", id="a trailing dot"),
        pytest.param("<a@[x]>", 'mail: invalid IP address in domain-literal: "x"', id="no address of a machine"),
        pytest.param('"a', "mail: missing word in phrase: mail: unclosed quoted-string", id="half a quote"),
        pytest.param("a@b (c", "mail: misformatted parenthetical comment", id="half a comment"),
        pytest.param("Team: a@b c@d;", "mail: expected comma", id="no comma"),
    ],
)
def test_the_error_of_a_text(text: str, error: str) -> None:
    assert address_error(text) == error


@given(st.text('ab @<>()":;,.[]\\\t'))
def test_any_text_is_an_address_or_has_an_error(text: str) -> None:
    assert address_error(text).startswith("mail: ") or "@" in text
