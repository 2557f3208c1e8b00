"""Directories of git repositories: `resolve` turns a branch or tag into a commit, `fetch` downloads its pack, `unpack` writes
files.

Called by open.py in job children, because it blocks on disk and on decompression. Speaks git's own protocol over
http, https and ssh. Starts no program, runs no hook or filter, fetches no submodule and reads no git configuration.
"""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.object_format import SHA1, SHA256
from dulwich.object_store import ObjectStoreGraphWalker
from dulwich.objects import ObjectID
from dulwich.refs import Ref

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import CONTENT_RETRY_DELAY, RETRY_DELAY, BadContent, SourceReason, quoted
from olmkit.sources.git.address import GitAddress, commit_name, parse, ref_name
from olmkit.sources.git.checkout import check_out
from olmkit.sources.git.http_client import GitExchange, HttpClient
from olmkit.sources.git.pack import PACK_ERRORS, PackError, PackLimits, PackObjects, read_pack
from olmkit.sources.http_auth import network
from olmkit.sources.network import Timeouts
from olmkit.sources.resolved_source import content_name, resolved_git
from olmkit.sources.source import GitSource, RefKind, clean_directory
from olmkit.sources.transport import Transport
from olmkit.sources.tree import Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage

if TYPE_CHECKING:
    from olmkit.sources.git.ssh_client import SshClient

Client: TypeAlias = "HttpClient | SshClient"
Value = TypeVar("Value")
# dulwich logs untrusted output of servers; errors contain what matters of it.
logging.getLogger("dulwich").setLevel(logging.CRITICAL)
PEELED_SUFFIX = b"^{}"
HEAD = b"HEAD"
MAX_OBJECTS_PER_FILE = 4
"""The limit of objects per file that is allowed: directories and history need objects too."""
PACK_TIMEOUT_FACTOR = 4
"""Timeouts are this many times longer while a server prepares a pack."""


async def resolve(source: GitSource, access: Access) -> str:
    """The current commit of the reference. Lists the one branch or tag at the server; a commit needs no request.

    Raises BadReference, Blocked, Waiting.
    """
    address = parse(source.repository)
    clean_directory(source.directory)
    if source.reference.kind is RefKind.COMMIT:
        return commit_name(source.reference)
    name = ref_name(source.reference)
    async with _client(source, address, access, GitExchange(source.insecure_skip_verify), access.timeouts) as client:
        refs = await _in_thread(source, client, lambda: client.get_refs(_path(address), ref_prefix=[name]).refs)
    found = refs.get(Ref(name + PEELED_SUFFIX)) or refs.get(Ref(name))
    if found is None:
        words = f"{_display_name(source)} has no {source.reference.kind} {quoted(source.reference.name)}"
        raise Waiting(SourceReason.SOURCE_NOT_FOUND, words, RETRY_DELAY, [source.reference.name])
    if not re.fullmatch(rb"[0-9a-f]{40}|[0-9a-f]{64}", found):
        raise Waiting(
            SourceReason.SOURCE_UNAVAILABLE,
            f"{_display_name(source)} returned a commit ID that is not valid",
            RETRY_DELAY,
        )
    return str(found.decode())


async def verify_access(source: GitSource, access: Access) -> None:
    """Verify that these credentials may read the repository, for a commit; `resolve` has verified it for a branch or tag.

    Access to the repository is enough, because the digest of a git source includes it. Raises BadReference, Blocked, Waiting.
    """
    if source.reference.kind is not RefKind.COMMIT:
        return
    address = parse(source.repository)
    async with _client(source, address, access, GitExchange(source.insecure_skip_verify), access.timeouts) as client:
        await _in_thread(source, client, lambda: client.get_refs(_path(address), ref_prefix=[HEAD]).refs)


