"""The content that sources resolve to: its digest and its name, how it is pinned, and which results of jobs are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.errors import Blocked
from olmkit.sources.resolved_source import (
    check_job_result,
    content_digest,
    content_name,
    pinned,
    resolved_archive,
    resolved_files,
    resolved_git,
    resolved_image,
)
from olmkit.sources.source import (
    ConfigMapsSource,
    GitReference,
    GitSource,
    HttpSource,
    ImageSource,
    RefKind,
    Source,
)

DIGEST, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
COMMIT, OTHER_COMMIT = "c" * 40, "d" * 40
REPOSITORY = "https://git.example/combo.git"
IMAGE = ImageSource("r.example/a:v1")
GIT = GitSource(REPOSITORY, GitReference(RefKind.BRANCH, "main"), "dev/bundle")
ARCHIVE = HttpSource("https://files.example/a.tgz?token=x")
FILES = ConfigMapsSource((("manifests/a.yaml", b"a"),))
RESOLVED: list[tuple[Source, dict[str, Any]]] = [
    (IMAGE, resolved_image(f"r.example/a@{DIGEST}")),
    (GIT, resolved_git(GIT, COMMIT)),
    (ARCHIVE, resolved_archive(ARCHIVE, DIGEST)),
    (FILES, resolved_files(FILES)),
]


def test_the_digest_of_content_names_its_image_its_commit_its_archive_or_its_files() -> None:
    digests = [content_digest(resolved) for _, resolved in RESOLVED]
    assert digests[0] == DIGEST
    assert len({*digests, content_digest({"type": "git", "git": {"repository": REPOSITORY, "commit": COMMIT}})}) == 5
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in digests)


@pytest.mark.parametrize("resolved", [{}, {"type": "image"}, {"type": "git", "git": {"commit": COMMIT}}, {"type": "x"}])
def test_what_names_no_content_has_no_digest_and_no_name(resolved: dict[str, Any]) -> None:
    assert (content_digest(resolved), content_name(resolved)) == ("", "")


def test_the_same_directory_is_the_same_content_however_it_is_written() -> None:
    one, other = ({"repository": REPOSITORY, "commit": COMMIT, "directory": path} for path in ("a/b", "./a//b/"))
    assert content_digest({"type": "git", "git": one}) == content_digest({"type": "git", "git": other})


def test_the_names_of_content_have_no_secrets() -> None:
    assert [content_name(resolved) for _, resolved in RESOLVED] == [
        f"r.example/a@{DIGEST}",
        f"{REPOSITORY}@{COMMIT}:dev/bundle",
        f"https://files.example/a.tgz@{DIGEST}",
        f"configMaps@{content_digest(resolved_files(FILES))}",
    ]


@pytest.mark.parametrize(("source", "resolved"), RESOLVED)
def test_a_result_of_a_job_is_accepted_for_its_source_and_for_what_is_pinned(
    source: Source, resolved: dict[str, Any]
) -> None:
    digest = content_digest(resolved)
    check_job_result(source, resolved, digest)
    check_job_result(pinned(source, resolved), resolved, digest)
    for wrong in (OTHER, "", "../../x", 7):
        with pytest.raises(ValueError, match="the job was started for"):
            check_job_result(source, resolved, wrong)


@pytest.mark.parametrize(
    ("source", "resolved"),
    [
        pytest.param(IMAGE, resolved_image(f"other.example/a@{DIGEST}"), id="another image"),
        pytest.param(ImageSource(f"r.example/a@{OTHER}"), resolved_image(f"r.example/a@{DIGEST}"), id="another digest"),
        pytest.param(
            GIT, resolved_git(GitSource("https://x.example/r", GIT.reference, GIT.directory), COMMIT), id="a repository"
        ),
        pytest.param(GIT, resolved_git(GitSource(REPOSITORY, GIT.reference), COMMIT), id="another directory"),
        pytest.param(GIT, resolved_git(GIT, "main"), id="a commit that is none"),
        pytest.param(
            pinned(GIT, resolved_git(GIT, OTHER_COMMIT)), resolved_git(GIT, COMMIT), id="another commit than the pin"
        ),
        pytest.param(ARCHIVE, resolved_archive(HttpSource("https://x.example/a.tgz"), DIGEST), id="another URL"),
        pytest.param(
            pinned(ARCHIVE, resolved_archive(ARCHIVE, OTHER)), resolved_archive(ARCHIVE, DIGEST), id="another archive"
        ),
        pytest.param(FILES, resolved_files(ConfigMapsSource((("a", b"b"),))), id="other files"),
        pytest.param(GIT, resolved_image(f"r.example/a@{DIGEST}"), id="another type"),
        pytest.param(IMAGE, {**resolved_image(f"r.example/a@{DIGEST}"), "more": 1}, id="more than the value has"),
        pytest.param(IMAGE, {}, id="nothing"),
    ],
)
def test_a_result_for_other_content_is_not_accepted(source: Source, resolved: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the job was started for"):
        check_job_result(source, resolved, content_digest(resolved) or DIGEST)


def test_other_files_are_never_taken_for_those_that_were_resolved() -> None:
    assert pinned(FILES, resolved_files(FILES)) == FILES
    other = ConfigMapsSource((("manifests/a.yaml", b"b"),))
    with pytest.raises(Blocked) as raised:
        pinned(other, resolved_files(FILES))
    found, expected = (content_digest(resolved_files(each)) for each in (other, FILES))
    assert raised.value.reason == "DigestMismatch"
    assert raised.value.message == (
        f"the files of the configmaps are {found}, and {expected} is expected: create ConfigMaps with those files under other"
        " names, and name them in the BundleDeployment"
    )


def test_content_of_another_type_pins_nothing() -> None:
    for source, _ in RESOLVED:
        others = [known for other, known in RESOLVED if other is not source]
        assert all(pinned(source, known) == source for known in [*others, {}])
    assert pinned(GIT, resolved_git(GIT, COMMIT)) == GitSource(
        REPOSITORY, GitReference(RefKind.COMMIT, COMMIT), "dev/bundle"
    )
