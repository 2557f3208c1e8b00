"""The next step for a Bundle, and the evaluation for its status."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundles import RESOLVED_SOURCE_ANNOTATION
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.resolved_source import resolved_image
from olmkit.sources.source import GitReference, GitSource, HttpSource, ImageSource, RefKind, UploadSource
from rukpak.bundle.decide import decide
from rukpak.bundle.world import AwaitUpload, Evaluation, Keep, Plan, Release, Unpack, World
from tests.unit.rukpak.bundle import worlds
from tests.unit.rukpak.bundle.worlds import (
    COMMIT,
    DIGEST,
    NOT_FOUND,
    NOW,
    OTHER_ARCHIVE,
    RECORDED,
    REPOSITORY,
    RESOLVED_COMMIT,
    RESOLVED_FILES,
    RESOLVED_UPLOAD,
    TAG,
    UNREADABLE,
    failed,
    finished,
    found_commit,
    of_git,
    of_maps,
    of_upload,
    resolved_as,
    running,
    with_source,
    with_spec,
    world,
)

GIT = {"repository": REPOSITORY, "ref": {"tag": "v0.0.2"}}
AT_TAG = GitSource(REPOSITORY, GitReference(RefKind.TAG, "v0.0.2"))
AT_COMMIT = GitSource(REPOSITORY, GitReference(RefKind.COMMIT, COMMIT))
PINNED = json.dumps(RESOLVED_COMMIT)
URL, ARCHIVE = "https://files.example.com/a.tgz", "sha256:" + "a" * 64
RESOLVED_ARCHIVE = {"type": "http", "http": {"url": URL, "digest": ARCHIVE}}

OWNER = {
    **{"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "name": "one", "uid": "d"},
    "controller": True,
}


@pytest.mark.parametrize(
    ("seen", "plan"),
    [
        pytest.param(world(), Unpack(ImageSource(TAG), "registry+v1"), id="a new Bundle is unpacked from its image"),
        pytest.param(
            with_spec(world(), provisionerClassName="core-rukpak-io-plain"),
            Unpack(ImageSource(TAG), "plain+v0"),
            id="the content type is that of its provisioner class",
        ),
        pytest.param(world(job=running("x")), Unpack(ImageSource(TAG), "registry+v1"), id="a running job is kept"),
        pytest.param(
            world(job=failed(NOT_FOUND), monotonic=5.0),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="a temporary failure is retried when it is due",
        ),
        pytest.param(
            world(resolved=DIGEST),
            Unpack(ImageSource(DIGEST), "registry+v1"),
            id="missing content is fetched by its digest",
        ),
        pytest.param(
            world(resolved=DIGEST, observed=0),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="a digest of another spec does not count",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED, recorded=DIGEST),
            Unpack(ImageSource(DIGEST), "registry+v1"),
            id="a recreated Bundle has its digest",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="a digest that the BundleDeployment does not record does not count",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED, recorded=DIGEST[:-1] + "2"),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="a digest that differs from the record does not count",
        ),
        pytest.param(
            world(observed=0, recorded=DIGEST),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="a Bundle that was not recreated resolves its tag",
        ),
        pytest.param(
            world(observed=0, annotations=RECORDED, recorded=DIGEST, generation=2),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="the digest it was recreated with does not count for another spec",
        ),
        pytest.param(world(resolved=DIGEST, stored_type="registry+v1"), Keep(), id="stored content is kept"),
        pytest.param(
            world(job=finished(DIGEST), stored_type="registry+v1"), Keep(), id="content that was just published"
        ),
        pytest.param(
            world(job=finished(DIGEST), stored_type="plain+v0"),
            Unpack(ImageSource(TAG), "registry+v1", restart=True, replaceable="sha256:" + "1" * 64),
            id="content of a deleted Bundle is replaced",
        ),
        pytest.param(
            world(job=finished(DIGEST)),
            Unpack(ImageSource(TAG), "registry+v1", restart=True),
            id="content that was published and is missing is unpacked again",
        ),
        pytest.param(
            world(job=finished(DIGEST), resolved=DIGEST),
            Unpack(ImageSource(DIGEST), "registry+v1", restart=True),
            id="content that is missing after the status named it is unpacked by its digest",
        ),
        pytest.param(
            world(pull_secret="login", secret_version="7"),
            Unpack(ImageSource(TAG), "registry+v1"),
            id="an image with a Secret that exists",
        ),
        pytest.param(
            world(pull_secret="login", resolved=DIGEST, stored_type="registry+v1"),
            Keep(),
            id="stored content needs no Secret",
        ),
        pytest.param(of_git(), Unpack(AT_TAG, "registry+v1"), id="a tag of a git repository"),
        pytest.param(
            resolved_as(of_git(), RESOLVED_COMMIT),
            Unpack(AT_COMMIT, "registry+v1"),
            id="missing content of a repository is fetched by its commit",
        ),
        pytest.param(
            replace(
                of_git(observed=0, annotations={RESOLVED_SOURCE_ANNOTATION: PINNED}),
                recorded=frozenset({(RESOLVED_SOURCE_ANNOTATION, PINNED)}),
            ),
            Unpack(AT_COMMIT, "registry+v1"),
            id="a recreated Bundle has its commit",
        ),
        pytest.param(
            of_git(observed=0, annotations={RESOLVED_SOURCE_ANNOTATION: PINNED}),
            Unpack(AT_TAG, "registry+v1"),
            id="a commit that the BundleDeployment does not record does not count",
        ),
        pytest.param(
            resolved_as(of_git(stored_type="registry+v1"), RESOLVED_COMMIT), Keep(), id="a stored commit is kept"
        ),
        pytest.param(
            with_source(world(), {"type": "http", "http": {"url": URL}}),
            Unpack(HttpSource(URL), "registry+v1"),
            id="an archive",
        ),
        pytest.param(
            resolved_as(with_source(world(), {"type": "http", "http": {"url": URL}}), RESOLVED_ARCHIVE),
            Unpack(HttpSource(URL, ARCHIVE), "registry+v1"),
            id="a missing archive is fetched again if it has the digest",
        ),
        pytest.param(
            with_source(world(), {"type": "http", "http": {"url": URL, "digest": ARCHIVE}}),
            Unpack(HttpSource(URL, ARCHIVE), "registry+v1"),
            id="an archive with a digest in the spec",
        ),
        pytest.param(of_maps(), Unpack(None, "registry+v1"), id="ConfigMaps, whose files are read when the job starts"),
        pytest.param(
            resolved_as(of_maps(), RESOLVED_FILES),
            Unpack(None, "registry+v1"),
            id="missing files of ConfigMaps are read again",
        ),
        pytest.param(
            resolved_as(of_maps(stored_type="registry+v1", versions={"a": None, "b": "3"}), RESOLVED_FILES),
            Keep(),
            id="stored content needs no ConfigMap",
        ),
        pytest.param(World("a", NOW), Release(), id="the content of a deleted Bundle is released"),
        pytest.param(world(deletionTimestamp="2026-01-01T00:00:00Z"), Keep(), id="nothing is started during deletion"),
    ],
)
def test_plan(seen: World, plan: Plan) -> None:
    assert decide(seen).plan == plan


@pytest.mark.parametrize(
    ("seen", "kind", "words"),
    [
        pytest.param(world(job=finished(DIGEST, "no CSV")), Blocked, "no CSV", id="invalid content"),
        pytest.param(
            world(job=failed(Blocked("X", "bad reference"))), Blocked, "bad reference", id="an invalid reference"
        ),
        pytest.param(
            with_spec(world(), provisionerClassName="helm"),
            Blocked,
            'provisioner class "helm" does not exist: set',
            id="a class that does not exist",
        ),
        pytest.param(
            with_spec(world(), source={"type": "image"}),
            Blocked,
            'bundle.spec.source.image must be set for source type "image"',
            id="no image",
        ),
        pytest.param(
            with_source(world(), {"type": "git"}),
            Blocked,
            'bundle.spec.source.git must be set for source type "git"',
            id="no repository",
        ),
        pytest.param(
            with_source(world(), {"type": "image", "image": {"ref": TAG}, "git": GIT}),
            Blocked,
            'bundle.spec.source.git must not be set for source type "image"',
            id="two sources",
        ),
        pytest.param(
            with_source(world(), {"type": "git", "git": {**GIT, "directory": "../x"}}),
            Blocked,
            'bundle.spec.source.git.directory begins with "../": directory must define path within the repository',
            id="a directory outside the repository",
        ),
        pytest.param(
            with_source(world(), {"type": "git", "git": {**GIT, "directory": "a/../../x"}}),
            Blocked,
            'directory "a/../../x" is not a path within the content: it must be relative, without .. and without empty parts',
            id="a directory that leads outside the repository",
        ),
        pytest.param(
            with_source(world(), {"type": "git", "git": {**GIT, "auth": {"secret": {"name": "login"}}}}),
            Blocked,
            'Secret "login" not found in namespace "the-suite": create it there, or name another one',
            id="a missing Secret of a repository",
        ),
        pytest.param(
            of_maps(versions={"a": "1", "b": None}),
            Blocked,
            'ConfigMap "b" not found in namespace "the-suite": create it there',
            id="a missing ConfigMap",
        ),
        pytest.param(
            of_maps(versions={"a": None, "b": None}),
            Blocked,
            'ConfigMaps "a", "b" not found in namespace "the-suite": create them there',
            id="two missing ConfigMaps",
        ),
        pytest.param(
            with_source(world(), {"type": "configMaps", "configMaps": []}),
            Blocked,
            'bundle.spec.source.configmaps must be set for source type "configmaps"',
            id="no ConfigMaps",
        ),
        pytest.param(
            of_maps(path="../x"),
            Blocked,
            '[bundle.spec.source.configmaps[0].path is invalid: "../x" is outside bundle root, '
            'bundle.spec.source.configmaps[1].path is invalid: "../x" is outside bundle root]',
            id="paths outside the content",
        ),
        pytest.param(
            of_maps(path="a/../x"),
            Blocked,
            'path "a/../x" is not a path within the content: it must be relative, without .. and without empty parts',
            id="a path with ..",
        ),
        pytest.param(
            of_maps(conflicting="b"),
            Waiting,
            "Bundle b has the same set of files unpacked by another provisioner: one set of files is either registry+v1",
            id="another Bundle has the files of the ConfigMaps",
        ),
        pytest.param(of_git(job=found_commit("no CSV")), Blocked, "no CSV", id="invalid content of a commit"),
        pytest.param(
            of_git(conflicting="b"),
            Waiting,
            "Bundle b has the same commit unpacked by another provisioner: one commit is either registry+v1, "
            "plain+v0 or a Helm chart. ",
            id="another Bundle has the content of the commit",
        ),
        pytest.param(
            world(conflicting="b"),
            Waiting,
            "Bundle b has the same image unpacked by another provisioner: one image is either registry+v1, plain+v0 or "
            "a Helm chart. "
            "Set spec.provisionerClassName as there, or delete b",
            id="another Bundle has the content",
        ),
        pytest.param(
            world(conflicting="b", conflicting_deployment="two", ownerReferences=[OWNER]),
            Waiting,
            "Set spec.template.spec.provisionerClassName of BundleDeployment one as there, or delete BundleDeployment two",
            id="the Bundle of another BundleDeployment has the content",
        ),
        pytest.param(
            world(pull_secret="login"),
            Blocked,
            'Secret "login" not found in namespace "the-suite": create it there, or name another one',
            id="a missing Secret",
        ),
        pytest.param(
            world(resolved=DIGEST, unreadable=UNREADABLE),
            Waiting,
            "cannot be read now (Too many open files)",
            id="content is not fetched while the store cannot be read",
        ),
    ],
)
def test_blocked_and_waiting(seen: World, kind: type[OlmError], words: str) -> None:
    error = decide(seen).plan
    assert isinstance(error, kind)
    assert error.reason == "UnpackFailed"
    assert words in error.message


@pytest.mark.parametrize(
    ("monotonic", "after"),
    [pytest.param(0.0, 5.0, id="at its end"), pytest.param(4.0, 1.0, id="shortly before the next attempt")],
)
def test_a_failure_waits_until_its_retry_is_due(monotonic: float, after: float) -> None:
    error = decide(world(job=failed(NOT_FOUND), monotonic=monotonic)).plan
    assert isinstance(error, Waiting)
    assert (error.message, error.after) == (NOT_FOUND.message, timedelta(seconds=after))


@pytest.mark.parametrize(
    ("seen", "evaluation"),
    [
        pytest.param(world(), Evaluation({}), id="nothing is resolved at first"),
        pytest.param(world(resolved=DIGEST), Evaluation(resolved_image(DIGEST)), id="the first digest"),
        pytest.param(
            world(job=finished(), stored_type="registry+v1"),
            Evaluation(resolved_image(DIGEST)),
            id="the digest of the job",
        ),
        pytest.param(
            world(job=finished(problem="bad")), Evaluation(resolved_image(DIGEST)), id="also of invalid content"
        ),
        pytest.param(world(job=finished()), Evaluation({}), id="not of missing content"),
        pytest.param(
            world(job=finished(), unreadable=UNREADABLE),
            Evaluation(resolved_image(DIGEST)),
            id="but while the store cannot be read",
        ),
    ],
)
def test_evaluation(seen: World, evaluation: Evaluation) -> None:
    assert decide(seen).evaluation == evaluation


UPLOADED = worlds.ARCHIVE
UNPACK_UPLOAD = Unpack(UploadSource(UPLOADED), "registry+v1")


@pytest.mark.parametrize(
    ("seen", "plan"),
    [
        pytest.param(of_upload(UPLOADED), AwaitUpload(), id="an archive that is not stored is awaited"),
        pytest.param(of_upload(), AwaitUpload(), id="so is any archive"),
        pytest.param(of_upload(UPLOADED, UPLOADED), UNPACK_UPLOAD, id="the archive that the spec names is unpacked"),
        pytest.param(of_upload(UPLOADED, OTHER_ARCHIVE), AwaitUpload(), id="another archive does not count"),
        pytest.param(of_upload("", UPLOADED), UNPACK_UPLOAD, id="without a digest, the archive that is stored counts"),
        pytest.param(
            resolved_as(of_upload("", OTHER_ARCHIVE), RESOLVED_UPLOAD),
            AwaitUpload(),
            id="but not in the place of the one that was resolved first",
        ),
        pytest.param(
            resolved_as(of_upload("", UPLOADED), RESOLVED_UPLOAD),
            UNPACK_UPLOAD,
            id="lost content is read from the upload",
        ),
        pytest.param(
            resolved_as(of_upload(UPLOADED, stored_type="registry+v1"), RESOLVED_UPLOAD),
            Keep(),
            id="content that is unpacked needs no upload",
        ),
    ],
)
def test_uploads(seen: World, plan: Plan) -> None:
    assert decide(seen).plan == plan


def test_an_upload_that_is_stored_again_is_read_again() -> None:
    seen = of_upload("", UPLOADED)
    assert seen.stored_upload is not None
    again = replace(seen, stored_upload=replace(seen.stored_upload, uid="another"))
    assert seen.identity != again.identity
    assert of_upload("").identity != seen.identity
