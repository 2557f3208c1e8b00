"""Reads bundles for questions: pulls their images, with the logins of the user. Writes to a temporary directory only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from olmctl.bundle.directory import read_directory
from olmctl.bundle.pulled_image import pulled
from olmctl.questions.planned_bundle import ReadBundle
from rukpak.format import Bundle


def bundle_reader(options: Mapping[str, Any]) -> ReadBundle:
    """The reader of the bundle of an image. `options` are those of image_options(). It raises CommandError, OlmError."""

    async def read(image: str) -> Bundle:
        return await asyncio.to_thread(pulled, image, options, read_directory)

    return read
