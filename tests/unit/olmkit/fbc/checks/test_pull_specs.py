"""Image references in catalogs, with the errors of the library that opm uses."""

from __future__ import annotations

import pytest

from olmkit.fbc.checks.pull_specs import pull_spec_error

HEX = "a" * 64
LOWERCASE = "invalid reference format: repository name must be lowercase"
INVALID, TOO_LONG = "invalid reference format", "repository name must not be more than 255 characters"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("nginx", id="a name"),
        pytest.param("nginx:1.0@sha256:" + HEX, id="with tag and digest"),
        pytest.param("localhost/a", id="localhost"),
        pytest.param("localhost:5000", id="what looks like a port is a tag without a slash"),
        pytest.param("Quay.io:443/a/b__c--d.e_f", id="a host in capitals, with all separators"),
        pytest.param("foo_bar.com/a", id="no host name, so a part of the path"),
        pytest.param("a@sha512:" + "b" * 128, id="sha512"),
        pytest.param("index.docker.io/a", id="the old name of Docker Hub"),
        pytest.param("a:" + "t" * 128, id="the longest tag"),
        pytest.param("q.io/" + "a" * 250, id="the longest name"),
    ],
)
def test_valid_pull_specs(text: str) -> None:
    assert pull_spec_error(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            HEX,
            f"invalid repository name ({HEX}), cannot specify 64-byte hexadecimal strings",
            id="a text like an image's id",
        ),
        pytest.param("quay.io/A/b", LOWERCASE, id="capitals"),
        pytest.param("Quay/b", LOWERCASE, id="a first part that is no host"),
        pytest.param(
            "QUAY_A.io/b", "repository name must be lowercase", id="capitals in a part that was read as a host"
        ),
        pytest.param("a b", INVALID, id="a blank"),
        pytest.param("a/", INVALID, id="a slash at the end"),
        pytest.param("a___b", INVALID, id="three underscores"),
        pytest.param("a\n", INVALID, id="a line end"),
        pytest.param("[::1]:5000/a", INVALID, id="an address of IPv6"),
        pytest.param("https://quay.io/a", INVALID, id="a URL"),
        pytest.param("a:" + "t" * 129, INVALID, id="a tag that is too long"),
        pytest.param("a@sha256:" + "a" * 31, INVALID, id="a digest that is much too short"),
        pytest.param("a@sha256:" + "a" * 63, "invalid checksum digest length", id="a digest that is too short"),
        pytest.param("a@sha256:" + "A" * 64, "invalid checksum digest format", id="a digest in capitals"),
        pytest.param("a@md5:" + "a" * 32, "unsupported digest algorithm", id="another algorithm"),
        pytest.param("q.io/" + "a" * 251, TOO_LONG, id="a name that is too long"),
    ],
)
def test_invalid_pull_specs(text: str, words: str) -> None:
    assert pull_spec_error(text) == words


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a-" * 8_000_000, id="dashes"),
        pytest.param("a/" * 8_000_000, id="slashes"),
        pytest.param("a" * 60_000 + "!", id="a long word and then a sign"),
        pytest.param("a." * 30_000 + "!", id="dots and then a sign"),
        pytest.param("a--" * 20_000 + "!", id="dashes and then a sign"),
        pytest.param("-" * 60_000 + "/", id="nothing but dashes"),
    ],
)
def test_megabytes_take_no_time(text: str) -> None:
    """Backtracking would take hours."""
    assert pull_spec_error(text) in (INVALID, TOO_LONG)
