"""The image of the controllers that are installed: an installation that names none keeps it.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from olmctl.questions.operator_state import text_at
from olmctl.suite.manifests import PART_OF, VERSION_LABEL, Manifests, image_of
from olmctl.terminal import clean
from olmkit.api.meta import Object
from olmkit.sources.errors import BadReference
from olmkit.sources.oci.reference import parse

EXAMPLE = f"registry.example.com/{PART_OF}"


def kept_image(manifests: Manifests, controllers: Sequence[Object]) -> str:
    """The image for an installation that names none: that of the controllers, with the tag of this version if they are of another
    version. Without controllers it is the image with which this command was made, unless that has no registry.

    Raises UsageError if this is not one image. An image by digest is that of one version only.
    """
    version = manifests.version
    if not controllers:
        if parse(manifests.image).written == PART_OF:
            text = "--image is missing: olm-suite is not installed, and nodes cannot pull its image without a registry"
            raise click.UsageError(f"{text}. Name it as nodes pull it, such as --image {EXAMPLE}:{version}")
        return manifests.image
    found: dict[str, list[str]] = {}
    for each in controllers:
        found.setdefault(_image_for(version, each), []).append(each["metadata"]["name"])
    if len(found) == 1 and "" not in found:
        return next(iter(found))
    installed = sorted({f"{clean(image_of(each))} ({each['metadata']['name']})" for each in controllers})
    text = f"--image is missing: it does not follow from what is installed, {', '.join(installed)}"
    raise click.UsageError(f"{text}. Name the image of {version}, such as --image {EXAMPLE}:{version}")


def _image_for(version: str, controller: Object) -> str:
    """The image of a controller in a version; "" if it is not known."""
    image = image_of(controller)
    try:
        reference = parse(image)
    except BadReference:
        return ""
    if text_at(controller, "metadata", "labels", VERSION_LABEL) == version:
        return image
    return "" if reference.digest else f"{reference.written}:{version}"
