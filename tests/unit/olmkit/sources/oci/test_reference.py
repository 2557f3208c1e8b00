"""The grammar of image references, and short names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from olmkit.sources.errors import BadReference
from olmkit.sources.oci.reference import Reference, parse

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "quay.io/org/catalog:v1",
            Reference("quay.io/org/catalog", "quay.io", "org/catalog", "v1", None),
            id="a registry, a repository and a tag",
        ),
        pytest.param(
            "quay.io/org/catalog",
            Reference("quay.io/org/catalog", "quay.io", "org/catalog", "latest", None),
            id="no tag is latest",
        ),
        pytest.param(
            f"quay.io/org/catalog@{DIGEST}",
            Reference("quay.io/org/catalog", "quay.io", "org/catalog", None, DIGEST),
            id="a digest without a tag",
        ),
        pytest.param(
            f"quay.io/org/catalog:v1@{DIGEST}",
            Reference("quay.io/org/catalog", "quay.io", "org/catalog", "v1", DIGEST),
            id="a digest and a tag",
        ),
        pytest.param(
            "127.0.0.1:5000/a/b/c_d__e-f.g:V.1_x-y",
            Reference("127.0.0.1:5000/a/b/c_d__e-f.g", "127.0.0.1:5000", "a/b/c_d__e-f.g", "V.1_x-y", None),
            id="an address with a port",
        ),
        pytest.param(
            "localhost/a", Reference("localhost/a", "localhost", "a", "latest", None), id="localhost is a registry"
        ),
        pytest.param(
            "registry:5000/a:1",
            Reference("registry:5000/a", "registry:5000", "a", "1", None),
            id="a port makes a registry",
        ),
        pytest.param(
            "[fd00::1]:5000/a:1",
            Reference("[fd00::1]:5000/a", "[fd00::1]:5000", "a", "1", None),
            id="an IPv6 address in brackets",
        ),
        pytest.param(
            "nginx", Reference("nginx", "docker.io", "library/nginx", "latest", None), id="a bare name is Docker Hub's"
        ),
        pytest.param(
            "bitnami/redis:7",
            Reference("bitnami/redis", "docker.io", "bitnami/redis", "7", None),
            id="a first part without a dot is not a registry",
        ),
        pytest.param(
            "docker.io/nginx",
            Reference("docker.io/nginx", "docker.io", "library/nginx", "latest", None),
            id="Docker Hub by name has its library too",
        ),
        pytest.param(
            "index.docker.io/a/b",
            Reference("index.docker.io/a/b", "docker.io", "a/b", "latest", None),
            id="Docker Hub's other name",
        ),
    ],
)
def test_references_are_parsed(text: str, expected: Reference) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("oci://quay.io/org/chart:1.0.0", "leave out oci://", id="the address of a chart"),
        pytest.param("", "a repository is", id="empty"),
        pytest.param(":v1", "a repository is", id="only a tag"),
        pytest.param("quay.io/Org/catalog", "a repository is", id="upper case in a repository"),
        pytest.param("quay.io/org//catalog", "a repository is", id="an empty part"),
        pytest.param("quay.io/org/", "a repository is", id="a slash at the end"),
        pytest.param("quay.io/../secret", "a repository is", id="dots that climb"),
        pytest.param("quay.io/org/cat alog", "a repository is", id="a blank"),
        pytest.param("quay.io/org/catalog:", "a tag is", id="an empty tag"),
        pytest.param("quay.io/org/catalog:-x", "a tag is", id="a tag that starts with a dash"),
        pytest.param("quay.io/org/catalog:" + "x" * 129, "a tag is", id="a tag too long"),
        pytest.param("quay.io/org/catalog@", "the part after @ is not", id="an empty digest"),
        pytest.param("quay.io/org/catalog@sha256:abc", "the part after @ is not", id="a digest too short"),
        pytest.param(f"quay.io/org/catalog@{DIGEST.upper()}", "the part after @ is not", id="a digest in upper case"),
        pytest.param("quay.io/org/catalog@md5:" + "0" * 32, "the part after @ is not", id="an insecure algorithm"),
        pytest.param(f"a@{DIGEST}@{DIGEST}", "the part after @ is not", id="two digests"),
        pytest.param("https://quay.io/org/catalog", "is not a host name", id="a URL"),
        pytest.param("user:pass@quay.io/x", "the part after @ is not", id="credentials"),
        pytest.param("-a.b/x", "is not a host name", id="a host that starts with a dash"),
        pytest.param("a.b:123456/x", "is not a host name", id="a port too long"),
        pytest.param("a.b:65536/x", "is not a host name", id="a port too large"),
        pytest.param("quay.io?x=y/z", "is not a host name", id="a query"),
        pytest.param("quay.io/" + "a/" * 140 + "a", "longer than 255", id="a name too long"),
        pytest.param("quay.io/org/catalog\n", "a repository is", id="a line feed at the end"),
        pytest.param("quay.io/org/catalog:v1\n", "a tag is", id="a line feed after the tag"),
    ],
)
def test_invalid_references_are_reported(text: str, why: str) -> None:
    with pytest.raises(BadReference) as raised:
        parse(text)
    assert raised.value.reason == "InvalidReference"
    assert raised.value.message.startswith('image reference "')
    assert why in raised.value.message


@given(some.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        said = str(parse(text))
    except BadReference as error:
        said = error.message
    assert said.isprintable()


COMPONENT = some.from_regex(r"[a-z0-9]{1,8}([._-][a-z0-9]{1,4}){0,2}", fullmatch=True)


@given(
    some.sampled_from(["library/", "quay.io/", "localhost:5000/", "docker.io/", "[::1]:1/"]),
    some.lists(COMPONENT, min_size=2, max_size=4),
    some.none() | some.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,10}", fullmatch=True),
    some.booleans(),
)
def test_a_parsed_reference_is_printed_as_written(host: str, parts: list[str], tag: str | None, digest: bool) -> None:
    name = host + "/".join(parts)
    text = name + (f":{tag}" if tag else "") + (f"@{DIGEST}" if digest else "")
    reference = parse(text)
    assert reference.written == name
    assert parse(str(reference)) == reference
    assert parse(reference.by_digest(DIGEST)).digest == DIGEST
