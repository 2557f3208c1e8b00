"""The error about an image that is not the image of a catalog: it says what the image is, and what to do."""

from __future__ import annotations

import pytest

from catalogd.ingest.load_job import SELECTION

BUNDLE = "operators.operatorframework.io.bundle.package.v1"
DATABASE = "operators.operatorframework.io.index.database.v1"
START = 'catalog image "r/a@sha256:0" is missing the required label "operators.operatorframework.io.index.configs.v1": '


@pytest.mark.parametrize(
    ("labels", "advice"),
    [
        pytest.param(
            {BUNDLE: "a"}, "it is the image of a bundle: add it to a catalog (olm catalog add), or ", id="a bundle"
        ),
        pytest.param(
            {DATABASE: "/db"}, "it has a SQLite database: migrate it to a file-based catalog", id="a database"
        ),
        pytest.param(
            {"version": "1"}, "build the image of the catalog with `olm catalog build`, or ", id="another image"
        ),
    ],
)
def test_an_image_without_the_label(labels: dict[str, str], advice: str) -> None:
    assert SELECTION.missing("r/a@sha256:0", labels).startswith(START + advice)