async def fetch(
    source: GitSource,
    commit: str,
    access: Access,
    directory: Path,
    limits: ContentLimits,
    progress: Callable[[str], None],
) -> IO[bytes]:
    """The pack with a commit, in a file without a name in `directory`, which the caller closes. It is not parsed yet.

    Raises BadReference, Blocked, Waiting, BadContent.
    """
    clean_directory(source.directory)
    pack = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  the caller closes it
    try:
        progress("asking for the commit")
        exchange = GitExchange(source.insecure_skip_verify, limits.bytes, directory, progress)
        await _fetch_pack(source, commit, access, pack, exchange)
    except BaseException as error:
        pack.close()
        if isinstance(error, PackError):
            raise _content_error(source, commit, error.reason, f"{_display_name(source)} {error.detail}") from error
        raise
    return pack


def unpack(  # noqa: PLR0913 the source, its content, and how it is written
    source: GitSource,
    commit: str,
    pack: IO[bytes],
    into: Path | TreeStorage,
    only: Sequence[str],
    limits: ContentLimits,
    progress: Callable[[str], None],
) -> str:
    """The files of a commit below `into`, an empty directory, or in a storage, at their paths in the repository. Needs no
    network. `only` selects paths within the directory of the source, which have to be there; all of them if it is empty.

    Returns the directory of the source, "" for the whole repository. Raises Waiting, BadContent; then `into` is incomplete.
    """
    directory = clean_directory(source.directory)
    selected = tuple(f"{directory}/{path}" if directory else path for path in only) or (directory,)
    tree = Tree(into, selected, limits, noun="repository")
    try:
        with tempfile.TemporaryFile(dir=tree.scratch) as spool:
            pack.seek(0)
            pack_limits = PackLimits(limits.bytes, limits.files * MAX_OBJECTS_PER_FILE)
            objects = read_pack(pack, spool, SHA1 if len(commit) == SHA1.hex_length else SHA256, pack_limits, progress)
            progress("writing the files")
            _check_out(source, commit, objects, tree)
    except PackError as error:
        raise _content_error(source, commit, error.reason, f"{_display_name(source)} {error.detail}") from error
    except TreeError as error:
        words = f"commit {commit} of {_display_name(source)} {error.detail}"
        raise _content_error(source, commit, error.reason, words) from error
    if only and (missing := tree.missing_content()):
        words = f"commit {commit} of {_display_name(source)} {missing}"
        raise _content_error(source, commit, SourceReason.MISSING_CONTENT, words)
    if directory and not tree.has_directory(directory):
        words = f"commit {commit} of {_display_name(source)} has no directory {quoted(directory)}"
        raise _content_error(source, commit, SourceReason.MISSING_CONTENT, words)
    return directory


@asynccontextmanager
async def _client(
    source: GitSource, address: GitAddress, access: Access, exchange: GitExchange, timeouts: Timeouts
) -> AsyncIterator[Client]:
    if address.scheme == "ssh":
        # Imported here, because it takes 20 MB and half a second, for ssh only.
        from olmkit.sources.git.ssh_client import SshClient

        over_ssh = SshClient(address, replace(access, timeouts=timeouts), exchange)
        try:
            yield over_ssh
        finally:
            await over_ssh.disconnect()
        return
    net = network(access, timeouts)
    net.addresses.check_literal(address.host, address.effective_port, f"git server {address.authority}")
    async with Transport(net) as transport:
        over_http = HttpClient(address, transport, access, exchange)
        try:
            yield over_http
        finally:
            over_http.disconnect()


async def _in_thread(source: GitSource, client: Client, request: Callable[[], Value]) -> Value:
    """Run a request of dulwich in a thread, and turn its errors into ours."""
    try:
        return await asyncio.to_thread(request)
    except PackError as error:
        if error.reason == SourceReason.TOO_LARGE and not client.fetching:
            raise Waiting(
                error.reason, f"{_display_name(source)} {error.detail} of its branches and tags", CONTENT_RETRY_DELAY
            ) from error
        raise
    except (GitProtocolError, NotGitRepository, *PACK_ERRORS) as error:
        output = await client.server_output() or (str(error) if type(error) is GitProtocolError else "")
        if not output or any(secret in output for secret in client.secrets):
            words = f"{_display_name(source)} does not answer as a git server, or closed the connection"
        else:
            words = f"{_display_name(source)} responded: {quoted(output)}"
        raise SessionEnded(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY) from error


class SessionEnded(Waiting):
    """The server closed the session early, as servers also do for a commit that they do not serve."""


