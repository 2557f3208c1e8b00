"""The unpack job with git repositories of a real server: what is read, what is refused, and what is pinned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from olmkit.errors import Waiting
from olmkit.sources.resolved_source import content_digest, pinned
from olmkit.sources.source import GitReference, GitSource, RefKind
from rukpak.bundle.storage import load, stored_type
from rukpak.format import RegistryBundle
from tests.integration.job_results import staged
from tests.integration.rukpak.bundle.source_unpacker import PLAIN, REGISTRY, SourceUnpacker, config_map
from tests.servers.git_http_server import GitServer, Repository
from tests.unit.rukpak.builders import csv
from tests.unit.rukpak.builders import files as files_of

Files = dict[str, bytes | str | tuple[str, str]]
LFS_POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'1' * 64}\nsize 12\n"


class GitUnpacker(SourceUnpacker):
    """The unpack jobs of rukpak, and a repository in the layout of combo."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.repository = Repository(root / "repositories" / "combo.git")
        self.server = GitServer(root / "repositories")

    @property
    def url(self) -> str:
        return f"{self.server.url}/combo.git"

    def commit(self, name: str, on: str = "") -> str:
        """Commit manifests with a ConfigMap, beside what a repository has."""
        files: Files = {"README.md": "combo", "manifests/00.yaml": config_map(name), "go.mod": "module combo"}
        return self.repository.commit(files, on=on)

    def source(self, kind: str, name: str, directory: str = "") -> GitSource:
        return GitSource(self.url, GitReference(RefKind(kind), name), directory)


@pytest_asyncio.fixture
async def unpacker(tmp_path: Path) -> AsyncIterator[GitUnpacker]:
    made = GitUnpacker(tmp_path)
    async with made.server:
        yield made
    await made.jobs.close()


async def test_a_tag_is_resolved_once_and_its_commit_is_kept_wherever_the_tag_goes(unpacker: GitUnpacker) -> None:
    first = unpacker.commit("one")
    unpacker.repository.git("tag", "v0.0.2", first)
    source = unpacker.source("tag", "v0.0.2")
    found = await unpacker.unpack(source)
    assert found.resolved == {"type": "git", "git": {"repository": unpacker.url, "commit": first}}
    assert found.digest == content_digest(found.resolved)
    assert unpacker.names(found) == ["one"]
    assert unpacker.files(found) == ["bundle.json", "files/manifests/00.yaml", "type"], "nothing else of the repository"

    second = unpacker.commit("two", on=first)
    unpacker.repository.git("tag", "--force", "v0.0.2", second)
    unpacker.store.remove(found.digest)
    again = await unpacker.unpack(pinned(source, found.resolved))
    assert (again.resolved, unpacker.names(again)) == (found.resolved, ["one"])
    unpacker.repository.git("tag", "--delete", "v0.0.2")
    unpacker.store.remove(found.digest)
    assert unpacker.names(await unpacker.unpack(pinned(source, found.resolved))) == ["one"]


async def test_a_branch_and_a_directory_of_a_registry_bundle(unpacker: GitUnpacker) -> None:
    files = files_of(csv("things.v1.0.0"), package="things")
    beside: Files = {"vendor/lib": ("160000", "a" * 40), "docs/big.bin": LFS_POINTER, ".olm/README.md": "x"}
    made = unpacker.repository.commit({**{f".olm/bundle/{path}": data for path, data in files.items()}, **beside})
    found = await unpacker.unpack(unpacker.source("branch", "main", ".olm/bundle"), REGISTRY)
    assert not found.problem
    assert found.resolved["git"] == {"repository": unpacker.url, "commit": made, "directory": ".olm/bundle"}
    assert isinstance(load(unpacker.store, found.digest), RegistryBundle)
    assert all(not path.startswith("unpacked") for path in unpacker.files(found))


async def test_stored_content_needs_an_answer_of_the_repository_and_no_content_of_it(unpacker: GitUnpacker) -> None:
    commit = unpacker.commit("one")
    found = await unpacker.unpack(unpacker.source("commit", commit))
    unpacker.server.requests.clear()
    again = await unpacker.unpack(unpacker.source("commit", commit))
    assert (again.digest, again.staged) == (found.digest, False)
    assert unpacker.server.requests, "the credentials are proved"
    assert not any("fetch" in line for line in unpacker.server.lines)


