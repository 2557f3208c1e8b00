"""Reads bundles as catalogd summarizes them: their permissions and definitions, without a login of a registry.

A bundle is looked for in the catalogs of the cluster, by its image. Its summary is made when it is asked for, so this waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.catalogd import CatalogReadError, read_catalog, unread_error
from olmctl.questions.errors import NothingFound, QuestionError
from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.left_installations import operator_named
from olmctl.questions.operator_state import text_at
from olmctl.questions.planned_bundle import BundleImage, running_bundle
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api.meta import Object
from olmkit.api.names import digest_of_reference
from olmkit.errors import ApiError
from olmkit.fbc.bundle_summary import SCHEMAS, BadSummary, BundleSummary, StatedBy, load
from operator_controller.resolve.documents.document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import PackageTooLarge
from rukpak.format import Bundle, read_plain, read_registry

WAIT_SECONDS = 75.0
"""The longest time for which a summary is waited for: a job may take a minute."""
STATED_WAIT_SECONDS = 10.0
"""The longest time for which the image is waited for if the catalog states what is in it."""
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class CatalogBundle:
    """A bundle of a package in a catalog."""

    catalog: str
    package: str
    name: str
    version: str
    image: str


async def bundles_of(session: Session, package: str, catalog: str = "") -> list[CatalogBundle]:
    """The bundles of a package, those of `catalog` first. Raises NothingFound if there is no such package, ApiError, and
    QuestionError if no catalog can be read."""
    found: list[CatalogBundle] = []
    problems: list[Exception] = []
    for entry in sorted(
        await offered_entries(session, package), key=lambda each: (each.catalog != catalog, each.catalog)
    ):
        try:
            document = await read_catalog(session, entry.catalog, "api/v1/resolution", {"package": package})
            bundles = read_package(document).bundles
        except (CatalogReadError, InvalidDocument, PackageTooLarge) as error:
            problems.append(error)
            continue
        found += [
            CatalogBundle(entry.catalog, package, name, str(each.version), each.image) for name, each in bundles.items()
        ]
    if problems and not found:
        raise await unread_error(session, problems)
    return found


async def bundle_summary(session: Session, bundle: CatalogBundle) -> BundleSummary:
    """The summary of the bundle, when its image has been read. If that is not possible, what the catalog states. Raises
    QuestionError."""
    path = f"api/v1/bundles/{quote(bundle.name, safe='')}/summary"
    clock = asyncio.get_running_loop().time
    start = clock()
    while True:
        try:
            answer = await read_catalog(session, bundle.catalog, path, {"package": bundle.package})
        except CatalogReadError as error:
            raise QuestionError(f"{bundle.name} cannot be read: {clean(str(error))}") from error
        waited = clock() - start
        if "pending" not in answer:
            try:
                summary = load(answer)
            except BadSummary as error:
                raise QuestionError(
                    f"the summary of {bundle.name} is of another version of catalogd: {error}"
                ) from error
            is_final = summary.stated_by is StatedBy.IMAGE or not bundle.image
            if is_final or waited > STATED_WAIT_SECONDS:
                return summary
        elif waited > WAIT_SECONDS:
            raise QuestionError(f"{bundle.name} is still being read by catalogd: try again later")
        await asyncio.sleep(POLL_SECONDS)


def bundle_of(summary: BundleSummary, *, with_digests: bool = False) -> Bundle:
    """The bundle whose files are those of the summary. Raises BadBundle."""
    files = summary.bundle_files(with_digests=with_digests)
    return read_registry(files) if summary.is_registry else read_plain(files)


def stated_note(bundle: str, summary: BundleSummary) -> str:
    """That a summary is not of the image, as a sentence; "" if it is."""
    if summary.stated_by is StatedBy.IMAGE:
        return ""
    return f"{clean(bundle)} is shown as the catalog states it: its image was not read, and may differ"


@dataclass
class SummaryReader:
    """Reads the bundle of an image of one package (a ReadBundle). `catalog` is the one that counts first. `running`: the bundle
    that is installed. `notes` are sentences about what was read. `full`: the option of the command that reads the images
    instead."""

    session: Session
    package: str
    catalog: str = ""
    running: BundleImage | None = None
    full: str = "--full"
    notes: list[str] = field(default_factory=list)
    _bundles: Sequence[CatalogBundle] | None = None

    async def __call__(self, image: str) -> Bundle:
        """The bundle of the image. Raises QuestionError, ApiError, BadBundle."""
        if self._bundles is None:
            self._bundles = await bundles_of(self.session, self.package, self.catalog)
        found = bundle_with(self._bundles, image, self.running)
        if found is None:
            text = f"no catalog has the bundle of image {clean(image)} any more: {self.full} reads the image itself"
            raise NothingFound(text)
        try:
            summary = await bundle_summary(self.session, found)
        except QuestionError as error:
            raise QuestionError(f"{error.message}; {self.full} reads the image itself") from error
        if are_different(summary.image, image):
            text = f"{clean(found.image)} of {clean(found.name)} is another image now than {clean(image)}"
            raise NothingFound(f"{text}: {self.full} reads the image itself")
        if SCHEMAS in summary.left_out:
            text = f"the definitions of {clean(found.name)} are too large for a summary: {self.full} reads the image itself"
            raise QuestionError(text)
        if note := stated_note(found.name, summary):
            self.notes.append(note)
        return bundle_of(summary, with_digests=True)


async def operator_summaries(session: Session, operator: str) -> SummaryReader:
    """The reader of the bundles of an Operator. Raises ApiError."""
    return await summaries_of(session, await operator_named(session, operator))


async def summaries_of(
    session: Session, operator: Object, catalog: str = "", full: str = SummaryReader.full
) -> SummaryReader:
    """The same for an Operator as read. `catalog` counts first, else the one that the installed bundle came from. Raises
    ApiError."""
    running = running_bundle(await bundle_deployment_of(session, operator))
    catalog = catalog or text_at(operator, "status", "installed", "catalog")
    return SummaryReader(session, text_at(operator, "spec", "packageName"), catalog, running, full)


async def deployment_summaries(session: Session, name: str) -> SummaryReader | None:
    """The reader of the bundles of a BundleDeployment; None if no Operator has it."""
    try:
        return await operator_summaries(session, name)
    except (ApiError, QuestionError):
        return None


def bundle_with(
    bundles: Sequence[CatalogBundle], image: str, running: BundleImage | None = None
) -> CatalogBundle | None:
    """The bundle of this image: with an equal reference, or one digest; None if there is none. Catalogs may name the one that
    runs by a tag: then it is that of its version, whose tag may have moved."""
    digest = digest_of_reference(image)
    same = (each for each in bundles if each.image == image or (digest and digest_of_reference(each.image) == digest))
    if (found := next(same, None)) is not None or running is None or running.image != image:
        return found
    return next(
        (each for each in bundles if each.version == running.version and not digest_of_reference(each.image)), None
    )


def are_different(one: str, other: str) -> bool:
    """Report whether two references name different images, by their digests. What has no digest is not known."""
    digests = {digest_of_reference(one), digest_of_reference(other)}
    return len(digests) > 1 and "" not in digests
