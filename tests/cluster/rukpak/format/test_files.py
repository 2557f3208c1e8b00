"""The API server accepts what is read of a bundle, also from unusual YAML."""

from __future__ import annotations

import orjson
import pytest

from devcluster.cluster import Cluster
from rukpak.format import read_registry, to_json
from rukpak.format.bundle import from_json
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak.builders import MERGED_CRD, csv, files

SERVICE = b"ApiVersion: v1\nKind: Service\nMetadata: {Name: s}\nspec: {ports: [{port: 80}]}\n"


@pytest.mark.parametrize(
    ("name", "manifest"),
    [
        pytest.param("CustomResourceDefinition", MERGED_CRD, id="a CRD whose schema is merged by a key with its tag"),
        pytest.param("Service", SERVICE, id="an object whose first keys are in another case"),
    ],
)
def test_the_api_server_accepts_it(cluster: Cluster, name: str, manifest: bytes) -> None:
    given = files(csv()) | {"manifests/a.yaml": manifest, "manifests/b.yaml": manifest}
    bundle = from_json(to_json(read_registry(given)))
    (found,) = [each for each in render(bundle, RenderOptions("default")) if each.kind == name]
    text = orjson.dumps(found.body).decode()
    printed = cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=text)
    assert printed.strip().endswith("serverside-applied (server dry run)")
