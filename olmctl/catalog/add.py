"""`olm catalog add BUNDLE...`: add bundles to the directory of a catalog, and push the catalog if it is wanted.

What is written is checked before. The image of a bundle is written by its digest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from olmctl.authoring.bundle_blobs import package_icon, registry_blob
from olmctl.authoring.catalog_addition import NewBundle, PackageState, Refused, Wanted, plan_addition
from olmctl.authoring.catalog_text import NotEditable
from olmctl.authoring.catalog_update import PackageFiles, write_file
from olmctl.authoring.images.contents import ANNOTATIONS_FILE, annotations_of, bundle_files, catalog_content
from olmctl.authoring.images.delivery import check_names, push_image
from olmctl.authoring.images.labels import CHANNELS_LABEL, DEFAULT_CHANNEL_LABEL
from olmctl.authoring.template import BadTemplate
from olmctl.authoring.template_addition import add_to_template
from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.directory_files import no_manifests
from olmctl.file_replacement import locked
from olmctl.questions.operator_state import part, text_at
from olmctl.terminal import clean_lines
from olmctl.terminal_output import say
from olmkit.fbc.bundle_files import MANIFESTS, BadBundleFiles, read_registry
from olmkit.fbc.checks.pull_specs import pull_spec_error
from olmkit.fbc.errors import BadBlob, BadDocument
from olmkit.gocompat.base64_text import base64_error
from olmkit.gocompat.text import quoted
from olmkit.sources.access import Access
from rukpak.format.objects import texts


@dataclass(frozen=True)
class Request:
    """The options of the command, named as its flags."""

    catalog: Path
    image: str
    channels: tuple[str, ...]
    replaces: str | None
    skips: tuple[str, ...]
    skip_range: str | None
    default_channel: str | None
    overwrite: bool
    template: Path | None
    push: tuple[str, ...]
    registries_conf: Path | None
    pull_cas_dir: Path | None
    allow_source_cidr: tuple[str, ...]

    @property
    def wanted(self) -> Wanted:
        """The choices of the user for each addition."""
        channels = tuple(part.strip() for each in self.channels for part in each.split(",") if part.strip())
        skips = tuple(part.strip() for each in self.skips for part in each.split(",") if part.strip())
        return Wanted(channels, self.replaces, skips, self.skip_range, self.default_channel, self.overwrite)

    @property
    def access(self) -> Access:
        """The access to registries."""
        return Access(self.registries_conf, self.pull_cas_dir, self.allow_source_cidr)


def add(bundles: Sequence[str], **options: Any) -> int:
    """Add the bundles, one after the other."""
    request = Request(**{**options, "catalog": options["catalog"] or Path("catalog")})
    _check(bundles, request, has_catalog=options["catalog"] is not None)
    if request.template is not None:
        for each in bundles:
            _add(each, request)
        return 0
    request.catalog.mkdir(parents=True, exist_ok=True)
    for each in bundles:
        _add(each, request)
    if request.push:
        return push_image(request.catalog, catalog_content, request.push, request.access)
    return 0


def _check(bundles: Sequence[str], request: Request, *, has_catalog: bool) -> None:
    """Refuse options that make no sense, before anything is read. Raises CommandError, UsageError."""
    if len(bundles) > 1 and (request.image or request.wanted.has_edges):
        raise CommandError(WRONG_USAGE, "--image, --replaces, --skips and --skip-range are for one bundle: give one")
    if wrong := [each for each in request.wanted.channels if each != "".join(each.split())]:
        raise click.UsageError(f"--channel: {wrong[0]!r} is no name of a channel")
    if request.template is not None:
        if has_catalog:
            raise click.UsageError("--catalog and --template exclude each other: a bundle is added to one of them")
        if request.push:
            raise click.UsageError("--push is for a catalog: render the template first (olm catalog render-template)")
        if not request.template.is_file():
            raise CommandError(WRONG_USAGE, f"--template {request.template}: there is no such file")
        return
    if request.catalog.exists() and not request.catalog.is_dir():
        raise CommandError(WRONG_USAGE, f"{request.catalog} is no directory")
    check_names(request.push)


def _add(given: str, request: Request) -> None:
    """Add a bundle, and print what changes. Raises CommandError, OlmError, OSError."""
    if Path(given).is_dir():
        if not (Path(given) / MANIFESTS).is_dir():
            raise CommandError(WRONG_USAGE, no_manifests(Path(given)))
        _add_files(_Source(Path(given), request.image, given), request)
        return
    # Imported here because the image source takes a third of a second to import.
    from olmctl.catalog.images import NoDirectory, reference_error, unpacked

    if request.image:
        raise CommandError(
            WRONG_USAGE, f"{given}: there is no such directory, and --image is for the directory of a bundle"
        )
    if why := reference_error(given):
        raise CommandError(WRONG_USAGE, f"{given}: there is no such directory, and it is no image: {why}")
    access = (request.registries_conf, request.pull_cas_dir, request.allow_source_cidr)
    try:
        with unpacked(given, *access, only_bundles=True) as found:
            if found.is_catalog or found.is_plain:
                kind = "a catalog" if found.is_catalog else "a plain bundle, which has no package and version"
                raise CommandError(FAILED, f"{given} is the image of {kind}: only registry+v1 bundles can be added")
            _add_files(_Source(found.root, found.reference, given), request)
    except NoDirectory as error:
        raise CommandError(WRONG_USAGE, f"{given}: {error}") from None


@dataclass(frozen=True)
class _Source:
    """The files of a bundle, and the reference of its image."""

    directory: Path
    image: str
    shown: str
    """The directory or the image, as it was given."""


def _add_files(source: _Source, request: Request) -> None:
    if not source.image:
        text = "is a directory: name its image with --image, as `olm bundle push` prints it"
        raise CommandError(WRONG_USAGE, f"{source.directory} {text}")
    if why := pull_spec_error(source.image):
        raise CommandError(WRONG_USAGE, f"invalid image pull spec {quoted(source.image)}: {why}")
    image = _by_digest(source, request)
    if request.template is not None:
        with locked(request.template.parent):
            _change_template(source, image, request, request.template)
        return
    with locked(request.catalog):
        _change(source, image, request)


def _change(source: _Source, image: str, request: Request) -> None:
    try:
        files = bundle_files(source.directory)
        package = read_registry(files).package
        found = PackageFiles.read(request.catalog, package)
        state = found.state()
        bundle = _new_bundle(files, image, state)
        addition = plan_addition(state, bundle, request.wanted)
    except BadBundleFiles as error:
        raise CommandError(FAILED, f"{source.shown}: {error}") from None
    except Refused as error:
        raise CommandError(FAILED, str(error)) from None
    if addition.is_empty:
        say(f"{bundle.name} unchanged")
        return
    was_invalid = state.package is not None and bool(found.error())
    found.apply(addition, bundle)
    if problem := found.error():
        before = "is not valid, nor was it before" if was_invalid else "would not be valid"
        text = f"package {bundle.package} {before}, and nothing was written: {problem}"
        raise CommandError(FAILED, clean_lines(text))
    written = found.write()
    for note in addition.notes or (f"{bundle.name} of {bundle.package}",):
        say(note)
    for path in written:
        say(f"{path} written")


def _change_template(source: _Source, image: str, request: Request, path: Path) -> None:
    try:
        bundle = _new_bundle(bundle_files(source.directory), image, PackageState())
        change = add_to_template(path.read_bytes(), bundle, image, source.image, request.wanted)
    except BadBundleFiles as error:
        raise CommandError(FAILED, f"{source.shown}: {error}") from None
    except (Refused, BadTemplate, BadDocument, BadBlob, NotEditable) as error:
        raise CommandError(FAILED, clean_lines(f"{path}: {error}")) from None
    if not change.notes:
        say(f"{bundle.name} unchanged")
        return
    write_file(path, change.text.text)
    for note in change.notes:
        say(note)
    say(f"{path} written")


def _by_digest(source: _Source, request: Request) -> str:
    """The reference by digest of the image: a tag could lead to another bundle later. Raises OlmError."""
    if "@" in source.image:
        return source.image
    from olmctl.registry_logins import reached_registries
    from olmkit.sources.oci import image

    registries = reached_registries([source.image], request.access)
    return asyncio.run(image.resolve(source.image, registries)).ref_by_digest


def _new_bundle(files: Mapping[str, bytes], image: str, state: PackageState) -> NewBundle:
    """The bundle with what its files say. Raises BadBundleFiles."""
    bundle = read_registry(files)
    for sentence in bundle.warnings:
        warn(sentence)
    annotations = annotations_of(files.get(ANNOTATIONS_FILE, b""))
    channels = str(annotations.get(CHANNELS_LABEL) or "").split(",")
    spec = part(bundle.csv, "spec")
    return NewBundle(
        registry_blob(bundle, image, summarized=not state.has_objects),
        tuple(each.strip() for each in channels if each.strip()),
        str(annotations.get(DEFAULT_CHANNEL_LABEL) or ""),
        text_at(spec, "replaces"),
        tuple(texts(part(spec, "skips"))),
        text_at(bundle.csv, "metadata", "annotations", "olm.skipRange"),
        text_at(spec, "description"),
        _readable_icon(package_icon(part(spec, "icon"))),
    )


def _readable_icon(icon: dict[str, str]) -> dict[str, str]:
    """The icon, or none if its data cannot be read: a catalog with it would not be valid."""
    if icon and (error := base64_error(icon["base64data"])):
        warn(f"spec.icon[0].base64data: {error}: the package has no icon")
        return {}
    return icon
