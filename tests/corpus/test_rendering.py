"""Our rendering against upstream's: the head of each package of the corpus in three install modes, webhooks included.

Objects are equal as JSON values and come in upstream's order, except ServiceAccounts, Issuers and Certificates: upstream keeps
those in sets and writes them in a new order each time, ours are sorted or in the CSV's order. Refusals have upstream's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from rukpak.format import BadBundle, RegistryBundle, from_json, read_registry, to_json
from rukpak.render.renderer import RenderOptions, render
from tests.corpus.sample import at_least, is_sampled, sampled_bundles

pytestmark = pytest.mark.corpus

UNORDERED = {"ServiceAccount", "Issuer", "Certificate"}
Object = dict[str, Any]
_BEGINNING = re.compile(rb'{"bundle":"(?P<bundle>[^"]+)","mode":"(?P<mode>[^"]+)"')


def goldens(directory: Path, mode: str) -> Iterator[Object]:
    """Upstream's renderings in that mode of the bundles of this run, one by one: all at once they are half a gigabyte."""
    path = directory / "goldens" / "registryv1-rendered.jsonl"
    if not path.exists():
        pytest.skip("this corpus has no goldens of upstream's renderer")
    with path.open("rb") as lines:
        for line in lines:
            begun = _BEGINNING.match(line)
            if begun and begun["mode"] == mode.encode() and is_sampled(begun["bundle"].decode()):
                yield orjson.loads(line)


@cache
def parsed(directory: Path) -> bytes:
    """The bundle of a directory in the form that the store keeps."""
    files = {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
    return to_json(read_registry(files))


def ours(directory: Path, golden: Object) -> Object:
    """Our answer for the input of a golden, in its form."""
    bundle = from_json(parsed(directory / "bundles" / golden["bundle"]))
    options = RenderOptions(golden["installNamespace"], (golden["watchNamespace"],), upstream=True)
    try:
        return {"objects": orjson.loads(orjson.dumps([manifest.body for manifest in render(bundle, options)]))}
    except BadBundle as error:
        return {"error": error.message}


def upstreams(golden: Object) -> Object:
    """The golden's answer.

    Upstream's renderer changes the bundle it is given: where it replaced a volume by its mount path, the next rendering of
    the same value shows a volume without a name. The goldens were rendered three times in a row; such a volume is no part of
    a rendering.
    """
    if "error" in golden:
        return {"error": golden["error"]}
    for obj in golden["objects"]:
        if obj["kind"] == "Deployment" and "volumes" in obj["spec"]["template"]["spec"]:
            pod = obj["spec"]["template"]["spec"]
            pod["volumes"] = [volume for volume in pod["volumes"] if volume["name"]]
    return {"objects": golden["objects"]}


def in_order(answer: Object) -> Object:
    """With the objects whose order is random in upstream sorted, and all others in their places."""
    objects = answer.get("objects")
    if objects is None:
        return answer
    by_chance = iter(sorted((obj for obj in objects if obj["kind"] in UNORDERED), key=_by_kind_and_name))
    return {"objects": [next(by_chance) if obj["kind"] in UNORDERED else obj for obj in objects]}


def _by_kind_and_name(obj: Object) -> tuple[int, str]:
    return ("ServiceAccount", "Issuer", "Certificate").index(obj["kind"]), obj["metadata"]["name"]


def first_difference(ours: Any, theirs: Any, path: str = "") -> str:
    """The first difference of two JSON values; "" if there is none."""
    if ours == theirs:
        return ""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs:
                return f"{path}.{key} only in {'theirs' if key in theirs else 'ours'}"
            if found := first_difference(ours[key], theirs[key], f"{path}.{key}"):
                return found
        return ""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(
            (found for index, (one, two) in pairs if (found := first_difference(one, two, f"{path}[{index}]"))), ""
        )
    return "" if ours == theirs else f"{path}: ours {str(ours)[:200]}, theirs {str(theirs)[:200]}"


@pytest.mark.parametrize("mode", ["AllNamespaces", "OwnNamespace", "SingleNamespace"])
def test_every_channel_head_renders_as_upstream(corpus: Path, mode: str) -> None:
    differences: list[str] = []
    count = 0
    for golden in goldens(corpus, mode):
        count += 1
        found = first_difference(in_order(ours(corpus, golden)), in_order(upstreams(golden)))
        if found:
            differences.append(f"{golden['bundle']}: {found}")
    assert differences == []
    assert count > at_least(90)


def test_every_bundle_of_the_corpus_can_be_read(corpus: Path) -> None:
    assert list(_unreadable(corpus)) == []


def _unreadable(corpus: Path) -> Iterator[str]:
    for directory in sampled_bundles((corpus / "bundles").glob("*/*")):
        try:
            bundle = from_json(parsed(directory))
        except BadBundle as error:
            yield f"{directory.name}: {error.message}"
        else:
            assert isinstance(bundle, RegistryBundle)
