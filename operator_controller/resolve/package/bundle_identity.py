"""Recognises the bundle that runs in a package, whatever registry it comes from. Pure."""

from __future__ import annotations

from enum import IntEnum

from olmkit.api.names import digest_of_reference
from olmkit.gocompat.versions import Version
from operator_controller.resolve.package.package_content import Bundle, PackageContent


class BundleIdentity(IntEnum):
    """The evidence that a package contains a bundle; greater means more certain."""

    NONE = 0
    SAME_REFERENCE = 1  # same name, version, repository and tag; neither has a digest
    IMAGE_DIGEST = 2


def identity_in(package: PackageContent, name: str, version: Version | None, image: str) -> BundleIdentity:
    """The evidence that the package's channels contain the bundle of this name, version and image.

    Any publisher can claim a name and a version: without the image they identify nothing.
    """
    return max(
        (_identity(one, name, version, image) for one in _bundles_in_channels(package)), default=BundleIdentity.NONE
    )


def channels_with(package: PackageContent, name: str, version: Version | None, image: str) -> list[str]:
    """The channels that contain the bundle of this name, version and image, the default channel first."""
    same = {
        one.name
        for one in _bundles_in_channels(package)
        if _identity(one, name, version, image) is not BundleIdentity.NONE
    }
    found = [each.name for each in package.channels if any(entry.name in same for entry in each.entries)]
    return sorted(found, key=lambda each: (each != package.default_channel, each))


def _identity(bundle: Bundle, name: str, version: Version | None, image: str) -> BundleIdentity:
    if is_same_image(bundle.image, image):
        return BundleIdentity.IMAGE_DIGEST
    has_tag = bool(image) and not digest_of_reference(image)
    is_same = bundle.image == image and bool(_with_same_name_and_version([bundle], name, version))
    return BundleIdentity.SAME_REFERENCE if has_tag and is_same else BundleIdentity.NONE


def has_same_name_and_version(package: PackageContent, name: str, version: Version | None) -> bool:
    """Report whether the package's channels contain a bundle of this name and version, whatever its image."""
    return bool(_with_same_name_and_version(_bundles_in_channels(package), name, version))


def _bundles_in_channels(package: PackageContent) -> list[Bundle]:
    names = {entry.name for channel in package.channels for entry in channel.entries}
    return [package.bundles[one] for one in names if one in package.bundles]


def _with_same_name_and_version(bundles: list[Bundle], name: str, version: Version | None) -> list[Bundle]:
    return [one for one in bundles if version is not None and (one.name, one.version) == (name, version)]


def is_same_image(one: str, other: str) -> bool:
    """Report whether both references have the same digest, on any registry. References by tag are never the same: a tag can
    move."""
    digest = digest_of_reference(one)
    return digest != "" and digest == digest_of_reference(other)
