"""Folders of git repositories: a branch or tag becomes a commit (`resolve`), a commit becomes files on disk (`fetch`).

Called by opening.py, in job children: it blocks on disk and on inflating. Only git's own protocol is spoken, over http, https and
ssh; no program is started, no hook, filter or submodule followed, and no configuration of this machine read.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.object_format import SHA1, SHA256
from dulwich.object_store import ObjectStoreGraphWalker
from dulwich.objects import ObjectID
from dulwich.refs import Ref

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.errors import RETRY_DELAY, BadContent, SourceReason, quoted
from olmkit.sources.git.address import GitAddress, commit_name, parse, ref_name
from olmkit.sources.git.checkout import check_out
from olmkit.sources.git.http_client import GitExchange, HttpClient
from olmkit.sources.git.pack import PACK_ERRORS, PackError, PackLimits, PackObjects, read_pack
from olmkit.sources.http_auth import network
from olmkit.sources.network import Timeouts
from olmkit.sources.source import GitSource, RefKind, clean_folder
from olmkit.sources.transport import Transport
from olmkit.sources.tree import ContentLimits, Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage

if TYPE_CHECKING:
    from olmkit.sources.git.ssh_client import SshClient

Client: TypeAlias = "HttpClient | SshClient"
Value = TypeVar("Value")
# It logs what servers send as they send it, and what matters of that is in the error.
logging.getLogger("dulwich").setLevel(logging.CRITICAL)
PEELED_SUFFIX = b"^{}"
HEAD = b"HEAD"
MAX_OBJECTS_PER_FILE = 4
"""Objects that are taken per file that is allowed: folders, and what a history holds beside."""
CONTENT_RETRY_DELAY = timedelta(minutes=5)
PACK_TIMEOUT_FACTOR = 4
"""How many times the usual patience a server gets that has to make a pack before it can send one."""


def digest(source: GitSource, commit: str) -> str:
    """Which content that is: "sha256:<hex>" over repository, directory and commit."""
    folder = clean_folder(source.directory)
    text = json.dumps([source.repository, folder, commit])
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


async def resolve(source: GitSource, access: Access) -> str:
    """The commit that is meant now. Only names of branches and tags are asked for; for a commit nobody is asked.

    Raises BadReference, Blocked, Waiting.
    """
    address = parse(source.repository)
    clean_folder(source.directory)
    if source.reference.kind is RefKind.COMMIT:
        return commit_name(source.reference)
    name = ref_name(source.reference)
    async with _client(source, address, access, GitExchange(source.insecure_skip_verify), access.timeouts) as client:
        refs = await _asked(source, client, lambda: client.get_refs(_path(address), ref_prefix=[name]).refs)
    found = refs.get(Ref(name + PEELED_SUFFIX)) or refs.get(Ref(name))
    if found is None:
        words = f"{_called(source)} has no {source.reference.kind} {quoted(source.reference.name)}"
        raise Waiting(SourceReason.SOURCE_NOT_FOUND, words, RETRY_DELAY)
    if not re.fullmatch(rb"[0-9a-f]{40}|[0-9a-f]{64}", found):
        raise Waiting(SourceReason.SOURCE_UNAVAILABLE, f"{_called(source)} names a commit that is none", RETRY_DELAY)
    return str(found.decode())


async def verify_access(source: GitSource, access: Access) -> None:
    """Have the server speak of its repository to whoever the credentials say we are, where `resolve` has not asked it.

    That is enough: the digest of a git source names the repository. Raises BadReference, Blocked, Waiting.
    """
    if source.reference.kind is not RefKind.COMMIT:
        return
    address = parse(source.repository)
    async with _client(source, address, access, GitExchange(source.insecure_skip_verify), access.timeouts) as client:
        await _asked(source, client, lambda: client.get_refs(_path(address), ref_prefix=[HEAD]).refs)


async def fetch(
    source: GitSource,
    commit: str,
    access: Access,
    folder: Path,
    limits: ContentLimits,
    progress: Callable[[str], None],
) -> IO[bytes]:
    """The pack with a commit, in a file without a name in `folder`, which is the caller's to close. It is not read yet.

    Raises BadReference, Blocked, Waiting, BadContent.
    """
    clean_folder(source.directory)
    pack = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller closes it
    try:
        progress("asking for the commit")
        desk = GitExchange(source.insecure_skip_verify, limits.bytes, folder, progress)
        await _fetch_pack(source, commit, access, pack, desk)
    except BaseException as error:
        pack.close()
        if isinstance(error, PackError):
            raise _unusable(source, commit, error.reason, f"{_called(source)} {error.detail}") from error
        raise
    return pack


def unpack(
    source: GitSource,
    commit: str,
    pack: IO[bytes],
    into: Path | TreeStorage,
    limits: ContentLimits,
    progress: Callable[[str], None],
) -> str:
    """The files of a commit below `into`, an empty folder, or in a storage, at their paths in the repository. Needs no network.

    Returns the wanted directory, "" for everything. Raises Waiting, BadContent. After an error `into` is unfinished.
    """
    folder = clean_folder(source.directory)
    tree = Tree(into, (folder,), limits, noun="repository")
    try:
        with tempfile.TemporaryFile(dir=tree.scratch) as spool:
            pack.seek(0)
            allowed = PackLimits(limits.bytes, limits.files * MAX_OBJECTS_PER_FILE)
            objects = read_pack(pack, spool, SHA1 if len(commit) == SHA1.hex_length else SHA256, allowed, progress)
            progress("writing the files")
            _check_out(source, commit, objects, tree)
    except PackError as error:
        raise _unusable(source, commit, error.reason, f"{_called(source)} {error.detail}") from error
    except TreeError as error:
        words = f"commit {commit} of {_called(source)} {error.detail}"
        raise _unusable(source, commit, error.reason, words) from error
    if folder and not tree.has_folder(folder):
        words = f"commit {commit} of {_called(source)} has no folder {quoted(folder)}"
        raise _unusable(source, commit, SourceReason.MISSING_CONTENT, words)
    return folder


def ref(source: GitSource, commit: str) -> str:
    """The content for people: repository@commit, or repository@commit:directory."""
    folder = clean_folder(source.directory)
    return f"{source.repository}@{commit}" + (f":{folder}" if folder else "")


@asynccontextmanager
async def _client(
    source: GitSource, address: GitAddress, access: Access, desk: GitExchange, patience: Timeouts
) -> AsyncIterator[Client]:
    if address.scheme == "ssh":
        # Here, because it costs 20 MB and half a second that only ssh needs.
        from olmkit.sources.git.ssh_client import SshClient

        over_ssh = SshClient(address, replace(access, timeouts=patience), desk)
        try:
            yield over_ssh
        finally:
            await over_ssh.hang_up()
        return
    way = network(access, patience)
    way.addresses.check_literal(address.host, address.effective_port, f"git server {address.authority}")
    async with Transport(way) as transport:
        over_http = HttpClient(address, transport, access, desk)
        try:
            yield over_http
        finally:
            over_http.hang_up()


async def _asked(source: GitSource, client: Client, question: Callable[[], Value]) -> Value:
    """The answer to a question that dulwich asks in a thread, and the sentence when there is none."""
    try:
        return await asyncio.to_thread(question)
    except PackError as error:
        if error.reason == SourceReason.TOO_LARGE and not client.fetching:
            raise Waiting(
                error.reason, f"{_called(source)} {error.detail} of its branches and tags", CONTENT_RETRY_DELAY
            ) from error
        raise
    except (GitProtocolError, NotGitRepository, *PACK_ERRORS) as error:
        said = await client.said() or (str(error) if type(error) is GitProtocolError else "")
        if not said or any(secret in said for secret in client.secrets):
            words = f"{_called(source)} does not answer as git does, or broke off"
        else:
            words = f"{_called(source)} answers: {quoted(said)}"
        raise ConversationEnded(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY) from error


class ConversationEnded(Waiting):
    """A conversation by git's protocol that ended early; a server also ends it when it does not give a commit out."""


