"""The credentials of Secrets for a host, and errors of invalid Secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.errors import Blocked
from olmkit.jobs import codec
from olmkit.sources.credentials import BadSecret, Credentials, Login, credentials_of
from tests.secrets import auth, docker_config, secret

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
HOSTS = "git.example.com,files.example.com:8443"


def through_json(made: Credentials) -> Credentials:
    """The credentials as a job decodes them."""
    return codec.decode(Credentials, orjson.loads(orjson.dumps(codec.encode(made))))


def passwords(auths: Mapping[str, str]) -> Credentials:
    """A pull secret with a password for each key."""
    return credentials_of(docker_config({key: auth("u", password) for key, password in auths.items()}))


@pytest.mark.parametrize(
    ("auths", "host", "repository", "password"),
    [
        pytest.param({"quay.io": "a"}, "quay.io", "x/y", "a", id="the host"),
        pytest.param({"quay.io": "a"}, "quay.io.evil.com", "x/y", None, id="not a host that begins the same"),
        pytest.param({"quay.io": "a"}, "evil-quay.io", "x/y", None, id="not a host that ends the same"),
        pytest.param({"quay.io": "a"}, "cdn.quay.io", "x/y", None, id="not a host below"),
        pytest.param({"quay.io": "a"}, "quay.io:8443", "x/y", None, id="not another port"),
        pytest.param({"quay.io": "a"}, "quay.io:80", "x/y", None, id="not the port of plain HTTP"),
        pytest.param({"quay.io": "a"}, "quay.io:443", "x/y", "a", id="the usual port may be written"),
        pytest.param({"quay.io:443": "a"}, "quay.io", "x/y", "a", id="the usual port may be left out"),
        pytest.param({"reg:5000": "a"}, "reg", "x/y", None, id="a port must match"),
        pytest.param({"reg:5000": "a"}, "reg:5000", "x/y", "a", id="a port"),
        pytest.param({"QUAY.io": "a"}, "Quay.IO", "x/y", "a", id="case does not count"),
        pytest.param({"https://quay.io": "a"}, "quay.io", "x/y", "a", id="a scheme is ignored"),
        pytest.param({"https://quay.io/v2/": "a"}, "quay.io", "x/y", "a", id="the version of the API neither"),
        pytest.param({"quay.io/v1": "a"}, "quay.io", "x/y", "a", id="also without a slash at its end"),
        pytest.param({"quay.io/v2/x": "a"}, "quay.io", "x/y", "a", id="a path after the version"),
        pytest.param({"quay.io": "a", "quay.io/x": "b"}, "quay.io", "x/y", "b", id="the longer path wins"),
        pytest.param({"quay.io/x": "b", "quay.io": "a"}, "quay.io", "x/y", "b", id="in any order"),
        pytest.param({"quay.io": "a", "quay.io/x": "b"}, "quay.io", "xx/y", "a", id="a path ends at a slash"),
        pytest.param({"quay.io/x/y": "c"}, "quay.io", "x/y", "c", id="a whole repository"),
        pytest.param({"quay.io/x/y": "c"}, "quay.io", "x", None, id="not what is above"),
        pytest.param({"*.example.com": "a"}, "reg.example.com", "x", "a", id="a star is one part"),
        pytest.param({"*.example.com": "a"}, "a.reg.example.com", "x", None, id="and not two"),
        pytest.param({"*.example.com": "a"}, "example.com", "x", None, id="without the part it does not match"),
        pytest.param({"*.example.com": "a"}, "reg.example.com.evil.org", "x", None, id="and the rest must match"),
        pytest.param({"reg-*.example.com": "a"}, "reg-1.example.com", "x", "a", id="or some of a part"),
        pytest.param({"*.example.com:5000": "a"}, "reg.example.com:5000", "x", "a", id="with a port"),
        pytest.param({"*.a.b": "1", "c.a.b": "2"}, "c.a.b", "x", "2", id="a host by its name wins"),
        pytest.param({"*.a.b/x": "1", "c.a.b": "2"}, "c.a.b", "x/y", "2", id="also over a pattern with a path"),
        pytest.param({"[::1]:5000": "a"}, "[::1]:5000", "x", "a", id="an IPv6 address"),
        pytest.param({"https://index.docker.io/v1/": "a"}, "registry-1.docker.io", "library/x", "a", id="Docker Hub"),
        pytest.param({"docker.io": "a"}, "registry-1.docker.io", "library/x", "a", id="Docker Hub by its short name"),
        pytest.param({"registry-1.docker.io": "a"}, "docker.io", "library/x", "a", id="and by its long one"),
        pytest.param({"docker.io/library": "a"}, "registry-1.docker.io", "other/x", None, id="a path at Docker Hub"),
        pytest.param(
            {"https://index.docker.io/v1/": "a"}, "quay.io", "x", None, id="a rule for Docker Hub is not a default"
        ),
    ],
)
def test_a_login_matches_the_host_and_path_of_its_key(
    auths: Mapping[str, str], host: str, repository: str, password: str | None
) -> None:
    found = passwords(auths).for_registry(host, repository)
    assert (found.password if found else None) == password


@given(st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters=".-:*[]/"), max_size=40))
def test_a_login_matches_no_other_host(host: str) -> None:
    """A login for quay.io does not match any other host."""
    found = passwords({"quay.io": "a"}).for_registry(host, "x/y")
    assert found is None or host.lower() in ("quay.io", "quay.io:443")


ENTRIES = [
    pytest.param(auth("u", "p:w"), Login("u", "p:w", "", "", "olm-suite-system/login"), id="auth"),
    pytest.param(
        {"username": "u", "password": "p"}, Login("u", "p", "", "", "olm-suite-system/login"), id="user and password"
    ),
    pytest.param(
        {**auth("u", "p"), "username": "x", "password": "x", "email": "e"},
        Login("u", "p", "", "", "olm-suite-system/login"),
        id="auth wins",
    ),
    pytest.param({"identitytoken": "t"}, Login("", "", "t", "", "olm-suite-system/login"), id="identitytoken"),
    pytest.param({"registrytoken": "t"}, Login("", "", "", "t", "olm-suite-system/login"), id="registrytoken"),
    pytest.param({"auth": "dTpw\n"}, Login("u", "p", "", "", "olm-suite-system/login"), id="a line in base64"),
    pytest.param(
        {"auth": auth("u", "pw")["auth"].rstrip("=")},
        Login("u", "pw", "", "", "olm-suite-system/login"),
        id="without padding",
    ),
]


@pytest.mark.parametrize(("entry", "login"), ENTRIES)
def test_both_formats_of_docker_configs_are_read(entry: Mapping[str, str], login: Login) -> None:
    new = credentials_of(docker_config({"quay.io": entry}))
    old = credentials_of(secret("kubernetes.io/dockercfg", {".dockercfg": json.dumps({"quay.io": entry})}))
    assert new.for_registry("quay.io", "x") == old.for_registry("quay.io", "x") == login
    assert new.basic_auth("quay.io") is None, "a pull secret is for registries only"


def test_a_login_becomes_a_header() -> None:
    assert Login("Aladdin", "open sesame").basic == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    assert Login("ü", "ß").basic == "Basic " + base64.b64encode("ü:ß".encode()).decode()
    assert Login(identity_token="t").basic == ""


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("git.example.com", True),
        ("git.example.com:443", True),
        ("git.example.com:80", True),
        ("git.example.com:8443", False),
        ("files.example.com:8443", True),
        ("files.example.com", False),
        ("example.com", False),
        ("x.git.example.com", False),
    ],
)
def test_a_login_matches_the_hosts_of_the_annotation(host: str, found: bool) -> None:
    values = {"username": "u", "password": "p\n"}
    for kind in ("kubernetes.io/basic-auth", "Opaque"):
        login = credentials_of(secret(kind, values, HOSTS)).basic_auth(host)
        assert login == (Login("u", "p", secret="olm-suite-system/login") if found else None)
    assert credentials_of(secret("Opaque", values, HOSTS)).ssh_key(host) is None


@pytest.mark.parametrize(
    ("host", "found"),
    [("git.example.com", True), ("git.example.com:22", True), ("git.example.com:443", False), ("example.com", False)],
)
def test_a_key_matches_the_hosts_of_the_annotation(host: str, found: bool) -> None:
    for kind in ("kubernetes.io/ssh-auth", "Opaque"):
        made = credentials_of(secret(kind, {"ssh-privatekey": KEY, "ssh-knownhosts": "git …"}, HOSTS))
        key = made.ssh_key(host)
        assert (key.private_key if key else None) == (KEY if found else None)
        assert made.for_registry(host, "x") is None


def test_a_login_matches_a_registry_of_the_annotation() -> None:
    made = credentials_of(secret("kubernetes.io/basic-auth", {"username": "u", "password": "p"}, "quay.io"))
    login = made.for_registry("quay.io", "x/y")
    assert login is not None
    assert login.password == "p"


def test_the_own_secret_takes_precedence_over_the_common_one() -> None:
    own, clusters = passwords({"quay.io": "own"}), passwords({"quay.io/x": "cluster", "ghcr.io": "cluster"})
    both = Credentials.merged(own, clusters)
    for host, expected in (("quay.io", "own"), ("ghcr.io", "cluster")):
        login = both.for_registry(host, "x/y")
        assert login is not None
        assert login.password == expected
    assert Credentials.merged(Credentials(), clusters).layers == clusters.layers


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("files.example.com:8443", True),
        ("git.example.com", False),
        ("git.example.com:80", False),
        ("example.com", False),
    ],
)
def test_only_insecure_hosts_get_a_password_without_verified_tls(host: str, found: bool) -> None:
    values = {"username": "u", "password": "p"}
    raw = secret("kubernetes.io/basic-auth", values, HOSTS, insecure="files.example.com:8443")
    made = credentials_of(raw)
    for each in (made, through_json(made)):
        assert (each.basic_auth(host, verified=False) is not None) is found
        assert each.basic_auth("git.example.com") is not None


def test_an_insecure_host_must_be_in_both_annotations() -> None:
    values = {"username": "u", "password": "p"}
    with pytest.raises(
        Blocked, match=r'has "other\.example" in its annotation .*insecure-source-hosts, which .* does not name'
    ):
        credentials_of(secret("kubernetes.io/basic-auth", values, HOSTS, insecure="other.example"))


def of_hosts(hosts: str, name: str) -> Credentials:
    """Credentials with a password for the hosts of an annotation."""
    return credentials_of(secret("kubernetes.io/basic-auth", {"username": "u", "password": "p"}, hosts, name))


def of_key(hosts: str, name: str) -> Credentials:
    """Credentials with a key for the hosts of an annotation."""
    values = {"ssh-privatekey": KEY, "ssh-knownhosts": "git …"}
    return credentials_of(secret("kubernetes.io/ssh-auth", values, hosts, name))


@pytest.mark.parametrize(
    ("made", "hosts", "ssh_hosts", "registries_of"),
    [
        pytest.param(Credentials(), (), (), "", id="none"),
        pytest.param(of_hosts("b.example,a.example:1", "own"), ("a.example:1", "b.example"), (), "", id="its own"),
        pytest.param(
            Credentials.merged(of_hosts("a.example", "own"), of_hosts("hidden.example", "all")),
            *(("a.example",), (), ""),
            id="not those of the one for all Catalogs",
        ),
        pytest.param(
            Credentials.merged(Credentials(), of_hosts("hidden.example", "all")),
            *((), (), ""),
            id="nor when that is the only one",
        ),
        pytest.param(
            Credentials.merged(of_key("a.example", "own"), of_key("hidden.example", "all")),
            *(("a.example",), ("a.example",), ""),
            id="hosts of keys neither",
        ),
        pytest.param(
            passwords({"quay.io": "p"}), (), (), "olm-suite-system/login", id="registry logins are named by Secret"
        ),
        pytest.param(
            Credentials.merged(Credentials(), passwords({"quay.io": "p"})), *((), (), ""), id="also only its own"
        ),
    ],
)
def test_messages_name_hosts_of_the_own_secret_only(
    made: Credentials, hosts: tuple[str, ...], ssh_hosts: tuple[str, ...], registries_of: str
) -> None:
    for each in (made, through_json(made)):
        assert (each.hosts, each.ssh_hosts, each.registry_only_secret) == (hosts, ssh_hosts, registries_of)


def test_an_unusable_common_secret_is_reported_where_a_login_is_missing() -> None:
    made = Credentials.merged(
        passwords({"quay.io": "p"}), Credentials(common_secret_error="the Secret for all Bundles has no key")
    )
    for each in (made, through_json(made)):
        assert each.common_secret_hint == "; the Secret for all Bundles has no key"
    assert passwords({"quay.io": "p"}).common_secret_hint == ""


def test_credentials_are_passed_to_a_job_as_json() -> None:
    both = Credentials.merged(
        passwords({"quay.io/x": "p", "*.example.com:5000": "q"}),
        credentials_of(secret("kubernetes.io/ssh-auth", {"ssh-privatekey": KEY, "ssh-knownhosts": "git …"}, HOSTS)),
    )
    assert through_json(both) == both


FAULTS: list[Any] = [
    pytest.param(secret("kubernetes.io/tls", {"tls.key": "Sesame"}), 'is of type "kubernetes.io/tls"', id="a type"),
    pytest.param(secret("Opaque", {"token": "Sesame"}), "has none of the keys .dockerconfigjson,", id="Opaque"),
    pytest.param(secret("", {"token": "Sesame"}), "has none of the keys .dockerconfigjson,", id="no type"),
    pytest.param(secret("kubernetes.io/dockerconfigjson", {}), "has no key .dockerconfigjson", id="no key"),
    pytest.param(
        secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "{Sesame"}),
        "has invalid JSON at the key",
        id="no JSON",
    ),
    pytest.param(
        secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": '{"quay.io": {"auth": "Sesame"}}'}),
        "has no logins by registry under auths at the key .dockerconfigjson",
        id="the old form at the new key",
    ),
    pytest.param(
        secret("kubernetes.io/dockercfg", {".dockercfg": "[]"}),
        "has no logins by registry at the key .dockercfg",
        id="a list",
    ),
    pytest.param(
        secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": b"\xff\xfe"}),
        "a value that is not text",
        id="not text",
    ),
    pytest.param(docker_config({}), "does not name a registry at the key .dockerconfigjson", id="no entry"),
    pytest.param(docker_config({"": auth("u", "Sesame")}), 'names the registry "", which is not host', id="no host"),
    pytest.param(
        docker_config({"https://user:Sesame@quay.io": auth("u", "p")}),
        'names the registry "…@quay.io", which is not host[:port][/path]',
        id="a URL with a login",
    ),
    pytest.param(
        docker_config({"user:Sesame@open@quay.io": auth("u", "p")}), 'names the registry "…@quay.io"', id="a login"
    ),
    pytest.param(
        docker_config({"proxy.example/user:Sesame@quay.io": {}}),
        'has a login for "…@quay.io" with no password',
        id="a login in the path",
    ),
    pytest.param(
        secret("kubernetes.io/basic-auth", {"username": "u", "password": "p"}, "https://user:Sesame@quay.io"),
        'has "…@quay.io" in its annotation',
        id="a login in the annotation",
    ),
    pytest.param(docker_config({"quay.io": {}}), 'has a login for "quay.io" with no password', id="an empty entry"),
    pytest.param(docker_config({"quay.io": {"username": "u"}}), "with no password", id="a user alone"),
    pytest.param(
        docker_config({"quay.io": {"auth": "Sesame!"}}), 'has an auth for "quay.io" that is no', id="no base64"
    ),
    pytest.param(
        docker_config({"quay.io": {"auth": "U2VzYW1l"}}),
        'has an auth for "quay.io" that is not user:password',
        id="no colon",
    ),
    pytest.param(
        docker_config({"quay.io": {"registrytoken": "Sesame\r\nA: b"}}), "a header cannot contain", id="two lines"
    ),
    pytest.param(
        secret("kubernetes.io/basic-auth", {"username": "u", "password": "Sesame"}),
        "does not name the hosts that it may be sent to: set the annotation olm.operatorframework.io/source-hosts on it",
        id="no annotation",
    ),
    pytest.param(
        secret("kubernetes.io/basic-auth", {"username": "u", "password": "Sesame"}, "https://git.example.com/x"),
        'has "https://git.example.com/x" in its annotation olm.operatorframework.io/source-hosts, which is not host',
        id="a URL in the annotation",
    ),
    pytest.param(
        secret("kubernetes.io/basic-auth", {"username": "u", "password": "Sesame"}, "*.example.com"),
        'has "*.example.com" in its annotation',
        id="a pattern in the annotation",
    ),
    pytest.param(secret("kubernetes.io/basic-auth", {"username": "u"}, HOSTS), "has no key password", id="no password"),
    pytest.param(
        secret("kubernetes.io/basic-auth", {"username": "u:v", "password": "Sesame"}, HOSTS),
        "has a colon",
        id="a colon",
    ),
    pytest.param(
        secret("kubernetes.io/ssh-auth", {"ssh-privatekey": "Sesame"}, HOSTS),
        "has no key ssh-knownhosts: give the lines that ssh-keyscan prints of the server, once you have compared them",
        id="no hosts",
    ),
    pytest.param(
        secret("kubernetes.io/ssh-auth", {"ssh-knownhosts": "git …"}, HOSTS),
        "has no key ssh-privatekey: give a private key without a passphrase, as ssh-keygen writes it",
        id="no private key",
    ),
    pytest.param(
        secret("Opaque", {"ssh-knownhosts": "git …"}, HOSTS),
        "has no key ssh-privatekey: give",
        id="no private key, and no type",
    ),
]


@pytest.mark.parametrize(("made", "words"), FAULTS)
def test_an_invalid_secret_is_named_with_what_is_missing(made: Mapping[str, Any], words: str) -> None:
    with pytest.raises(Blocked) as raised:
        credentials_of(made)
    assert raised.value.reason == "InvalidSecret"
    assert raised.value.message.startswith("Secret olm-suite-system/login ")
    assert words in raised.value.message
    assert "sesame" not in raised.value.message.lower()
    assert "U2VzYW1l" not in raised.value.message


@pytest.mark.parametrize(
    ("made", "plain"),
    [
        pytest.param(
            docker_config({"Sesame open": auth("u", "p")}),
            "Secret olm-suite-system/login names the registry …, which is not host[:port][/path]",
            id="the name of a registry",
        ),
        pytest.param(
            docker_config({"sesame.example": {"auth": "x"}}),
            "Secret olm-suite-system/login has an auth for … that is not user:password in base64",
            id="and that of a login",
        ),
        pytest.param(
            secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "{Sesame"}),
            "Secret olm-suite-system/login has invalid JSON at the key .dockerconfigjson",
            id="a message without a value",
        ),
    ],
)
def test_a_public_message_contains_nothing_of_an_invalid_secret(made: Mapping[str, Any], plain: str) -> None:
    with pytest.raises(BadSecret) as raised:
        credentials_of(made)
    assert raised.value.public_message == plain
    assert "esame" not in plain


def test_no_repr_contains_a_value() -> None:
    made = [
        passwords({"quay.io": "Sesame"}),
        credentials_of(docker_config({"quay.io": {"identitytoken": "Sesame"}})),
        credentials_of(docker_config({"quay.io": {"registrytoken": "Sesame"}})),
        credentials_of(
            secret("kubernetes.io/ssh-auth", {"ssh-privatekey": "Sesame", "ssh-knownhosts": "git …"}, HOSTS)
        ),
        credentials_of(secret("kubernetes.io/basic-auth", {"username": "u", "password": "Sesame"}, HOSTS)),
    ]
    for each in made:
        for shown in (repr(each), str(each), f"{each.layers}", f"{each.layers[0][0].value}"):
            assert "Sesame" not in shown
            assert "U2VzYW1l" not in shown
            assert "olm-suite-system/login" in shown, "the name of the Secret is no secret"
