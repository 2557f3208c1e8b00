"""The platforms that an image is built for, from its index or its config. No layer is fetched, and nothing is executed."""

from __future__ import annotations

from olmkit.sources.errors import BadContent, SourceReason
from olmkit.sources.oci import manifests
from olmkit.sources.oci.image import endpoints_of
from olmkit.sources.oci.manifests import InvalidManifest, Manifest
from olmkit.sources.oci.reference import parse
from olmkit.sources.oci.registries_conf import Registries


async def platforms(ref: str, registries: Registries) -> tuple[tuple[str, str], ...]:
    """The platforms (os, architecture) of the image, in the order of its index. Raises BadReference, BadContent, Waiting."""
    reference = parse(ref)
    async with endpoints_of(reference, registries) as endpoints:
        data, kind = await endpoints.first(lambda registry: registry.manifest(reference.version))
        try:
            document = manifests.parse(data, kind)
            if isinstance(document, Manifest):
                return (manifests.platform_of(await endpoints.config(document.config)),)
        except InvalidManifest as error:
            raise BadContent(SourceReason.UNSUPPORTED, f"image {ref} {error}", ref) from error
        return manifests.platforms(document)