async def _fetch_pack(source: GitSource, commit: str, access: Access, pack: IO[bytes], desk: GitExchange) -> None:
    """The pack with that commit, in a file. One commit deep wherever the server can."""
    if not commit.strip("0"):  # to git that is no commit, and it would ask for nothing
        raise _no_commit(source, commit, there=False)
    address = parse(source.repository)
    usual = access.timeouts
    patience = replace(
        usual, read=usual.read * PACK_TIMEOUT_FACTOR, min_rate_window=usual.min_rate_window * PACK_TIMEOUT_FACTOR
    )
    async with _client(source, address, access, desk, patience) as client:
        client.fetching = True
        try:
            await _asked(source, client, lambda: _fetched(source, client, address, pack, commit, whole=False))
            return
        except ConversationEnded as error:
            if source.reference.kind is not RefKind.COMMIT:
                raise
            # By version 2 any commit that is there can be had by its hash.
            if client.protocol_version == 2:
                raise _no_commit(source, commit, there=False) from error
    desk.progress("asking for all branches and tags: the server gives out no commit by its hash")
    pack.seek(0)
    pack.truncate()
    async with _client(source, address, access, desk, patience) as client:
        client.fetching = True
        await _asked(source, client, lambda: _fetched(source, client, address, pack, commit, whole=True))


