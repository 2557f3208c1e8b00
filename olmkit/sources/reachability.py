"""Checks whether the server of a source answers: one small request, whatever the answer is.

Called by the probes of jobs, in a child process that all jobs share, so that the wait for a server that never answers takes no
memory of a job. Fetches nothing, and never decides whether a source may be read.
"""

from __future__ import annotations

from yarl import URL

from olmkit.errors import Waiting
from olmkit.sources import charts, http
from olmkit.sources.access import Access
from olmkit.sources.addresses import AddressRefused
from olmkit.sources.http_auth import endpoint, network, source_reasons
from olmkit.sources.oci import image
from olmkit.sources.source import (
    ChartSource,
    ConfigMapsSource,
    GitSource,
    HttpSource,
    ImageSource,
    Source,
    UploadSource,
)
from olmkit.sources.transport import NoResponse, Transport


async def verify_reachable(source: Source, access: Access) -> None:
    """Return when the server of the source has answered, whatever it answered. Raises Waiting if it does not answer or may not be
    asked, BadReference, Blocked."""
    try:
        match source:
            case ImageSource(ref):
                await image.request_digest(ref, access.registries())
            case GitSource():
                await _reach_git(source, access)
            case HttpSource():
                await _reach(http.check(source), "web server", access, insecure=source.insecure_skip_verify)
            case ChartSource():
                await _reach_repository(source, access)
            case ConfigMapsSource() | UploadSource():
                pass  # the controller has read the content
    except NoResponse as error:
        # Simple servers answer HEAD with the body of GET, which is no valid response.
        if not error.has_answered:
            raise
    except AddressRefused:
        raise
    except Waiting:
        return  # an answer, of which the job reports what is wrong


async def _reach_repository(source: ChartSource, access: Access) -> None:
    if charts.is_oci(source):
        tagged = charts.image_source(source, source.version if charts.is_version(source.version) else "latest")
        await image.request_digest(tagged.ref, access.registries())
        return
    index = charts.index_source(source)
    await _reach(http.check(index), "web server", access, insecure=source.insecure_skip_verify)


async def _reach_git(source: GitSource, access: Access) -> None:
    # Imported here, because dulwich and asyncssh take memory that only git sources need.
    from olmkit.sources.git.address import parse
    from olmkit.sources.git.ssh_client import verify_reachable

    address = parse(source.repository)
    if address.scheme == "ssh":
        await verify_reachable(address, access)
    else:
        await _reach(URL(source.repository), "git server", access, insecure=source.insecure_skip_verify)


async def _reach(url: URL, kind: str, access: Access, *, insecure: bool) -> None:
    server, net = endpoint(url, kind, insecure=insecure), network(access)
    net.addresses.check_literal(url.host or "", url.port or 0, server.display_name)
    with source_reasons():
        async with Transport(net) as transport, transport.open("HEAD", url, server, {}):
            pass
