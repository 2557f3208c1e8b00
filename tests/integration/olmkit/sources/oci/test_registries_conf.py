"""registries.conf: the endpoints of an image, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.errors import Blocked
from olmkit.sources.errors import BadReference
from olmkit.sources.network import Endpoint
from olmkit.sources.oci.reference import parse as read
from olmkit.sources.oci.registries_conf import Registries, parse

DIGEST = "sha256:" + "a" * 64

CONF = """
unqualified-search-registries = ["example.com"]

[[registry]]
prefix = "quay.io"
location = "mirror.local:5000/quay"
insecure = true

[[registry]]
prefix = "quay.io/org"
location = "quay.io/org"
[[registry.mirror]]
location = "mirror.local:5000/org"
insecure = true
[[registry.mirror]]
location = "digests.local/org"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "tags.local/org"
pull-from-mirror = "tag-only"

[[registry]]
location = "digests.example.com"
mirror-by-digest-only = true
[[registry.mirror]]
location = "mirror.local/digests"

[[registry]]
prefix = "*.wild.io"
[[registry.mirror]]
location = "mirror.local/wild"

[[registry]]
prefix = "*.moved.io"
location = "moved.local/all"

[[registry]]
prefix = "docker.io"
location = "hub.local"

[[registry]]
prefix = "bad.io"
blocked = true
"""


def asked(image: str, conf: str = CONF) -> list[str]:
    """host/repository of each endpoint, with its attributes."""
    return [
        f"{each.host}/{each.repository}"
        + (" insecure" if each.insecure else "")
        + (" configured" if each.configured else "")
        for each in Registries(parse(conf)).endpoints(read(image))
    ]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param("other.io/a/b:1", ["other.io/a/b"], id="no rule: the registry itself"),
        pytest.param(
            "quay.io/a/b:1",
            ["mirror.local:5000/quay/a/b insecure configured"],
            id="a location replaces its prefix",
        ),
        pytest.param(
            "quay.io/org/b:1",
            [
                "mirror.local:5000/org/b insecure configured",
                "tags.local/org/b configured",
                "quay.io/org/b configured",
            ],
            id="the longest prefix wins, mirrors in order, then the location; by tag",
        ),
        pytest.param(
            f"quay.io/org/b@{DIGEST}",
            [
                "mirror.local:5000/org/b insecure configured",
                "digests.local/org/b configured",
                "quay.io/org/b configured",
            ],
            id="the same by digest",
        ),
        pytest.param(
            "quay.io/organisation/b:1",
            ["mirror.local:5000/quay/organisation/b insecure configured"],
            id="a prefix ends at a slash",
        ),
        pytest.param(
            "digests.example.com/a:1",
            ["digests.example.com/a configured"],
            id="mirrors for digests are not used for tags",
        ),
        pytest.param(
            f"digests.example.com/a@{DIGEST}",
            ["mirror.local/digests/a configured", "digests.example.com/a configured"],
            id="mirrors for digests are used for digests",
        ),
        pytest.param(
            "x.wild.io/a:1",
            ["mirror.local/wild/a configured", "x.wild.io/a"],
            id="a wildcard without location uses the host itself, which is not configured",
        ),
        pytest.param("wild.io/a:1", ["wild.io/a"], id="a wildcard is for subdomains only"),
        pytest.param("x.y.moved.io/a/b:1", ["moved.local/all/a/b configured"], id="a wildcard with a location"),
        pytest.param("nginx", ["hub.local/library/nginx configured"], id="a short name is of Docker Hub"),
    ],
)
def test_the_endpoints_of_an_image(image: str, expected: list[str]) -> None:
    assert asked(image) == expected


def test_docker_hub_has_a_host_of_its_own() -> None:
    assert asked("nginx", "") == ["registry-1.docker.io/library/nginx"]


def test_the_prefix_star_matches_every_image() -> None:
    conf = '[[registry]]\nprefix = "*"\nlocation = "all.local:1"\n[[registry]]\nprefix = "quay.io/org"\n'
    assert asked("quay.io/a:1", conf) == ["all.local:1/a configured"]
    assert asked("nginx", conf) == ["all.local:1/library/nginx configured"]
    assert asked("quay.io/org/a:1", conf) == ["quay.io/org/a configured"]


def test_hosts_are_compared_in_lower_case() -> None:
    assert Registries().endpoints(read("Quay.IO/a:1")) == (Endpoint("quay.io", "a"),)


def test_a_blocked_registry_is_reported() -> None:
    with pytest.raises(BadReference, match=r"registry bad\.io is blocked by registries\.conf") as raised:
        asked("bad.io/a:1")
    assert raised.value.reason == "RegistryBlocked"


def test_hosts_of_the_configuration() -> None:
    registries = Registries(parse(CONF))
    assert registries.is_configured("mirror.local:5000")
    assert registries.is_configured("quay.io")
    assert not registries.is_configured("mirror.local:5001")
    assert not registries.is_configured("x.wild.io")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("[[registry]", "Expected", id="not TOML"),
        pytest.param("registry = 1", "array of tables", id="registry is not a table"),
        pytest.param("registry = [1]", "array of tables", id="registry is a list of other values"),
        pytest.param(
            "[[registry]]\ninsecure = true", "needs a prefix or a location", id="a rule without prefix and location"
        ),
        pytest.param(
            '[[registry]]\nprefix = "a"\ninsecure = "yes"', "insecure must be true or false", id="a flag as a string"
        ),
        pytest.param('[[registry]]\nlocation = "http://a"', "is not a location", id="a URL as location"),
        pytest.param('[[registry]]\nprefix = "a b"', "is not a location", id="a prefix that is not a host"),
        pytest.param("[[registry]]\nprefix = 1", "prefix must be a string", id="a number as prefix"),
        pytest.param(
            '[[registry]]\nprefix = "a"\n[[registry.mirror]]\n', "needs a location", id="a mirror without a location"
        ),
        pytest.param('[[registry]]\nprefix = "a"\nmirror = "b"', "array of tables", id="a mirror that is not a table"),
        pytest.param(
            '[[registry]]\nprefix = "a"\n[[registry.mirror]]\nlocation = "b"\npull-from-mirror = "never"',
            "all, digest-only or tag-only",
            id="a mirror with an unknown pull-from-mirror",
        ),
    ],
)
def test_an_invalid_file_is_named(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "registries.conf"
    path.write_text(text)
    with pytest.raises(Blocked) as raised:
        Registries.load(path)
    assert raised.value.reason == "InvalidConfiguration"
    assert why in raised.value.message
    assert str(path) in raised.value.message


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="No such file"):
        Registries.load(tmp_path / "absent")


def test_without_a_file_there_are_no_rules() -> None:
    assert Registries.load(None).rules == ()