def _fetched(
    source: GitSource, client: Client, address: GitAddress, pack: IO[bytes], commit: str, *, whole: bool
) -> None:
    """In the thread: ask for the commit alone, or for the whole history of all branches and tags."""
    spaces = [b"refs/heads/", b"refs/tags/"]
    named = HEAD if source.reference.kind is RefKind.COMMIT else ref_name(source.reference)

    def choose(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        if whole:
            tips = {
                value
                for name, value in refs.items()
                if name.startswith(tuple(spaces)) and not name.endswith(PEELED_SUFFIX)
            }
            return sorted(tips)
        if source.reference.kind is RefKind.TAG and client.protocol_version != 2 and Ref(named) in refs:
            return [refs[Ref(named)]]  # only what has a name can be had, and an annotated tag's commit may have none
        return [ObjectID(commit.encode())]

    client.fetch_pack(
        _path(address),
        choose,
        ObjectStoreGraphWalker([], lambda name: []),
        pack.write,
        depth=None if whole else 1,
        ref_prefix=spaces if whole else [named],
    )
    pack.flush()


def _check_out(source: GitSource, commit: str, objects: PackObjects, tree: Tree) -> None:
    name = bytes.fromhex(commit)
    try:
        root = objects.root(name)
        if root is None:
            raise _no_commit(source, commit, there=objects.has(name))
        check_out(objects, root, tree)
    except PACK_ERRORS as error:
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, "has folders that cannot be read") from error


def _no_commit(source: GitSource, commit: str, *, there: bool) -> Waiting | BadContent:
    named = f"{source.reference.kind} {quoted(source.reference.name)}"
    if there:
        words = f"{_called(source)}: what {named} names is no commit"
        return _unusable(source, commit, SourceReason.MISSING_CONTENT, words)
    if source.reference.kind is RefKind.COMMIT:
        words = f"{_called(source)} has no commit {commit}, or does not give it out"
        return Waiting(SourceReason.SOURCE_NOT_FOUND, words, CONTENT_RETRY_DELAY)
    return Waiting(SourceReason.SOURCE_UNAVAILABLE, f"{_called(source)}: {named} moved while it was read", RETRY_DELAY)


def _path(address: GitAddress) -> bytes:
    return address.path.encode()


def _called(source: GitSource) -> str:
    return f"git repository {source.repository}"


def _unusable(source: GitSource, commit: str, reason: SourceReason, words: str) -> Waiting | BadContent:
    if reason == SourceReason.SOURCE_UNAVAILABLE:
        return Waiting(reason, words, RETRY_DELAY)
    return BadContent(reason, words, ref(source, commit))
