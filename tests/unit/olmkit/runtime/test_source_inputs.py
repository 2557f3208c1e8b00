"""The ConfigMaps of a source are read one after the other, and no more than may be used."""

from __future__ import annotations

from typing import Any, cast

import pytest

from olmkit.api.bundles import BundleSource
from olmkit.errors import Blocked
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.source_inputs import SourceInputs
from olmkit.runtime.source_secrets import SourceSecrets


class LargeConfigMaps:
    """Gives ConfigMaps of a mebibyte."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def get(self, kind: object, name: str, namespace: str) -> dict[str, Any]:
        self.read.append(name)
        return {"metadata": {"name": name}, "data": {name: "x" * 1024**2}}


class NoSecrets:
    namespace, informer = "s", None


async def test_reading_ends_at_the_limit() -> None:
    client = LargeConfigMaps()
    inputs = SourceInputs(cast("Client", client), cast("SourceSecrets", NoSecrets()), cast("Informer", None))
    members = [{"configMap": {"name": f"c{number}"}} for number in range(64)]
    with pytest.raises(Blocked, match="more than 8,388,608 bytes"):
        await inputs.config_maps(BundleSource.load({"type": "configMaps", "configMaps": members}))
    assert client.read == [f"c{number}" for number in range(9)]
    assert len(await inputs.config_maps(BundleSource.load({"type": "configMaps", "configMaps": members[:8]}))) == 8
