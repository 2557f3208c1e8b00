"""Checks whether a tag has moved: whether the image of a Catalog still has the digest that is served.

Runs as the probe of the load job, in a child process that the probes of all Catalogs share (olmkit.jobs.probe_pool); only if the
tag has moved, the job itself runs. Fetches no content.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

from catalogd.ingest.load_task import LoadRequest, LoadResult, is_stored
from olmkit.errors import OlmError
from olmkit.sources.errors import BadContent
from olmkit.sources.open import OpenedSource, open_source
from olmkit.sources.reachability import verify_reachable
from olmkit.sources.source import ImageSource
from olmkit.store.store import Store


async def check_tag(request: LoadRequest) -> LoadResult | None:
    """Return the result that load() would return if the image still has the digest that is served; None otherwise.

    Requests the digest only, and the manifest when the source has not proved yet that it has the content; any answer is enough if
    nothing is served yet, or the source is no image. Raises Waiting if the source does not answer.
    """
    if not (request.served_digest and isinstance(request.source, ImageSource)):
        with step_in_errors():
            await verify_reachable(request.source, request.access)
        return None
    store = Store(request.store, create=False)
    async with AsyncExitStack() as stack:
        with step_in_errors():
            access = request.access.with_policy(None)  # only the job verifies
            opened = await stack.enter_async_context(open_source(request.source, access))
        check_not_rejected(opened, request)
        if opened.digest != request.served_digest or not is_stored(store, opened.digest):
            return None
        policy = request.access.policy
        if policy is not None and opened.digest != policy.verified_digest:
            return None
        if opened.digest != request.confirmed_digest:
            with step_in_errors():
                await opened.verify_access()
        return load_result(opened, staged=False)


def check_not_rejected(opened: OpenedSource, request: LoadRequest) -> None:
    """Raises BadContent when the source still resolves to content that was rejected before."""
    rejected = request.rejected
    if rejected is not None and opened.ref and rejected.ref == opened.ref:
        raise BadContent(rejected.reason, rejected.message, rejected.ref)


def load_result(opened: OpenedSource, *, staged: bool) -> LoadResult:
    """Return the result of a load of the source."""
    return LoadResult(
        opened.ref,
        opened.digest,
        opened.resolved,
        opened.validator,
        opened.unchanged,
        staged,
        signed_by=dict(opened.signed_by),
    )


@contextmanager
def step_in_errors() -> Iterator[None]:
    """Prefix the message of an error with the step that failed."""
    try:
        yield
    except OlmError as error:
        error.message = f"source catalog content: {error.message}"
        raise
