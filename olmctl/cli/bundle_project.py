"""The commands `olm bundle init` and `olm bundle generate`, for the project of an operator.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from olmctl.cli.options import Directory, image_options
from olmctl.commands import SETTINGS, reports_errors

KUSTOMIZE_DIR = "config/manifests"
Command = TypeVar("Command", bound=Callable[..., Any])


def switch(*names: str, default: bool = False, help: str, hidden: bool = False) -> Callable[[Command], Command]:
    """A flag of operator-sdk: `--flag`, `--flag=true` or `--flag=false`."""
    return click.option(
        *names, type=click.BOOL, is_flag=False, flag_value="true", default=default, metavar="", help=help, hidden=hidden
    )


class Names(click.ParamType[tuple[str, ...]]):
    """A comma-separated list of names."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names."""
        return (
            value
            if isinstance(value, tuple)
            else tuple(name for each in str(value).split(",") if (name := each.strip()))
        )


@click.command("init", context_settings=SETTINGS)
@click.option("--package", metavar="NAME", default="", help="The package.  [default: projectName of ./PROJECT]")
@click.option("--display-name", metavar="TEXT", help="The name of the operator for people.")
@click.option("--description", metavar="TEXT", help="What the operator does. Markdown.")
@click.option("--provider", metavar="NAME", help="Who provides the operator.")
@click.option("--provider-url", metavar="URL", help="A page of the provider.")
@click.option("--keywords", metavar="A,B", help="Words by which the operator is found.")
@click.option("--maintainers", metavar="NAME:EMAIL,...", help="Who maintains the operator.")
@click.option(
    "--kustomize-dir",
    type=Directory(),
    default=KUSTOMIZE_DIR,
    metavar="DIR",
    help=f"Where the base is written, below bases/.  [default: {KUSTOMIZE_DIR}]",
)
@reports_errors
def init(**given: Any) -> int:
    """Write the base of a project's bundles.

    The base is a ClusterServiceVersion with the texts that only people know: what the operator is, who provides and who
    maintains it. What neither an option nor the base says is asked on a terminal; elsewhere the missing options are named. A
    question is never asked again: the answers are in the base, which you can edit.
    """
    from olmctl.project.init import init as run

    return run(**given)


@click.command("generate", context_settings=SETTINGS)
@click.option("--package", metavar="NAME", default="", help="The package.  [default: projectName of ./PROJECT]")
@click.option("-v", "--version", metavar="VERSION", default="", help="The version.  [default: that of the base]")
@click.option(
    "--input-dir",
    type=Directory(),
    metavar="DIR",
    default="",
    help="A directory of manifests, or a kustomization.  [default: standard input, else the kustomization in --kustomize-dir]",
)
@click.option("--deploy-dir", type=Directory(), metavar="DIR", default="", hidden=True)
@click.option("--crds-dir", type=Directory(), metavar="DIR", default="", hidden=True)
@click.option("--output-dir", type=Directory(), metavar="DIR", default="", help="The bundle.  [default: bundle]")
@click.option(
    "--kustomize-dir",
    type=Directory(),
    metavar="DIR",
    default=KUSTOMIZE_DIR,
    help=f"Where the base is, below bases/.  [default: {KUSTOMIZE_DIR}]",
)
@click.option("--channels", metavar="A,B", default="", help="The channels of the bundle.  [default: alpha]")
@click.option("--default-channel", metavar="CHANNEL", default="", help="The default channel of the package.")
@click.option(
    "--extra-service-accounts",
    type=Names(),
    metavar="A,B",
    default=(),
    help="Accounts of no Deployment whose roles are part of the ClusterServiceVersion too.",
)
@switch("--manifests", help="Only generate the manifests.")
@switch("--metadata", help="Only generate annotations.yaml and bundle.Dockerfile.")
@switch(
    "--overwrite", default=True, help="With --overwrite=false, annotations.yaml and bundle.Dockerfile stay as they are."
)
@switch("--stdout", help="Print the manifests instead of writing them.")
@switch("-q", "--quiet", help="Print neither warnings nor the files that are written.")
@switch(
    "--pin",
    "--use-image-digests",
    "pin",
    help="Write images with the digests that their registries have, and list all of them in relatedImages.",
)
@switch("--related-images", help="List the images of all containers in relatedImages.")
@click.option(
    "--min-kube-version",
    metavar="auto|VERSION",
    default="",
    help="minKubeVersion; auto: the lowest one that serves the APIs that are used.  [default: that of the base]",
)
@click.option(
    "--apis-dir",
    type=Directory(),
    metavar="DIR",
    default="",
    help="The Go types of the custom resources, whose comments and markers describe them.  [default: api or apis, if there is "
    "one]",
)
@click.option(
    "--catalog",
    metavar="DIR|IMAGE|URL",
    default="",
    help="Work out replaces and skips from this catalog.  [default: those of the base]",
)
@image_options
@reports_errors
def generate(**given: Any) -> int:
    """Generate the bundle of a project.

    `kustomize build config/manifests | olm bundle generate --version 0.1.0` writes bundle/ and bundle.Dockerfile, as operator-sdk
    does. A second run with the same input writes nothing. What is not part of the bundle is named, and input that cannot be
    used is refused with its file and line, before anything is written.
    """
    from olmctl.project.generate import generate as run

    return run(**given)
