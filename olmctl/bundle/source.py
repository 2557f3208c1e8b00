"""The bundle that a command is given: a directory of this machine, which is uploaded, or an image by its reference.

The cluster pulls an image itself. It is read here too, for its name, its upgrades and its requirements. One that its registry
does not have is refused.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olmctl.authoring.images.contents import ANNOTATIONS_FILE, annotations_of
from olmctl.bundle.archive import Archive, pack_bundle
from olmctl.bundle.directory import bundle_files
from olmctl.bundle.facts import BundleFacts, facts_of
from olmctl.commands import FAILED, WRONG_USAGE, CommandError
from olmctl.directory_files import is_directory_meant
from olmctl.questions.operator_state import text_at
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.content import SourceType
from olmkit.api.meta import Object
from olmkit.api.names import dns1123_subdomain_errors
from olmkit.api.provisioner_classes import HELM, PLAIN, REGISTRY
from olmkit.errors import OlmError
from olmkit.fbc.bundle_files import PACKAGE_KEY, BadBundleFiles
from olmkit.sources.errors import SourceReason
from olmkit.sources.oci.reference import parse
from rukpak.format import BadBundle


@dataclass(frozen=True)
class BundleSource:
    """A bundle, and the facts about it, which are None if it cannot be read here."""

    shown: str
    """The directory or the image, as it was given."""
    name: str
    """A name for what installs it; "" if none can be made of its own."""
    provisioner: str
    archive: Archive | None
    """Of a directory."""
    facts: BundleFacts | None
    pull_secret: str = ""
    unread: OlmError | None = None
    """The cause, if an image cannot be read here."""
    problem: BadBundle | None = None
    """The reason why rukpak could not read the files of a directory either."""

    @property
    def package(self) -> str:
        """Its package; "" if it is of none, or that is not known."""
        return self.facts.package if self.facts else ""

    @property
    def owner(self) -> str | None:
        """Say of which package it is, or that it is of none, as a plain bundle or a chart; None if that is not known."""
        if self.package:
            return f"of package {self.package}"
        is_read = self.facts is not None or self.provisioner == HELM
        return "of no package" if is_read else None

    @property
    def not_found(self) -> str:
        """The words about the registry that has no such image; "" if it was read, or cannot be reached."""
        is_missing = self.unread is not None and self.unread.reason == SourceReason.NOT_FOUND
        return self.unread.message if self.unread is not None and is_missing else ""

    @property
    def warning(self) -> str:
        """The checks that are left out for an image that cannot be read here, and the cause; "" if it was read."""
        if self.unread is None:
            return ""
        text = f"{self.shown} cannot be read from here, so that its upgrades and requirements are not checked"
        return clean(f"{text}: {self.unread.message}")

    def check_found(self, *, is_forced: bool) -> None:
        """Raises CommandError if its registry has no such image: nothing is created or changed for a reference with a mistake. A
        forced command goes on, because the cluster may read another registry; so does one with a pull secret, because a registry
        may deny to strangers that the image exists."""
        if self.not_found and not (is_forced or self.pull_secret):
            raise CommandError(FAILED, clean(f"{self.not_found} (olm bundle push)"))

    def with_secret_of(self, spec: Object) -> BundleSource:
        """The same with the pull secret of a BundleDeployment, unless another one is given or it is a directory."""
        known = text_at(spec, "template", "spec", "source", "image", "pullSecret")
        return self if self.pull_secret or self.archive is not None else replace(self, pull_secret=known)

    def template(self) -> Object:
        """The template of a BundleDeployment with this bundle."""
        source: Object
        if self.archive is not None:
            source = {"type": str(SourceType.UPLOAD), "upload": {"digest": self.archive.digest}}
        else:
            secret = {"pullSecret": self.pull_secret} if self.pull_secret else {}
            source = {"type": str(SourceType.IMAGE), "image": {"ref": self.shown, **secret}}
        annotations = self.facts.annotations() if self.facts else {}
        metadata = {"metadata": {"annotations": dict(annotations)}} if annotations else {}
        return {**metadata, "spec": {"provisionerClassName": self.provisioner, "source": source}}


async def read_source(text: str, options: Mapping[str, Any], pull_secret: str | None) -> BundleSource:
    """The bundle of a directory or an image. `options` are those of image_options(). Raises CommandError, OSError."""
    if is_directory_meant(text):
        if pull_secret:
            raise CommandError(WRONG_USAGE, "--pull-secret is for an image, and a directory is uploaded")
        return of_directory(Path(text))
    facts, unread = await asyncio.to_thread(_image_facts, text, options)
    provisioner = PLAIN if facts is not None and facts.registry is None else REGISTRY
    package = facts.package if facts else ""
    name = default_name(package or parse(text).repository.rpartition("/")[2])
    return BundleSource(text, name, provisioner, None, facts, pull_secret or "", unread)


def of_directory(path: Path) -> BundleSource:
    """The bundle of a directory. Raises CommandError, OSError."""
    archive, files = pack_bundle(path)
    facts: BundleFacts | None = None
    problem: BadBundle | None = None
    if archive.provisioner != HELM:
        try:
            facts = facts_of(files)
        except BadBundle as error:
            problem = error
    named = (facts.package if facts else "") or _annotated_package(files) or path.resolve().name
    return BundleSource(str(path), default_name(named), archive.provisioner, archive, facts, problem=problem)


def default_name(text: str) -> str:
    """A name for a BundleDeployment, made of this text; "" if it gives none."""
    name = re.sub("[^a-z0-9]+", "-", text.lower())[: bundledeployments.MAX_NAME_LENGTH].strip("-")
    return "" if dns1123_subdomain_errors(name) else name


def _annotated_package(files: Mapping[str, bytes]) -> str:
    """The package in the metadata of a bundle that cannot be read otherwise."""
    try:
        return text_at(annotations_of(files.get(ANNOTATIONS_FILE, b"")), PACKAGE_KEY)
    except BadBundleFiles:
        return ""


def _image_facts(image: str, options: Mapping[str, Any]) -> tuple[BundleFacts | None, OlmError | None]:
    """The facts of an image, or why it cannot be read here. Raises CommandError if it is no bundle."""
    from olmctl.bundle.pulled_image import pulled  # takes a third of a second, which a directory does not need
    from olmctl.catalog.images import UNREACHABLE

    try:
        return pulled(image, options, lambda root: facts_of(bundle_files(root))), None
    except BadBundle:
        return None, None  # rukpak says what is wrong with it
    except OlmError as error:
        if error.reason not in UNREACHABLE:
            raise CommandError(FAILED, error.message) from error
        return None, error
