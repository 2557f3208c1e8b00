"""Directories of git repositories over http: what is fetched, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.errors import Blocked, Waiting
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import BadContent
from olmkit.sources.open import open_source
from tests.integration.olmkit.sources.git.content import ALL_REFS_PROGRESS, CATALOG_FILES, FILES
from tests.integration.olmkit.sources.harness import SourceHarness, branch, commit, tag
from tests.servers.git_http_server import GitServer, Repository


@pytest.mark.parametrize("version", [2, 0])
async def test_a_branch_a_tag_and_a_commit_over_http(
    harness: SourceHarness, repository: Repository, version: int
) -> None:
    first = repository.commit(FILES)
    repository.git("tag", "light", first)
    repository.git("tag", "--annotate", "--message", "words", "heavy", first)
    second = repository.commit({"catalog/c": "new"}, on=first)
    async with GitServer(repository.directory.parents[1], version=version) as server:
        url = f"{server.url}/team/x.git"
        assert await harness.files(branch(url, directory="catalog")) == {"c": "new"}
        assert await harness.files(tag(url, "light")) == FILES
        assert await harness.files(tag(url, "heavy")) == FILES
        assert await harness.files(commit(url, second)) == {"catalog/c": "new"}
        assert await harness.files(commit(url, first, "./catalog/")) == CATALOG_FILES
        assert await harness.files(branch(url.removesuffix(".git") + ".git/", directory="catalog/")) == {"c": "new"}


async def test_an_opened_source_has_the_resolved_commit(
    harness: SourceHarness, repository: Repository, url: str
) -> None:
    made = repository.commit(FILES)
    async with open_source(branch(url, directory="catalog"), harness.access) as opened:
        assert opened.ref == f"{url}@{made}:catalog"
        named = {"repository": url, "commit": made, "directory": "catalog"}
        assert opened.resolved == {"type": "git", "git": named}
        text = f'["{url}", "catalog", "{made}"]'
        assert opened.digest == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        assert (opened.validator, opened.unchanged) == ("", False)


async def test_resolving_a_commit_fetches_nothing(
    harness: SourceHarness, repository: Repository, server: GitServer, url: str
) -> None:
    repository.commit(FILES)
    async with open_source(branch(url), harness.access):
        pass
    assert [line.partition("?")[0] for line in server.lines] == [
        "GET /team/x.git/info/refs",
        "POST /team/x.git/git-upload-pack",
    ]
    server.requests.clear()
    async with open_source(commit(url, "a" * 40), harness.access):
        pass
    assert server.requests == [], "a commit needs no request"


async def test_the_history_of_a_commit_is_not_fetched(harness: SourceHarness, repository: Repository, url: str) -> None:
    last = ""
    for number in range(30):
        last = repository.commit({"a": str(number), f"old-{number}": "x" * 1000}, on=last)
    repository.commit({"a": "newest"}, on=last)
    harness.limits = ContentLimits(bytes=20_000)
    assert await harness.files(branch(url)) == {"a": "newest"}


async def test_a_commit_that_an_http_server_serves_only_with_its_branch(
    harness: SourceHarness, repository: Repository, directory: Path
) -> None:
    first = repository.commit(FILES)
    repository.commit({"a": "newer"}, on=first)

    async def refuse(request: web.Request) -> web.StreamResponse | None:
        if request.method == "GET" or b"deepen 1" not in await request.read():
            return None
        said = f"ERR upload-pack: not our ref {first}"
        return web.Response(text=f"{len(said) + 4:04x}{said}", content_type="application/x-git-upload-pack-result")

    async with GitServer(directory, version=0) as server:
        server.fault = refuse
        assert await harness.files(commit(f"{server.url}/team/x.git", first, "catalog")) == CATALOG_FILES
        assert ALL_REFS_PROGRESS in harness.lines


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a" * 40, id="another hash"),
        pytest.param("f" * 40, id="the last hash"),
        pytest.param("0" * 40, id="the null hash"),
        pytest.param("0" * 64, id="the null hash of sha256"),
    ],
)
async def test_a_missing_commit(harness: SourceHarness, repository: Repository, url: str, name: str) -> None:
    repository.commit(FILES)
    error = await harness.error(commit(url, name))
    assert isinstance(error, Waiting)
    assert (error.reason, error.after.total_seconds()) == ("SourceNotFound", 300)
    assert error.message == f"git repository {url} has no commit {name}, or does not allow access to it"


async def test_repositories_with_sha256_objects(harness: SourceHarness, directory: Path, server: GitServer) -> None:
    repository = Repository(directory / "long.git", "sha256")
    made = repository.commit(FILES)
    assert len(made) == 64
    url = f"{server.url}/long.git"
    assert await harness.files(branch(url, directory="catalog")) == CATALOG_FILES
    assert await harness.files(commit(url, made)) == FILES


async def test_files_that_a_server_packed_as_deltas(harness: SourceHarness, repository: Repository, url: str) -> None:
    lines = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(2000)]
    files = {f"v{number}": "\n".join(lines[number:]) for number in range(20)}
    repository.commit(files)
    repository.git("repack", "-a", "-d", "-f", "--depth=50", "--window=50")
    assert await harness.files(branch(url)) == files


async def test_symbolic_links_become_copies(harness: SourceHarness, repository: Repository, url: str) -> None:
    link = repository.blob("../b/real.yaml")
    repository.commit(
        {"a/link.yaml": ("120000", link), "b/real.yaml": "text", "b/run": ("100755", repository.blob("#!"))}
    )
    assert await harness.files(branch(url)) == {"a/link.yaml": "text", "b/real.yaml": "text", "b/run": "#!"}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        pytest.param("../../../etc/passwd", "which is outside the repository", id="outside the repository"),
        pytest.param("/etc/passwd", "which is", id="an absolute path"),
        pytest.param("../README", "which is outside the content", id="outside the selected directory"),
        pytest.param("link", "which is a loop", id="to itself"),
        pytest.param("nowhere", "which is not there", id="to a missing file"),
        pytest.param("a", "only links to files are followed", id="to a directory"),
    ],
)
async def test_symbolic_links_outside_the_content_are_refused(
    harness: SourceHarness, repository: Repository, url: str, target: str, words: str
) -> None:
    files = FILES | {"catalog/link": ("120000", repository.blob(target))}
    made = repository.commit(files)
    error = await harness.error(branch(url, directory="catalog"))
    assert isinstance(error, BadContent)
    assert (error.reason, error.ref) == ("UnsafeContent", f"{url}@{made}:catalog")
    assert words in error.message
    assert error.message.startswith(f'commit {made} of git repository {url} contains "catalog/link", a link to ')


async def test_a_submodule_is_refused_within_the_selected_directory(
    harness: SourceHarness, repository: Repository, url: str
) -> None:
    files = FILES | {"vendor/lib": ("160000", "b" * 40)}
    repository.commit(files)
    assert await harness.files(branch(url, directory="catalog")) == CATALOG_FILES
    error = await harness.error(branch(url))
    assert error.reason == "UnsupportedContent"
    assert 'contains "vendor/lib", a submodule: submodules are not fetched' in error.message


@pytest.mark.parametrize(
    "name",
    [
        b".git",
        b".GIT",
        b"git~1",
        b".git ",
        b".git.",
        b"..",
        b".",
        b"a/b",
        ".g\u200cit".encode(),
        b".git::$INDEX_ALLOCATION",
    ],
)
async def test_names_that_git_does_not_allow(
    harness: SourceHarness, repository: Repository, url: str, name: bytes
) -> None:
    text = repository.blob("x")
    repository.commit(repository.raw_tree([("100644", b"ok", text), ("100644", name, text)]))
    error = await harness.error(branch(url))
    assert (error.reason, "a name that git does not allow" in error.message) == ("UnsafeContent", True)


async def test_invalid_names_and_modes(harness: SourceHarness, repository: Repository, url: str) -> None:
    text = repository.blob("x")
    for entry, words in (
        (("100644", b"\xff\xfe", text), "a name that is not UTF-8"),
        (("100644", b"n" * 300, text), "a path too long"),
        (("10644", b"pipe", text), "neither a file nor a directory"),
    ):
        repository.commit(repository.raw_tree([entry]))
        error = await harness.error(branch(url))
        assert words in error.message
    # A name of no bytes, and a directory whose text is broken off.
    for broken in (
        b"100644 \0" + bytes.fromhex(text),
        b"100644 a\0" + b"x" * 5,
        b"no tree at all",
        b"9 a\0" + bytes(20),
    ):
        repository.commit(repository.raw("tree", broken))
        error = await harness.error(branch(url))
        assert error.reason in ("UnsupportedContent", "UnsafeContent", "SourceUnavailable")


async def test_too_many_nested_directories(harness: SourceHarness, repository: Repository, url: str) -> None:
    """Nested directories that each contain the same directory ten times: a trillion files in a pack of a kilobyte."""
    below = repository.tree({f"f{number}": "x" for number in range(10)})
    for _ in range(12):
        below = repository.raw_tree([("40000", b"d%d" % number, below) for number in range(10)])
    made = repository.commit(below)
    harness.limits = ContentLimits(files=2000)
    error = await harness.error(branch(url))
    assert (error.reason, "more than 2,000 files and directories" in error.message) == ("TooLarge", True)
    deep = repository.tree({"x": "x"})
    for _ in range(70):
        deep = repository.raw_tree([("40000", b"d", deep)])
    made = repository.commit(deep)
    harness.limits = ContentLimits()
    error = await harness.error(branch(url))
    assert (error.reason, "a path more than 64 directories deep" in error.message) == ("TooLarge", True)
    assert error.message.startswith(f"commit {made} of git repository {url} ")


async def test_limits_on_bytes(harness: SourceHarness, repository: Repository, url: str) -> None:
    repository.commit({"a": bytes(3_000_000)})
    harness.limits = ContentLimits(bytes=2_000_000)
    error = await harness.error(branch(url))
    assert (error.reason, isinstance(error, BadContent)) == ("TooLarge", True)
    assert error.message == f"git repository {url} contains more than 2,000,000 bytes, the most that is read"
    # 200 names of one file of 20 kB: small as a pack, large on disk.
    text = repository.blob(bytes(20_000))
    repository.commit({f"f{number}": ("100644", text) for number in range(200)})
    error = await harness.error(branch(url))
    assert (error.reason, "larger than 2,000,000 bytes" in error.message) == ("TooLarge", True)


async def test_one_file_too_large_for_memory(harness: SourceHarness, repository: Repository, url: str) -> None:
    repository.commit({"a": bytes(129 * 1024**2)})
    error = await harness.error(branch(url))
    assert error.reason == "TooLarge"
    assert "contains a file of 135,266,304 bytes; at most 134,217,728 are read of one" in error.message


async def test_a_missing_branch_or_directory_is_reported(
    harness: SourceHarness, repository: Repository, url: str, server: GitServer
) -> None:
    made = repository.commit(FILES)
    for source, reason, words in (
        (branch(url, "gone"), "SourceNotFound", f'git repository {url} has no branch "gone"'),
        (branch(url, "mai"), "SourceNotFound", f'git repository {url} has no branch "mai"'),
        (tag(url, "main"), "SourceNotFound", f'git repository {url} has no tag "main"'),
        (
            branch(f"{server.url}/team/y.git"),
            "SourceNotFound",
            f'git server {server.address} has no git repository "/team/y.git", or does not allow access to it (404)',
        ),
        (
            branch(url, directory="catalog/c"),
            "MissingContent",
            f'commit {made} of git repository {url} has no directory "catalog/c"',
        ),
        (
            branch(url, directory="README"),
            "MissingContent",
            f'commit {made} of git repository {url} has no directory "README"',
        ),
    ):
        error = await harness.error(source)
        assert (error.reason, error.message) == (reason, words)


async def test_a_tag_that_is_not_of_a_commit(harness: SourceHarness, repository: Repository, url: str) -> None:
    repository.commit(FILES)
    repository.git("tag", "file", repository.blob("x"))
    error = await harness.error(tag(url, "file"))
    assert (error.reason, error.message) == (
        "MissingContent",
        f'git repository {url}: tag "file" does not point to a commit',
    )


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("ext::sh -c touch% /tmp/x", "cannot be read", id="a program"),
        pytest.param("file:///etc", "cannot be read", id="a file"),
        pytest.param("/etc", "cannot be read", id="a path"),
        pytest.param("git://example.com/x", "cannot be read", id="git's own port, without TLS or login"),
        pytest.param("https://u:s3cret@example.com/x", "into the Secret of auth", id="a password"),
        pytest.param("https://s3cret@example.com/x", "into the Secret of auth", id="a token"),
        pytest.param("ssh://u:s3cret@example.com/x", "into the Secret of auth", id="a password for ssh"),
        pytest.param("u:s3cret@example.com:x", "cannot be read", id="a password before a path"),
        pytest.param("https://example.com/x?token=s3cret", "cannot be read", id="a query"),
        pytest.param("ssh://-oProxyCommand=x/y", "cannot be read", id="an option for a host"),
        pytest.param("git@example.com:-upload-pack=x", "cannot be read", id="an option for a path"),
        pytest.param("https://example.com:99999/x", "cannot be read", id="a port out of range"),
        pytest.param("https://example.com/x\nHost: y", "cannot be read", id="a line break"),
    ],
)
async def test_addresses_without_a_repository(harness: SourceHarness, url: str, words: str) -> None:
    error = await harness.error(branch(url))
    assert isinstance(error, Blocked)
    assert error.reason == "InvalidReference"
    assert words in error.message
    assert "s3cret" not in error.message


@pytest.mark.parametrize(
    "name", ["--upload-pack=x", "-x", "a..b", "a b", "a\nb", "a~1", "", "/a", "a/", "a.lock", "@{-1}", "a:b"]
)
async def test_invalid_names_of_branches(harness: SourceHarness, name: str, url: str, server: GitServer) -> None:
    error = await harness.error(branch(url, name))
    assert (type(error).__name__, error.reason) == ("BadReference", "InvalidReference")
    assert server.requests == []
