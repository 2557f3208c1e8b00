"""Finds the platforms that images are built for: from their registries, or with docker or podman, as upstream does.

The tools run without a shell. Nothing of an image is executed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from olmctl.programs import TimeIsUp, TooMuchOutput, run_program
from olmkit.errors import OlmError

ACCESS_VALUES: Final = ("registries-conf", "pull-cas-dir", "allow-source-cidr")
"""The values with which registries are reached: the options of these names; the last is a list with commas."""
_TOOL_SECONDS: Final = 300.0
_MAX_TOOL_BYTES: Final = 16 * 1024**2
_AT_ONCE: Final = 8
"""Images that are looked up at the same time."""
_UNKNOWN: Final = frozenset({"", "unknown"})


class Platform(NamedTuple):
    """An operating system and an architecture."""

    os: str
    architecture: str

    def __str__(self) -> str:
        """`linux/amd64`."""
        return f"{self.os}/{self.architecture}"


class NoPlatforms(Exception):
    """The platforms of an image cannot be found; the message is the reason."""


Found = Mapping[str, tuple[Platform, ...] | NoPlatforms]
"""Image -> its platforms."""


def tool_platforms(images: Iterable[str], tool: str) -> Found:
    """The platforms that the tool reports: `TOOL pull IMAGE`, then `TOOL manifest inspect IMAGE`, and both again on failure."""
    found: dict[str, tuple[Platform, ...] | NoPlatforms] = {}
    for image in images:
        try:
            found[image] = _inspected(image, tool)
        except NoPlatforms:
            try:
                found[image] = _inspected(image, tool)
            except NoPlatforms as error:
                found[image] = error
    return found


def _inspected(image: str, tool: str) -> tuple[Platform, ...]:
    if image.startswith("-"):
        raise NoPlatforms("it is no reference to an image")
    _output(tool, "pull", image)
    try:
        document: Any = orjson.loads(_output(tool, "manifest", "inspect", image))
    except orjson.JSONDecodeError as error:
        raise NoPlatforms(f"{tool} manifest inspect {image} has no JSON as output: {error}") from None
    entries = document.get("manifests") if isinstance(document, dict) else None
    found: list[Platform] = []
    for entry in entries if isinstance(entries, list) else ():
        platform = entry.get("platform") if isinstance(entry, dict) else None
        if isinstance(platform, dict):
            pair = Platform(str(platform.get("os") or ""), str(platform.get("architecture") or ""))
            if _UNKNOWN.isdisjoint(pair):
                found.append(pair)
    return tuple(found)


def _output(tool: str, *arguments: str) -> bytes:
    """The standard output. Raises NoPlatforms with both outputs."""
    command = [tool, *arguments]
    try:
        done = run_program(command, _TOOL_SECONDS, _MAX_TOOL_BYTES)
    except FileNotFoundError:
        status, output = f'exec: "{tool}": executable file not found in $PATH', b""
    except (OSError, ValueError) as error:
        status, output = str(error), b""
    except TimeIsUp:
        status, output = f"no answer in {_TOOL_SECONDS:.0f} seconds", b""
    except TooMuchOutput:
        status, output = f"more than {_MAX_TOOL_BYTES:,} bytes of output", b""
    else:
        if done.status == 0:
            return done.output
        status, output = f"exit status {done.status}", done.output + done.errors
    raise NoPlatforms(f"{' '.join(command)} failed with error: ({status}) {output.decode(errors='replace')}")


def registry_platforms(images: Iterable[str], values: Mapping[str, str]) -> Found:
    """The platforms that the registries of the images report."""
    return asyncio.run(_all_platforms(list(images), values))


async def _all_platforms(images: list[str], values: Mapping[str, str]) -> Found:
    from olmctl.registry_logins import reached_registries  # imported here: it imports the HTTP client
    from olmkit.sources.access import Access
    from olmkit.sources.oci.platforms import platforms

    conf, authorities, allowed = (values.get(name, "") for name in ACCESS_VALUES)
    access = Access(
        Path(conf) if conf else None,
        Path(authorities) if authorities else None,
        tuple(filter(None, allowed.split(","))),
    )
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(image: str) -> tuple[Platform, ...] | NoPlatforms:
        try:
            registries = reached_registries([image], access)
            async with gate:
                return tuple(Platform(*each) for each in await platforms(image, registries))
        except OlmError as error:
            return NoPlatforms(error.message)

    return dict(zip(images, await asyncio.gather(*map(one, images)), strict=True))
