"""The configuration of the registry and its clients."""

import tomllib
from pathlib import Path

import pytest
import yaml

from devcluster.registry import MIRRORED_HOSTS, configuration, registries_conf

LOCAL = "127.0.0.1:21004"


def test_registries_conf_is_version_2_with_one_table_per_registry() -> None:
    tables = tomllib.loads(registries_conf(LOCAL))["registry"]
    assert [table["prefix"] for table in tables] == [LOCAL, *MIRRORED_HOSTS]


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(host, id=f"{host} is served by this registry without TLS")
        for host in (LOCAL, "quay.io", "registry.redhat.io")
    ],
)
def test_no_external_registry_is_reached(host: str) -> None:
    (table,) = [table for table in tomllib.loads(registries_conf(LOCAL))["registry"] if table["prefix"] == host]
    assert table == {"prefix": host, "location": LOCAL, "insecure": True}


def test_the_registry_listens_on_its_address_and_allows_deletion() -> None:
    config = yaml.safe_load(configuration(Path("/run"), LOCAL))
    assert config["http"]["addr"] == LOCAL
    assert config["storage"]["delete"] == {"enabled": True}
    assert config["storage"]["filesystem"] == {"rootdirectory": "/run/registry"}
