"""Challenges of registries, in every form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from olmkit.sources.oci.authorization import challenges


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([""], {}, id="an empty one"),
        pytest.param(['Basic realm="a"'], {"basic": {"realm": "a"}}, id="basic"),
        pytest.param(["basic"], {"basic": {}}, id="basic without a realm"),
        pytest.param(
            ['Bearer realm="https://a/token",service="s",scope="repository:a/b:pull,push"'],
            {"bearer": {"realm": "https://a/token", "service": "s", "scope": "repository:a/b:pull,push"}},
            id="bearer, with a comma in its scope",
        ),
        pytest.param(
            ['Bearer realm="a", error="invalid_token"', 'Basic realm="b"'],
            {"bearer": {"realm": "a", "error": "invalid_token"}, "basic": {"realm": "b"}},
            id="two headers",
        ),
        pytest.param(
            ['BASIC Realm="b", bearer REALM="a" , service=s'],
            {"bearer": {"realm": "a", "service": "s"}, "basic": {"realm": "b"}},
            id="two in one header, in any case",
        ),
        pytest.param(
            ['Basic realm="a"', 'Basic realm="b"'], {"basic": {"realm": "a"}}, id="the first of a kind counts"
        ),
        pytest.param(
            ["Negotiate abc", 'Basic realm="b"'], {"negotiate": {}, "basic": {"realm": "b"}}, id="another kind"
        ),
        pytest.param(['Basic realm="a \\"b\\" c"'], {"basic": {"realm": 'a "b" c'}}, id="quotes in quotes"),
        pytest.param(["Basically"], {}, id="a word that begins the same"),
        pytest.param(['Bearer realm="a'], {"bearer": {}}, id="a quote that does not end"),
    ],
)
def test_challenges_are_parsed(values: Sequence[str], expected: Mapping[str, Mapping[str, str]]) -> None:
    assert challenges(values) == expected
