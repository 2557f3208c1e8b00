"""Documents as blobs: the envelope, its errors, and the line a blob is stored as."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.fbc import documents
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.errors import BadDocument


def only(text: str | bytes) -> Blob:
    data = text.encode() if isinstance(text, str) else text
    (document,) = documents.read_documents(io.BytesIO(data))
    return parse_blob(document)


@pytest.mark.parametrize(
    ("text", "envelope"),
    [
        pytest.param('{"schema":"s","package":"p","name":"n"}', ("s", "p", "n"), id="all three keys"),
        pytest.param('{"schema":"s"}', ("s", "", ""), id="a schema alone"),
        pytest.param("Schema: s\nPACKAGE: p\nName: 'n'\n", ("s", "p", "n"), id="keys in any case"),
        pytest.param('{"\u017fchema":"s"}', ("s", "", ""), id="the long s folds to s, as in Unicode"),
        pytest.param('{"schema":"my.own/kind","x":[1]}', ("my.own/kind", "", ""), id="an unknown schema"),
    ],
)
def test_envelopes(text: str, envelope: tuple[str, str, str]) -> None:
    found = only(text)
    assert (found.schema, found.package, found.name) == envelope


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            '{"schema":"s", "b": 1, "a": {"d": 1, "c": 2}}',
            '{"a":{"c":2,"d":1},"b":1,"schema":"s"}',
            id="sorted and compact",
        ),
        pytest.param('{"schema":"<&>"}', '{"schema":"<&>"}', id="nothing is escaped for HTML"),
        pytest.param('{"schema":"é\\u00e9"}', '{"schema":"éé"}', id="text is text"),
        pytest.param(
            '{"schema":"a\\u2028b\\u2029c"}', '{"schema":"a\\u2028b\\u2029c"}', id="line separators are escaped"
        ),
        pytest.param(
            '{"schema":"s","a":1.0,"b":[2.50,1e3],"c":1e-7}',
            '{"a":1,"b":[2.5,1000],"c":1e-7,"schema":"s"}',
            id="floats as Go's",
        ),
        pytest.param('{"schema":"s","a":-0.0}', '{"a":-0,"schema":"s"}', id="a negative zero"),
        pytest.param(
            '{"schema":"s","a":123456789012345678901234567890}',
            '{"a":123456789012345678901234567890,"schema":"s"}',
            id="integers beyond 64 bits stay exact",
        ),
        pytest.param("schema: s\nb: yes\na: 1.50\n", '{"a":1.5,"b":true,"schema":"s"}', id="YAML has the same form"),
        pytest.param('{"schema":"s","a":1,"a":2}', '{"a":2,"schema":"s"}', id="of equal keys the last counts"),
        pytest.param(
            '{"schema":"s","Z":1,"a":2,"é":3}', '{"Z":1,"a":2,"schema":"s","é":3}', id="keys are sorted by their bytes"
        ),
    ],
)
def test_lines(text: str, line: str) -> None:
    assert only(text).line == line.encode() + b"\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param('{"name":"x"}', 'line 1: object \'{"name":"x"}\' is missing root schema field', id="no schema"),
        pytest.param(
            '{"schema":""}', 'line 1: object \'{"schema":""}\' is missing root schema field', id="an empty schema"
        ),
        pytest.param("# nothing\n", "line 1: object '' is missing root schema field", id="an empty document"),
        pytest.param("[1]\n", "line 1: a blob must be a mapping, not a list: [ <==", id="a list"),
        pytest.param("just text\n", 'line 1: a blob must be a mapping, not a string: "just text" <==', id="a string"),
        pytest.param(
            '{"schema":"s","Schema":"t"}', 'line 1: duplicate keys for key "schema": [Schema schema]', id="schema twice"
        ),
        pytest.param(
            '{"schema":"s","x":1,"X":2,"y":1,"Y":2}',
            'line 1: [duplicate keys for key "x": [X x], duplicate keys for key "y": [Y y]]',
            id="any key twice, and several in brackets",
        ),
        pytest.param(
            '{"schema":"s","NAME":1,"Name":2,"nAme":3,"naMe":4,"namE":5}',
            'line 1: duplicate keys for key "name": [NAME Name nAme and 2 more]',
            id="many that are one",
        ),
        pytest.param(
            "{" + ",".join(f'"{key}":1' for letter in "abcde" for key in (letter, letter.upper())) + "}",
            'line 1: [duplicate keys for key "a": [A a], duplicate keys for key "b": [B b], '
            'duplicate keys for key "c": [C c], and 2 more]',
            id="more duplicates than are named",
        ),
        pytest.param(
            '{"schema":5}',
            'line 1: expected value for key "schema" to be a string, got %!t(float64=5): 5',
            id="a schema that is a number",
        ),
        pytest.param(
            '{"schema":"s","Name":null}',
            'line 1: expected value for key "Name" to be a string, got %!t(<nil>): <nil>',
            id="a name that is null",
        ),
        pytest.param(
            '{"schema":"s","package":[1,{"a":true}]}',
            'line 1: expected value for key "package" to be a string, got '
            "[%!t(float64=1) map[%!t(string=a):true]]: [1 map[a:true]]",
            id="a package that is a list",
        ),
        pytest.param(
            '{"schema":"s","package":["a\\nb"]}',
            'line 1: expected value for key "package" to be a string, got [%!t(string=a b)]: [a b]',
            id="the error stays on one line",
        ),
        pytest.param(
            '{"schema":"s","name":' + "[" * 1000 + "]" * 1000 + "}",
            "line 1: nests deeper than 250 levels",
            id="a name that is too deep",
        ),
        pytest.param(
            '{"schema":"s","a":' + "[" * 300 + "]" * 300 + "}", "line 1: nests deeper than 250 levels", id="too deep"
        ),
    ],
)
def test_faults(text: str, fault: str) -> None:
    with pytest.raises(BadDocument) as caught:
        only(text)
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            '{"x":1e3,"name":"<x>"}',
            'object \'{"name":"<x>","x":1000}\n\' is missing root schema field',
            id="the blob as it would be stored, with its newline",
        ),
        pytest.param(
            '{"schema":"s","name":["a\\nb"]}',
            'expected value for key "name" to be a string, got [%!t(string=a\nb)]: [a\nb]',
            id="a value with a newline",
        ),
        pytest.param(
            '{"N":1,"n":2,"\u017f":3,"S":4,"s":5,"' + "x" * 200 + '":6,"' + "X" * 200 + '":7}',
            '[duplicate keys for key "n": [N n], duplicate keys for key "s": [S s \u017f], '
            f'duplicate keys for key "{"x" * 200}": [{"X" * 200} {"x" * 200}]]',
            id="all keys that are there twice",
        ),
        pytest.param(
            '{"schema":"' + "s" * 300 + '","Schema":1}', 'duplicate keys for key "schema": [Schema schema]', id="others"
        ),
    ],
)
def test_opms_message_is_kept_in_addition_to_the_one_line(text: str, words: str) -> None:
    with pytest.raises(BadDocument) as caught:
        only(text)
    assert caught.value.opm_message == words


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param('{"name":"' + "x" * 5000 + '"}', 200, id="a blob without a schema"),
        pytest.param('{"schema":"s","name":["' + "\u202e\\u0000\\n" * 500 + '"]}', 250, id="a name that is none"),
        pytest.param('{"' + "x" * 5000 + '":1,"' + "X" * 5000 + '":2}', 400, id="a key twice"),
        pytest.param('{"\\n\u202ex' + "y" * 99 + '":1,"\\n\u202eX' + "y" * 99 + '":2}', 400, id="a key of other signs"),
        pytest.param("- " + "x" * 5000 + "\n", 100, id="a list"),
        pytest.param('"' + "x" * 5000 + '\u202e"\n', 200, id="a string"),
        pytest.param("9" * 308 + "\n", 200, id="a number"),
    ],
)
def test_an_error_quotes_the_beginning_of_a_large_value_on_one_line(text: str, limit: int) -> None:
    with pytest.raises(BadDocument) as caught:
        only(text)
    assert len(str(caught.value)) < limit
    assert str(caught.value).isprintable()


KEYS = st.text(st.characters(codec="utf-8"), max_size=6).filter(
    lambda key: key.casefold() not in ("schema", "package", "name")
)


@settings(deadline=None)
@given(st.dictionaries(KEYS, st.text(st.characters(codec="utf-8")) | st.integers() | st.none(), max_size=5))
def test_a_stored_line_has_the_value_of_the_document(value: dict[str, object]) -> None:
    """The kept form changes nothing but the order of keys and the spelling."""
    if len({key.casefold() for key in value}) == len(value):
        kept = only(json.dumps({"schema": "s", **value})).line
        assert json.loads(kept) == {"schema": "s", **value}
        assert kept.count(b"\n") == 1
