"""The patterns of sources on the real API server, because Go's regular expressions differ from Python's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError

GIT = "https://git.example/x"
BRANCH = {"branch": "main"}
CHECKSUM = "sha256:" + "a" * 64


def git(repository: str = GIT, ref: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "git", "git": {"repository": repository, "ref": ref or BRANCH, **more}}


def http(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "http", "http": {"url": url, **more}}


def maps(*names: str, path: str | None = None) -> dict[str, Any]:
    found = [{"configMap": {"name": name}} | ({"path": path} if path is not None else {}) for name in names]
    return {"type": "configMaps", "configMaps": found}


GOOD = [
    git(),
    git("http://10.0.0.1:3000/a/b.git"),
    git("https://[fd00::1]:8443/x", {"tag": "v1.0.0"}),
    git("ssh://git.example/x", {"commit": "a" * 40}),
    git("ssh://me@git.example:2222/~me/x", {"commit": "a" * 64}),
    git("git@git.example:team/x.git", {"branch": "feature/ä_1"}),
    git(directory="./a/b.c/..d/"),
    git(directory="."),
    git(auth={"secret": {"name": "login"}, "insecureSkipVerify": True}),
    http("https://files.example/x.tar.gz?y=z"),
    http("http://files.example:8080/", checksum=CHECKSUM),
    maps("a", "b.c"),
    maps("a", path="deep/er"),
]
BAD = {
    "a program": (git("ext::sh -c x"), "must be https://host/path"),
    "a file": (git("file:///x"), "must be https://host/path"),
    "git's own port": (git("git://git.example/x"), "must be https://host/path"),
    "a password": (git("https://u:p@git.example/x"), "belong in the Secret"),
    "a password for ssh": (git("ssh://u:p@git.example/x"), "belong in the Secret"),
    "a query": (git("https://git.example/x?y"), "must be https://host/path"),
    "no path": (git("https://git.example/"), "must be https://host/path"),
    "a line break": (git("https://git.example/x\n"), "must be https://host/path"),
    "an option for a host": (git("ssh://-oProxyCommand=x/y"), "must be https://host/path"),
    "an option for a path": (git("git@git.example:-x"), "must be https://host/path"),
    "no ref": (git(ref={"commit": ""}), "must be all 40 or 64 lower-case hex digits"),
    "two refs": (git(ref={"branch": "a", "commit": "a" * 40}), "exactly one of branch, tag and commit"),
    "a short commit": (git(ref={"commit": "a" * 39}), "must be all 40 or 64 lower-case hex digits"),
    "an option for a branch": (git(ref={"branch": "--upload-pack=x"}), "a name that git allows"),
    "a branch with two dots": (git(ref={"branch": "a..b"}), "a name that git allows"),
    "a tag with a space": (git(ref={"tag": "a b"}), "a name that git allows"),
    "a branch that ends in .lock": (git(ref={"branch": "a.lock"}), "a name that git allows"),
    "a directory above": (git(directory="a/../../b"), "must be a relative path"),
    "a directory from the root": (git(directory="/a"), "must be a relative path"),
    "an archive in a file": (http("file:///x"), "must be https://host/path"),
    "an archive with a password": (http("https://u:p@files.example/x"), "belong in the Secret"),
    "a checksum in upper case": (http("https://files.example/x", checksum=CHECKSUM.upper()), "must be sha256:"),
    "a ConfigMap twice": (maps("a", "b", "a"), "a ConfigMap may be named once only"),
    "no ConfigMaps": ({"type": "configMaps", "configMaps": []}, "configMaps"),
    "a path above": (maps("a", path=".."), "must be a relative path"),
    "two sources": (git() | {"http": {"url": "https://h/x"}}, "source.http must be set for source type http"),
    "another source than the type": ({"type": "git", "http": {"url": "https://h/x"}}, "source.git must be set"),
}


def catalog(source: dict[str, Any]) -> str:
    return json.dumps(
        {
            "apiVersion": "catalogd.operatorframework.io/v1alpha1",
            "kind": "Catalog",
            "metadata": {"name": "schema-of-sources"},
            "spec": {"source": source},
        }
    )


def test_sources_that_are_accepted(definitions: Cluster) -> None:
    for source in GOOD:
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=catalog(source))


@pytest.mark.parametrize("case", BAD)
def test_sources_that_are_refused(definitions: Cluster, case: str) -> None:
    source, words = BAD[case]
    with pytest.raises(DevclusterError) as raised:
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=catalog(source))
    assert words in str(raised.value)