@pytest.mark.parametrize(
    ("files", "directory", "content_type", "words"),
    [
        pytest.param(
            {"README.md": "x"},
            "",
            PLAIN,
            'has no content at "/manifests", where its content should be',
            id="no manifests",
        ),
        pytest.param(
            {"dev/README.md": "x"},
            "dev",
            PLAIN,
            'has no content at "/dev/manifests", where its content should be',
            id="no manifests in the directory",
        ),
        pytest.param(
            {"dev/manifests/a.yaml": config_map("a")},
            "dev",
            REGISTRY,
            "is not a registry+v1 bundle (it has no /metadata): for a plain+v0 bundle set",
            id="a plain bundle",
        ),
        pytest.param(
            {"manifests/a.yaml": LFS_POINTER},
            "",
            PLAIN,
            'contains "manifests/a.yaml", a pointer of Git LFS, which is not read: add the file itself to the repository',
            id="a file that Git LFS keeps",
        ),
        pytest.param(
            {"manifests/a.yaml": config_map("a"), "manifests/lib": ("160000", "a" * 40)},
            "",
            PLAIN,
            'contains "manifests/lib", a submodule: submodules are not fetched: add their files to the repository',
            id="a submodule",
        ),
        pytest.param(
            {"manifests": ("160000", "a" * 40)},
            "",
            PLAIN,
            'contains "manifests", a submodule',
            id="manifests as a submodule",
        ),
        pytest.param(
            {"manifests/sub/a.yaml": config_map("a")},
            "",
            PLAIN,
            'found "manifests/sub"',
            id="a subdirectory of manifests",
        ),
    ],
)
async def test_bad_content_of_a_commit_is_final_and_that_of_a_branch_is_requested_again(
    unpacker: GitUnpacker,
    files: Files,
    directory: str,
    content_type: str,
    words: str,
) -> None:
    commit = unpacker.repository.commit(files)
    found = await unpacker.unpack(unpacker.source("commit", commit, directory), content_type)
    assert words in found.problem
    assert found.resolved["git"]["commit"] == commit
    unpacker.repository.git("tag", "v1", commit)
    for source in (unpacker.source("branch", "main", directory), unpacker.source("tag", "v1", directory)):
        with pytest.raises(Waiting) as caught:
            await unpacker.unpack(source, content_type)
        assert words in caught.value.message
    assert unpacker.store.digests() == set()
    assert staged(unpacker.directory) == []


async def test_a_branch_whose_content_was_bad_is_read_at_its_next_commit(unpacker: GitUnpacker) -> None:
    bad = unpacker.repository.commit({"manifests/a.yaml": LFS_POINTER})
    with pytest.raises(Waiting):
        await unpacker.unpack(unpacker.source("branch", "main"))
    unpacker.commit("good", on=bad)
    assert unpacker.names(await unpacker.unpack(unpacker.source("branch", "main"))) == ["good"]


async def test_a_link_that_leads_out_of_the_repository_is_refused(unpacker: GitUnpacker) -> None:
    target = unpacker.repository.blob("../../../etc/passwd")
    commit = unpacker.repository.commit({"manifests/a.yaml": ("120000", target)})
    found = await unpacker.unpack(unpacker.source("commit", commit))
    assert '"manifests/a.yaml"' in found.problem
    assert unpacker.store.digests() == set()


async def test_what_does_not_exist_yet_is_waited_for(unpacker: GitUnpacker) -> None:
    unpacker.commit("one")
    with pytest.raises(Waiting, match=r'combo\.git has no tag "v0\.0\.2"'):
        await unpacker.unpack(unpacker.source("tag", "v0.0.2"))
    with pytest.raises(Waiting, match="has no commit"):
        await unpacker.unpack(unpacker.source("commit", "a" * 40))


async def test_two_types_of_one_commit_are_not_mixed(unpacker: GitUnpacker) -> None:
    made = files_of(csv("things.v1.0.0"), package="things")
    unpacker.repository.commit(dict(made))
    found = await unpacker.unpack(unpacker.source("branch", "main"), REGISTRY)
    other = await unpacker.unpack(unpacker.source("branch", "main"), PLAIN)
    assert (other.digest, other.staged) == (found.digest, False)
    assert stored_type(unpacker.store, found.digest) == REGISTRY
