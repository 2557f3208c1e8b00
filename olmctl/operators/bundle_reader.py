"""Reads bundles for questions: from catalogd's summaries, or by pulling their images, with the logins of the user. Writes to a
temporary directory only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from olmctl.bundle.directory import read_directory
from olmctl.bundle.pulled_image import pulled
from olmctl.questions.bundle_summaries import SummaryReader
from olmctl.questions.errors import QuestionError
from olmctl.questions.planned_bundle import ReadBundle
from olmkit.errors import ApiError
from rukpak.format import BadBundle, Bundle


def bundle_reader(options: Mapping[str, Any]) -> ReadBundle:
    """The reader of the bundle of an image. `options` are those of image_options(). It raises CommandError, OlmError."""

    async def read(image: str) -> Bundle:
        return await asyncio.to_thread(pulled, image, options, read_directory)

    return read


def summary_or_image(summaries: SummaryReader | None, options: Mapping[str, Any]) -> ReadBundle:
    """The reader of the bundle of an image that takes its summary, and pulls the image if that has none. `options` and errors are
    those of bundle_reader()."""
    pull = bundle_reader(options)

    async def read(image: str) -> Bundle:
        if summaries is not None:
            try:
                return await summaries(image)
            except (QuestionError, ApiError, BadBundle):
                pass  # also from a catalogd that makes no summaries
        return await pull(image)

    return read
