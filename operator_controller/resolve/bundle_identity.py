"""Whether a catalog offers the very bundle that runs, whatever registry it comes from.

Called by candidates.py and explain.py. Pure.
"""

from __future__ import annotations

from enum import IntEnum

from olmkit.api.bundles import digest_of_reference
from olmkit.gocompat.versions import Version
from operator_controller.resolve.package import Bundle, PackageContent


class BundleIdentity(IntEnum):
    """How sure it is that a package holds a bundle, ascending."""

    NONE = 0
    SAME_REFERENCE = 1  # the same name, version, repository and tag, where neither side has a digest
    IMAGE_DIGEST = 2


def identity_in(package: PackageContent, name: str, version: Version | None, image: str) -> BundleIdentity:
    """How the package's channels hold the bundle of this name, version and image.

    A name and a version are what a publisher claims, and anybody may claim them: without the image they identify nothing.
    """
    return max(
        (_identity(one, name, version, image) for one in _bundles_in_channels(package)), default=BundleIdentity.NONE
    )


def channels_with(package: PackageContent, name: str, version: Version | None, image: str) -> list[str]:
    """The channels that hold the bundle of this name, version and image, the default one first."""
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
    """Whether the package's channels hold a bundle of this name and version, whatever its image."""
    return bool(_with_same_name_and_version(_bundles_in_channels(package), name, version))


def _bundles_in_channels(package: PackageContent) -> list[Bundle]:
    names = {entry.name for channel in package.channels for entry in channel.entries}
    return [package.bundles[one] for one in names if one in package.bundles]


def _with_same_name_and_version(bundles: list[Bundle], name: str, version: Version | None) -> list[Bundle]:
    return [one for one in bundles if version is not None and (one.name, one.version) == (name, version)]


def is_same_image(one: str, other: str) -> bool:
    """Whether both references name the same digest, on whatever registry; what a tag means may change."""
    digest = digest_of_reference(one)
    return digest != "" and digest == digest_of_reference(other)
