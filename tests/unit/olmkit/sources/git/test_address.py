"""Addresses of repositories, names of branches, and directories: parsed or refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from olmkit.api.patterns import RELATIVE_PATH, REPOSITORY, URL
from olmkit.sources.errors import BadReference
from olmkit.sources.git.address import GitAddress, commit_name, parse, ref_name
from olmkit.sources.source import GitReference, RefKind, clean_directory


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://git.example/team/x.git", ("https", "git.example", 0, "/team/x.git", "")),
        ("https://Git.Example:8443/x", ("https", "git.example", 8443, "/x", "")),
        ("http://10.0.0.1/x", ("http", "10.0.0.1", 0, "/x", "")),
        ("https://[fd00::1]:443/x", ("https", "[fd00::1]", 443, "/x", "")),
        ("ssh://git.example/x", ("ssh", "git.example", 0, "/x", "git")),
        ("ssh://me@git.example:2222/~me/x", ("ssh", "git.example", 2222, "/~me/x", "me")),
        ("git@git.example:team/x.git", ("ssh", "git.example", 0, "team/x.git", "git")),
        ("me@[fd00::1]:x", ("ssh", "[fd00::1]", 0, "x", "me")),
        ("https://git.example/a:b@c", ("https", "git.example", 0, "/a:b@c", "")),
    ],
)
def test_addresses(text: str, expected: tuple[Any, ...]) -> None:
    found = parse(text)
    assert (found.scheme, found.host, found.port, found.path, found.user) == expected
    assert found.written == text


def test_the_authority_that_a_secret_has_to_name() -> None:
    assert parse("ssh://git@git.example:2222/x").authority == "git.example:2222"
    assert parse("git@git.example:x").authority == "git.example"
    assert [parse(f"{scheme}://h/x").effective_port for scheme in ("http", "https", "ssh")] == [80, 443, 22]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "/x",
        "./x",
        "git.example:x",
        "https://git.example",
        "https://git.example/",
        "https:///x",
        "https://git example/x",
        "https://git.example/x?y",
        "https://git.example/x#y",
        "https://-git.example/x",
        "git://git.example/x",
        "file:///x",
        "ext::sh -c x",
        "fd::17/x",
        "ftp://git.example/x",
        "ssh://git.example:2222",
        "ssh://-oProxyCommand=x/y",
        "git@git.example:/x",
        "git@git.example:-x",
        "git@-git.example:x",
        "-git@git.example:x",
        "https://git.example:65536/x",
        "https://git.example/x\n",
        "https://git.example/x\ty",
        "https://git.example/\x00",
    ],
)
def test_invalid_addresses(text: str) -> None:
    with pytest.raises(BadReference, match="cannot be read"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://u:s3cret@h/x",
        "https://s3cret@h/x",
        "https://:s3cret@h/x",
        "https://u:s3@cret@h/x",
        "ssh://u:s3cret@h/x",
        "u:s3cret@h:x",
        "ftp://u:s3cret@h/x",
        "https://h/x?s3cret",
    ],
)
def test_a_password_in_an_address_is_not_in_the_message(text: str) -> None:
    with pytest.raises(BadReference) as raised:
        parse(text)
    assert not re.search("s3|cret@", raised.value.message)


@given(some.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for form in ("", "https://", "ssh://", "git@", "https://h/"):
        try:
            assert isinstance(parse(form + text), GitAddress)
            assert re.fullmatch(REPOSITORY, form + text)
        except BadReference:
            pass


@pytest.mark.parametrize(
    ("name", "full"), [("main", b"refs/heads/main"), ("a/b", b"refs/heads/a/b"), ("ä", "refs/heads/ä".encode())]
)
def test_branches(name: str, full: bytes) -> None:
    assert ref_name(GitReference(RefKind.BRANCH, name)) == full
    assert ref_name(GitReference(RefKind.TAG, name)) == full.replace(b"heads", b"tags")


@pytest.mark.parametrize(
    "name", ["", "-", "-x", "--upload-pack=x", "..", "a..b", "a b", ".a", "a.", "a/.b", "a//b", "a.lock"]
)
def test_names_that_git_does_not_allow(name: str) -> None:
    with pytest.raises(BadReference, match="is not a name that git allows for a tag"):
        ref_name(GitReference(RefKind.TAG, name))


@pytest.mark.parametrize("name", ["a" * 39, "A" * 40, "a" * 41, "g" * 40, "", "HEAD", "-" * 40, "a" * 40 + "\n"])
def test_commits_are_not_abbreviated(name: str) -> None:
    with pytest.raises(BadReference, match="is not a commit"):
        commit_name(GitReference(RefKind.COMMIT, name))


@pytest.mark.parametrize("length", [40, 64])
def test_commits(length: int) -> None:
    assert commit_name(GitReference(RefKind.COMMIT, "a" * length)) == "a" * length


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("", ""),
        (".", ""),
        ("./", ""),
        ("a", "a"),
        ("a/", "a"),
        ("./a/b/", "a/b"),
        (".a", ".a"),
        ("..a", "..a"),
        ("a..", "a.."),
    ],
)
def test_directories(path: str, clean: str) -> None:
    assert clean_directory(path) == clean


@pytest.mark.parametrize(
    "path", ["..", "../a", "a/..", "a/../b", "/a", "/", "a//b", "a/./b", "a\nb", "a\0b", " /..", "./.."]
)
def test_directories_outside_the_content_are_refused(path: str) -> None:
    with pytest.raises(BadReference, match="is not a path within the content"):
        clean_directory(path)


@given(some.text(alphabet="./a\\ \n\0-"))
def test_an_accepted_directory_is_within_the_content(path: str) -> None:
    if re.fullmatch(RELATIVE_PATH, path):
        parts = clean_directory(path).split("/")
        assert ".." not in parts
        assert not path.startswith("/")


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://h/x.tar.gz", True),
        ("http://h:8080/", True),
        ("https://h/x?y=z", True),
        ("https://h", False),
        ("https://u@h/x", False),
        ("https://h/x#y", False),
        ("https://h/x y", False),
        ("file:///x", False),
    ],
)
def test_urls_of_archives(url: str, fits: bool) -> None:
    assert bool(re.fullmatch(URL, url)) == fits
