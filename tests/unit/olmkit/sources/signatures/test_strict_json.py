"""JSON that two readers could read differently is refused."""

from __future__ import annotations

import pytest

from olmkit.sources.signatures.strict_json import Unreadable, decoded, items, member, number, read_object, text


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param('{"a": 1, "a": 1}', 'has it with the key "a" twice', id="a key twice"),
        pytest.param('{"a": 1, "A": 1}', 'has it with the key "A" twice', id="a key in two cases"),
        pytest.param('{"x": [{"\\u017f": 1, "s": 1}]}', 'has it with the key "s" twice', id="a key that Go folds"),
        pytest.param("[]", "has it that is not a JSON object", id="a list"),
        pytest.param('{"a": NaN}', "has it that is not JSON", id="no number"),
        pytest.param("[" * 100_000, "has it that is not JSON", id="deep lists"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "has it that is not JSON", id="a number of 5,000 digits"),
        pytest.param(b"\xff{}", "has it that is not JSON", id="no UTF-8"),
        pytest.param('{"a": 1} {}', "has it that is not JSON", id="two documents"),
    ],
)
def test_documents_that_are_refused(document: str | bytes, words: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read_object(document, "it")
    assert str(raised.value) == words


def test_values_of_other_types_are_absent() -> None:
    value = {"a": {"b": "c"}, "list": "x", "number": 7, "written": "7"}
    assert (text(value, "a", "b"), text(value, "a"), text(value, "a", "b", "c"), text(None, "a")) == ("c", "", "", "")
    assert (member(value, "a", "x"), member([], "a")) == (None, None)
    assert (list(items(value, "list")), list(items(value, "a"))) == ([], [])
    assert (number(value, "number"), number(value, "written")) == (7, 7)


@pytest.mark.parametrize("value", [-1, 2**63, True, 1.0, "1" * 20, "²", "", None, "0x1"])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(Unreadable):
        number({"n": value}, "n")


def test_base64() -> None:
    assert decoded({"x": "YQ=="}, "x") == b"a"
    assert decoded({}, "x") == b""
    for wrong in ("YQ", "Y Q==", "YQ==\n", "é"):
        with pytest.raises(Unreadable):
            decoded({"x": wrong}, "x")
