"""Sources as values: encoding, identity and digest."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as some

from olmkit.jobs import codec
from olmkit.sources.source import (
    ConfigMapsSource,
    GitReference,
    GitSource,
    HttpSource,
    ImageSource,
    RefKind,
    Source,
    digest_of_files,
    identity,
    server_of,
    without_query,
)

REFERENCES = some.builds(GitReference, some.sampled_from(RefKind), some.text())
SOURCES: some.SearchStrategy[Source] = some.one_of(
    some.builds(ImageSource, some.text()),
    some.builds(GitSource, some.text(), REFERENCES, some.text(), some.booleans()),
    some.builds(HttpSource, some.text(), some.text(), some.booleans()),
    some.builds(ConfigMapsSource, some.lists(some.tuples(some.text(), some.binary())).map(tuple)),
)
MAIN = GitReference(RefKind.BRANCH, "main")


@dataclass(frozen=True)
class Request:
    """A request with a source."""

    source: Source


@given(SOURCES)
def test_a_source_survives_encoding(source: Source) -> None:
    made = Request(source)
    assert codec.decode(Request, json.loads(json.dumps(codec.encode(made)))) == made


@given(SOURCES, SOURCES)
def test_different_sources_have_different_identities(one: Source, other: Source) -> None:
    sorted_files = [tuple(sorted(each.files)) if isinstance(each, ConfigMapsSource) else each for each in (one, other)]
    assert (identity(one) == identity(other)) == (sorted_files[0] == sorted_files[1])


@pytest.mark.parametrize(
    ("source", "beginning"),
    [
        (ImageSource("quay.io/a/b:v1"), "quay.io/a/b:v1"),
        (GitSource("https://git.example/x", MAIN, "a"), "git https://git.example/x branch main "),
        (HttpSource("https://u:s3cret@files.example/x?token=s3cret#s3cret"), "http https://files.example/x "),
        (ConfigMapsSource((("a", b"s3cret"),)), "configMaps sha256:"),
    ],
)
def test_an_identity_is_short_and_contains_no_secret(source: Source, beginning: str) -> None:
    assert identity(source).startswith(beginning)
    assert "s3cret" not in identity(source)
    assert len(identity(source)) < 200


def test_files_are_not_in_a_repr() -> None:
    assert repr(ConfigMapsSource((("a", b"text"),))) == "ConfigMapsSource()"


def test_the_digest_of_files_does_not_depend_on_their_order() -> None:
    one, two = ("a", b"1"), ("b", b"2")
    assert digest_of_files([one, two]) == digest_of_files([two, one])
    assert len({digest_of_files(each) for each in ([one], [two], [one, two], [("a", b"2"), ("b", b"1")])}) == 4


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/b?c=d#e", "https://a.example/b"),
        ("https://u:p@a.example:8443/b@c", "https://a.example:8443/b@c"),
        ("https://u:p@x@a.example", "https://a.example"),
        ("u:p@a.example:b", "u:p@a.example:b"),
    ],
)
def test_the_query_and_login_of_a_url_are_removed(url: str, shown: str) -> None:
    assert without_query(url) == shown


def test_an_unknown_type_of_source_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid value 'tape'"):
        codec.decode(Request, {"source": {"type": "tape"}})


@pytest.mark.parametrize(
    ("source", "host"),
    [
        pytest.param(ImageSource("quay.io:5000/a/b:v1"), "quay.io:5000", id="an image of a registry with a port"),
        pytest.param(ImageSource("nginx"), "docker.io", id="an image of Docker Hub"),
        pytest.param(ImageSource("A B"), "", id="a reference that cannot be read"),
        pytest.param(
            GitSource("https://user@git.example.com/a/b", GitReference(RefKind.BRANCH, "main")),
            "git.example.com",
            id="a repository over HTTPS",
        ),
        pytest.param(
            GitSource("git@git.example.com:a/b", GitReference(RefKind.BRANCH, "main")),
            "git.example.com",
            id="a repository over SSH, as scp writes it",
        ),
        pytest.param(HttpSource("http://example.com:8080?token=s3cret"), "example.com:8080", id="a URL without a path"),
        pytest.param(ConfigMapsSource(()), "", id="ConfigMaps"),
    ],
)
def test_the_server_of_a_source(source: Source, host: str) -> None:
    assert server_of(source) == host
