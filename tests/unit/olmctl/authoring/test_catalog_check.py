"""The objects in a bundle: which of them opm can read."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from olmctl.authoring.catalog_check import check_objects
from olmkit.fbc import catalog
from olmkit.fbc.errors import BadBlob

PACKAGE = {"type": "olm.package", "value": {"packageName": "p", "version": "1.2.3"}}


def object_of(data: Any) -> catalog.Bundle:
    return catalog.bundle(
        {
            "name": "p.v1",
            "package": "p",
            "image": "i",
            "properties": [PACKAGE, {"type": "olm.bundle.object", "value": {"data": data}}],
        }
    )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="nothing"),
        pytest.param(base64.b64encode(b"a: 1\nb: [c]\n").decode(), id="YAML"),
        pytest.param(base64.b64encode(b" {no json").decode(), id="an object that begins like JSON is not parsed"),
        pytest.param("YTog\nMQ==\n", id="base64 on several lines"),
        pytest.param([97, 58], id="bytes as numbers"),
    ],
)
def test_objects_that_opm_accepts(data: Any) -> None:
    check_objects(object_of(data))


OBJECTS = 'read bundle objects: package "p", bundle "p.v1": '


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(
            "eA=",
            f"{OBJECTS}parse property at index 1 as bundle object: illegal base64 data at input byte 3",
            id="no base64",
        ),
        pytest.param(
            {},
            f"{OBJECTS}parse property at index 1 as bundle object: json: cannot unmarshal object into Go struct"
            " field BundleObject.data of type []uint8",
            id="a mapping",
        ),
        pytest.param(
            base64.b64encode(b"a: b: c").decode(),
            f"{OBJECTS}convert bundle object property at index 1 to JSON: yaml: line 1: mapping values are not allowed",
            id="no YAML",
        ),
    ],
)
def test_objects_that_opm_refuses(data: Any, words: str) -> None:
    with pytest.raises(BadBlob) as caught:
        check_objects(object_of(data))
    assert caught.value.opm_message.startswith(words)