async def _fetch_pack(source: GitSource, commit: str, access: Access, pack: IO[bytes], exchange: GitExchange) -> None:
    """Download the pack with the commit; of depth one, if the server supports it."""
    if not commit.strip("0"):  # git treats it as no commit and would request nothing
        raise _no_commit(source, commit, exists=False)
    address = parse(source.repository)
    default = access.timeouts
    timeouts = replace(
        default, read=default.read * PACK_TIMEOUT_FACTOR, min_rate_window=default.min_rate_window * PACK_TIMEOUT_FACTOR
    )
    async with _client(source, address, access, exchange, timeouts) as client:
        client.fetching = True
        try:
            await _in_thread(source, client, lambda: _download(source, client, address, pack, commit, all_refs=False))
            return
        except SessionEnded as error:
            if source.reference.kind is not RefKind.COMMIT:
                raise
            # With protocol version 2 a server serves any commit by hash.
            if client.protocol_version == 2:
                raise _no_commit(source, commit, exists=False) from error
    exchange.progress("asking for all branches and tags: the server does not serve commits by hash")
    pack.seek(0)
    pack.truncate()
    async with _client(source, address, access, exchange, timeouts) as client:
        client.fetching = True
        await _in_thread(source, client, lambda: _download(source, client, address, pack, commit, all_refs=True))


def _download(
    source: GitSource, client: Client, address: GitAddress, pack: IO[bytes], commit: str, *, all_refs: bool
) -> None:
    """Runs in the thread: request the commit alone, or the whole history of all branches and tags."""
    prefixes = [b"refs/heads/", b"refs/tags/"]
    named = HEAD if source.reference.kind is RefKind.COMMIT else ref_name(source.reference)

    def choose(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        if all_refs:
            tips = {
                value
                for name, value in refs.items()
                if name.startswith(tuple(prefixes)) and not name.endswith(PEELED_SUFFIX)
            }
            return sorted(tips)
        if source.reference.kind is RefKind.TAG and client.protocol_version != 2 and Ref(named) in refs:
            return [
                refs[Ref(named)]
            ]  # version 0 and 1 serve named objects only, and the commit of an annotated tag may have no name
        return [ObjectID(commit.encode())]

    client.fetch_pack(
        _path(address),
        choose,
        ObjectStoreGraphWalker([], lambda name: []),
        pack.write,
        depth=None if all_refs else 1,
        ref_prefix=prefixes if all_refs else [named],
    )
    pack.flush()


def _check_out(source: GitSource, commit: str, objects: PackObjects, tree: Tree) -> None:
    name = bytes.fromhex(commit)
    try:
        root = objects.root(name)
        if root is None:
            raise _no_commit(source, commit, exists=objects.has(name))
        check_out(objects, root, tree)
    except PACK_ERRORS as error:
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, "has directories that cannot be read") from error


def _no_commit(source: GitSource, commit: str, *, exists: bool) -> Waiting | BadContent:
    named = f"{source.reference.kind} {quoted(source.reference.name)}"
    if exists:
        words = f"{_display_name(source)}: {named} does not point to a commit"
        return _content_error(source, commit, SourceReason.MISSING_CONTENT, words)
    if source.reference.kind is RefKind.COMMIT:
        words = f"{_display_name(source)} has no commit {commit}, or does not allow access to it"
        return Waiting(SourceReason.SOURCE_NOT_FOUND, words, CONTENT_RETRY_DELAY, [commit])
    return Waiting(
        SourceReason.SOURCE_UNAVAILABLE, f"{_display_name(source)}: {named} moved during the fetch", RETRY_DELAY
    )


def _path(address: GitAddress) -> bytes:
    return address.path.encode()


def _display_name(source: GitSource) -> str:
    return f"git repository {source.repository}"


def _content_error(source: GitSource, commit: str, reason: SourceReason, words: str) -> Waiting | BadContent:
    if reason == SourceReason.SOURCE_UNAVAILABLE:
        return Waiting(reason, words, RETRY_DELAY)
    return BadContent(reason, words, content_name(resolved_git(source, commit)))
