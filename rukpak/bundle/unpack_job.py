"""The function of the job UNPACK: from a source to a bundle for the store. Runs in child processes of olmkit.jobs.

rukpak.bundle.unpack_request, which the controller imports, declares the job. Problems of the content itself are a result, with
the digest of the content. Temporary failures raise Waiting.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from olmkit.api.provisioner_classes import PLAIN as PLAIN_PROVISIONER
from olmkit.errors import Blocked, Waiting
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement
from olmkit.sources import charts, http
from olmkit.sources.content_limits import BUNDLE_LIMITS
from olmkit.sources.errors import CONTENT_RETRY_DELAY, BadContent, BadReference, SourceReason
from olmkit.sources.oci.image import AnyChart
from olmkit.sources.open import Fetched, open_source
from olmkit.sources.open import unpack as unpack_source
from olmkit.sources.reachability import verify_reachable
from olmkit.sources.resolved_source import content_digest, resolved_chart
from olmkit.sources.source import (
    CONTENT_NOUNS,
    ChartSource,
    ConfigMapsSource,
    GitSource,
    HttpSource,
    RefKind,
    Source,
    type_of,
)
from olmkit.store.store import Store, fill_staging
from rukpak.bundle.storage import BUNDLE_FILE, FILES, HELM, PLAIN, REGISTRY, TYPE_FILE, is_intact, stored_type
from rukpak.bundle.unpack_request import UNPACK, UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.charts import chart
from rukpak.format import BadBundle, Bundle, read_plain, read_registry, to_json
from rukpak.format.bundle import FORMAT_VERSION, size_problem
from rukpak.render.refusals import check_files

MAX_FILES_BYTES = 64 * 1024**2
"""The limit of manifests and metadata in one bundle."""
UNPACK_FAILED_REASON = "UnpackFailed"
NOT_REGISTRY = (
    "is not a registry+v1 bundle (it has no /metadata): for a plain+v0 bundle set "
    f"spec.template.spec.provisionerClassName to {PLAIN_PROVISIONER}"
)

UNPACKED = "unpacked"
"""The directory below that of the job in which the source is unpacked, at the paths of its repository."""

_DIRECTORIES: Mapping[str, tuple[str, ...] | AnyChart] = {
    REGISTRY: ("manifests", "metadata"),
    PLAIN: ("manifests",),
    HELM: AnyChart(),
}
_READERS: Mapping[str, Callable[[Mapping[str, bytes]], Bundle]] = {REGISTRY: read_registry, PLAIN: read_plain}


@dataclass(frozen=True)
class ReadRequest:
    """The facts of olmkit.sources.open.Fetched about what was fetched, and the name of the content in messages."""

    facts: dict[str, Any]
    ref: str
    content_type: str


@dataclass(frozen=True)
class ReadResult:
    """The result for a bundle that could be read."""


@dataclass(frozen=True)
class ChooseRequest:
    """A chart of an http(s) repository, whose index is the file of the job."""

    source: ChartSource


CHOOSE_CHART = Job(f"{__name__}:choose_chart", ChooseRequest, charts.ChosenChart, errors=(BadReference,))
"""The job that chooses the version of a chart, in the process of the parser."""
READ_BUNDLE = Job(f"{__name__}:read_bundle", ReadRequest, ReadResult, errors=(BadContent, BadBundle))
"""The job that unpacks and reads what was fetched, in the process of the parser."""


async def unpack(request: UnpackRequest, context: JobContext) -> UnpackResult:
    """Fetch the source and read it as `content_type` into the directory of the job, unless the store has its content. Content
    that was read as another type is kept unless `replace`. Even if the store has the content, the server has to prove that these
    credentials may read it, each time.

    Content that can never be used is a result with a `problem`. Raises Waiting for temporary failures, also for bad content of a
    source that may have other content later, and Blocked for a source or a configuration that cannot be used, and for files of
    ConfigMaps that cannot.
    """
    if isinstance(request.source, ChartSource) and not (request.source.url or charts.is_oci(request.source)):
        return await _choose_chart(request.source, request, context)
    store, content_type = Store(request.store, create=False), request.content_type
    context.progress(f"looking up the {CONTENT_NOUNS[type_of(request.source)]}")
    opening = open_source(
        request.source, request.access, scratch=context.directory, limits=BUNDLE_LIMITS, progress=context.progress
    )
    async with opening as opened:
        found = UnpackResult(opened.resolved, opened.digest, signed_by=dict(opened.signed_by))
        digest = opened.digest
        known = stored_type(store, digest)
        if (known and known != content_type and not request.replace) or is_intact(store, digest, content_type):
            await opened.verify_access(BUNDLE_LIMITS, context.progress)
            return found
        try:
            with fill_staging(context.directory, digest) as directory:
                fetched = await opened.fetch(directory, _DIRECTORIES[content_type], BUNDLE_LIMITS, context.progress)
                read = ReadRequest(dict(fetched.facts), opened.ref, content_type)
                await context.parse(READ_BUNDLE, read, fetched.files, directory)
        except (BadContent, BadBundle) as error:
            if _may_change(request.source):
                raise Waiting(error.reason, error.message, CONTENT_RETRY_DELAY) from error
            if isinstance(request.source, ConfigMapsSource):
                # Not pinned: the ConfigMaps may be deleted and created with other files.
                raise Blocked(error.reason, error.message, error.subject) from error
            return replace(found, problem=error.message)
        return replace(found, staged=True)


async def _choose_chart(source: ChartSource, request: UnpackRequest, context: JobContext) -> UnpackResult:
    """Choose the version of a chart from the index of its repository. The content is fetched by the next job, because the index
    is read by the process that reads content, and each job has one. Raises Waiting."""
    context.progress("reading the index of the repository")
    directory = context.directory
    found = await http.download(
        charts.index_source(source), request.access, directory, charts.MAX_INDEX_BYTES, "", context.progress
    )
    assert found.file is not None
    with found.file:
        chosen = await context.parse(CHOOSE_CHART, ChooseRequest(source), [found.file], directory)
    archive = charts.archive_source(structs.replace(source, url=chosen.url))
    packed = await http.download(archive, request.access, directory, charts.MAX_CHART_BYTES, "", context.progress)
    assert packed.file is not None
    packed.file.close()
    resolved = resolved_chart(source, chosen.version, chosen.url, packed.digest)
    return UnpackResult(resolved, content_digest(resolved))


def choose_chart(request: ChooseRequest, context: JobContext) -> charts.ChosenChart:
    """Choose the version of a chart from an index. Runs in the parser process. Raises Waiting, BadReference."""
    return charts.choose(request.source, context.files[0])


def _may_change(source: Source) -> bool:
    """Report whether the source may have other content later: the next commit of a branch, a tag that is set again, or another
    archive, as pages of errors are sent with the status 200 too. A tag of an image is read once, as its digest is kept."""
    match source:
        case HttpSource():
            return not source.checksum
        case GitSource():
            return source.reference.kind is not RefKind.COMMIT
        case ChartSource():
            return not charts.is_version(source.version)
        case _:
            return False


async def probe(request: UnpackRequest) -> UnpackResult | None:
    """Return None when the server has answered. Raises Waiting if it does not answer, BadReference and Blocked."""
    await verify_reachable(request.source, request.access)
    return None


def read_bundle(request: ReadRequest, context: JobContext) -> ReadResult:
    """Unpack what was fetched into the directory, and read it. Runs in the parser process. Raises BadContent, BadBundle,
    Waiting."""
    unpacked, files = context.directory / UNPACKED, context.directory / FILES
    unpacked.mkdir()
    try:
        fetched = Fetched(request.facts, tuple(context.files))
        root = unpack_source(fetched, unpacked, BUNDLE_LIMITS, context.progress)
    except BadContent as error:
        if error.reason == SourceReason.MISSING_CONTENT and _is_plain(request, unpacked):
            noun = CONTENT_NOUNS[request.facts["type"]]
            raise BadContent(error.reason, f"{noun} {request.ref} {NOT_REGISTRY}", error.ref) from error
        raise
    root = unpacked if request.facts["type"] == "image" else root
    if request.content_type == HELM:
        root = root / chart.chart_directory(_chart_files(root))
    root.rename(files)
    shutil.rmtree(unpacked, ignore_errors=True)  # the directories above it, if it was not the root itself
    context.progress("reading the manifests")
    (context.directory / BUNDLE_FILE).write_bytes(_parsed_form(request.content_type, dict(_contents(files))))
    (context.directory / TYPE_FILE).write_text(f"{request.content_type} {FORMAT_VERSION}")
    return ReadResult()


def _parsed_form(content_type: str, files: Mapping[str, bytes]) -> bytes:
    """The content of BUNDLE_FILE. Raises BadBundle."""
    if content_type == HELM:
        return chart.to_json(chart.read_chart(files))
    bundle = _READERS[content_type](files)
    check_files(bundle)
    return check_size(to_json(bundle))


def _chart_files(root: Path) -> Iterator[str]:
    """The paths of the files that make a directory a chart: at the root, and in the directories directly below it."""
    for path in (root / chart.CHART_FILE, *root.glob(f"*/{chart.CHART_FILE}")):
        if path.is_file():
            yield path.relative_to(root).as_posix()


def _is_plain(request: ReadRequest, unpacked: Path) -> bool:
    """Report whether content that was requested as registry+v1 has the files of a plain+v0 bundle: at its root, in the directory
    of the source, or in the only directory of an archive."""
    directory = (request.facts.get("source") or {}).get("directory") or ""
    roots = [unpacked / directory, *(unpacked.iterdir() if request.facts["type"] in ("http", "upload") else ())]
    return request.content_type == REGISTRY and any(
        (root / "manifests").is_dir() and not (root / "metadata").exists() for root in roots
    )


def check_size(data: bytes) -> bytes:
    """Return `data` unchanged. Raises BadBundle if it is too large for the controllers, which load it as a whole."""
    if problem := size_problem(data):
        raise BadBundle(UNPACK_FAILED_REASON, f"the bundle {problem}")
    return data


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """The pairs (path in the content, bytes) of all files. Raises BadBundle if all files together are larger than
    MAX_FILES_BYTES."""
    total = 0
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            total += path.stat().st_size
            if total > MAX_FILES_BYTES:
                megabytes = MAX_FILES_BYTES // 1024**2
                raise BadBundle(
                    UNPACK_FAILED_REASON, f"the bundle holds more than {megabytes} MiB of manifests and metadata"
                )
            yield path.relative_to(root).as_posix(), path.read_bytes()


implement(UNPACK, unpack, probe=probe)
implement(READ_BUNDLE, read_bundle)
implement(CHOOSE_CHART, choose_chart)
