"""Pictures of pages: taken, reduced to 256 colours, and compared loosely with those that the documentation shows.

Fonts, ages and texts may differ a little from machine to machine. Chromium itself reduces and compares, so that no program for
pictures is needed.
"""

from __future__ import annotations

import asyncio
import base64
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from devcluster.processes import REPOSITORY

if TYPE_CHECKING:
    from playwright.async_api import Page

PICTURES: Final = REPOSITORY / "docs" / "pictures"
WRITTEN: Final = os.environ.get("OLM_PICTURES", "") == "write"
"""Whether pictures are written, instead of compared with those that are there."""
MAX_HEIGHT: Final = 1400
LIKE: Final = 0.8
"""The share of the fields with something in them that must be as before, and the least ratio of the heights."""
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_REDUCE: Final = """async (encoded) => {
  const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${encoded}`)).blob());
  const { width, height } = picture;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const keys = new Uint32Array(width * height);
  const counts = new Map();
  for (let at = 0; at < keys.length; at++) {
    const key = (data[4 * at] << 16) | (data[4 * at + 1] << 8) | data[4 * at + 2];
    keys[at] = key;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 256).map(([key]) => key);
  const parts = (key) => [key >> 16, (key >> 8) & 255, key & 255];
  const nearest = (key) => {
    const distance = (other) => parts(other).reduce((sum, value, at) => sum + (value - parts(key)[at]) ** 2, 0);
    let best = 0;
    palette.forEach((other, at) => { if (distance(other) < distance(palette[best])) best = at; });
    return best;
  };
  const places = new Map(palette.map((key, at) => [key, at]));
  for (const key of counts.keys()) if (!places.has(key)) places.set(key, nearest(key));
  let text = "";
  for (let at = 0; at < keys.length; at++) text += String.fromCharCode(places.get(keys[at]));
  return { width, height, palette: palette.flatMap(parts), pixels: btoa(text) };
}"""
_COMPARE: Final = """async (both) => {
  const FIELD = 16, INK = 48;
  const pictures = [];
  for (const each of both) pictures.push(await createImageBitmap(await (await fetch(`data:image/png;base64,${each}`)).blob()));
  const [one, other] = pictures;
  const height = Math.floor(Math.min(one.height, other.height) / FIELD), width = Math.floor(one.width / FIELD);
  const inked = (picture) => {
    const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    context.drawImage(picture, 0, 0);
    const { data } = context.getImageData(0, 0, picture.width, picture.height);
    const lowest = new Uint8Array(width * height).fill(255), highest = new Uint8Array(width * height);
    for (let y = 0; y < height * FIELD; y++) for (let x = 0; x < width * FIELD; x++) {
      const field = Math.floor(y / FIELD) * width + Math.floor(x / FIELD), value = data[4 * (y * picture.width + x) + 1];
      if (value < lowest[field]) lowest[field] = value;
      if (value > highest[field]) highest[field] = value;
    }
    return lowest.map((low, field) => (highest[field] - low > INK ? 1 : 0));
  };
  const before = inked(one), after = inked(other);
  let same = 0, drawn = 0;
  before.forEach((value, field) => { same += value & after[field]; drawn += value | after[field]; });
  return { like: drawn ? same / drawn : 1, sizes: [one.width, one.height, other.width, other.height] };
}"""


async def check(page: Page, blank: Page, name: str) -> None:
    """Write the picture of a page, or fail if it is not like the one that is there.

    `blank` is a page without a policy, where the pictures are read.
    """
    await page.mouse.move(0, 0)
    await asyncio.sleep(0.2)  # until a live page says that it is live
    height = min(await page.evaluate("document.documentElement.scrollHeight"), MAX_HEIGHT)
    width = await page.evaluate("document.documentElement.clientWidth")
    clip: Any = {"x": 0, "y": 0, "width": width, "height": height}
    taken = await page.screenshot(full_page=True, clip=clip, animations="disabled", caret="hide")
    path = PICTURES / f"{name}.png"
    if WRITTEN:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(_png(await blank.evaluate(_REDUCE, _text(taken))))
        return
    like = await likeness(blank, path.read_bytes(), taken)
    print(f"{name} is {like:.3f} like its picture")
    assert like >= LIKE, f"{path.name} shows another page than there is now: `make pictures` writes it"


async def likeness(blank: Page, one: bytes, other: bytes) -> float:
    """The share of fields that look alike; 0 if the sizes are of different pages."""
    found = await blank.evaluate(_COMPARE, [_text(one), _text(other)])
    width, height, other_width, other_height = found["sizes"]
    if width != other_width or min(height, other_height) < LIKE * max(height, other_height):
        return 0.0
    return float(found["like"])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _png(reduced: dict[str, Any]) -> bytes:
    """A picture with a palette."""
    width, height = reduced["width"], reduced["height"]
    pixels = base64.b64decode(reduced["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", bytes(reduced["palette"])), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
