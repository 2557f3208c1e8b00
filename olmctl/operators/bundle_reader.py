"""Reads bundles for questions: from catalogd's summaries, or by pulling their images, with the logins of the user. Writes to a
temporary directory only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Any

from olmctl.bundle.directory import read_directory
from olmctl.bundle.pulled_image import pulled
from olmctl.commands import warn
from olmctl.questions.bundle_summaries import SummaryReader
from olmctl.questions.errors import QuestionError
from olmctl.questions.planned_bundle import ReadBundle
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.errors import ApiError, OlmError
from olmkit.sources.addresses import Address, literal_address
from olmkit.sources.credentials import split_port
from olmkit.sources.errors import BadReference, SourceReason
from olmkit.sources.oci.reference import parse
from rukpak.format import BadBundle, Bundle


def bundle_reader(options: Mapping[str, Any], session: Session) -> ReadBundle:
    """The reader of the bundle of an image. `options` are those of image_options(). It raises CommandError, OlmError.

    A catalog is foreign text that must not make this machine call itself: a registry at a loopback address is called only if the
    API server has one too, so that both are part of a cluster on this machine, or if the options permit it.
    """

    async def read(image: str) -> Bundle:
        network, allowed = loopback_network(image), tuple(options["allow_source_cidr"])
        if network and not is_within(network, allowed) and is_loopback(session.client.host):
            warn(f"{clean(image)} is pulled from this machine, where the API server is too")
            allowed = (*allowed, network)
        try:
            return await asyncio.to_thread(pulled, image, {**options, "allow_source_cidr": allowed}, read_directory)
        except OlmError as error:
            if network and error.reason == SourceReason.ADDRESS_REFUSED:
                error.message = f"{error.message}: --allow-source-cidr {network}"
            raise

    return read


def loopback_network(image: str) -> str:
    """The loopback address of the registry of an image as a network; "" if it has none."""
    try:
        address = _loopback(parse(image).registry)
    except BadReference:
        return ""
    return str(ip_network(address)) if address is not None else ""


def is_within(network: str, allowed: Iterable[str]) -> bool:
    """Report whether one of the allowed networks, such as 127.0.0.0/8, has the whole network."""
    asked = ip_network(network)
    networks = (ip_network(each, strict=False) for each in allowed)
    return any(asked.version == each.version and asked.subnet_of(each) for each in networks)  # type: ignore[arg-type]


def is_loopback(server: str) -> bool:
    """Report whether host[:port] is at a loopback address."""
    return _loopback(server) is not None


def _loopback(server: str) -> Address | None:
    host = split_port(server)[0]
    address = literal_address("127.0.0.1" if f".{host.lower()}".endswith(".localhost") else host)
    return address if address is not None and address.is_loopback else None


def summary_or_image(summaries: SummaryReader | None, options: Mapping[str, Any], session: Session) -> ReadBundle:
    """The reader of the bundle of an image that takes its summary, and pulls the image if that has none. `options` and errors are
    those of bundle_reader()."""
    pull = bundle_reader(options, session)

    async def read(image: str) -> Bundle:
        if summaries is not None:
            try:
                return await summaries(image)
            except (QuestionError, ApiError, BadBundle):
                pass  # also from a catalogd that makes no summaries
        return await pull(image)

    return read
