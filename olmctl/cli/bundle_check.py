"""The commands of `olm bundle` that check bundles: `validate` and `scorecard`.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import (
    Directory,
    Duration,
    ObjectName,
    Pair,
    connection_options,
    file_path,
    image_options,
    output_option,
)
from olmctl.commands import SETTINGS, reports_errors


def _list_validators(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from olmctl.bundle.validate import list_validators

        ctx.exit(list_validators())


@click.command("validate", context_settings=SETTINGS)
@click.argument("bundles", type=Directory(), nargs=-1, required=True, metavar="DIRECTORY|IMAGE...")
@click.option(
    "--select-optional",
    metavar="SELECTOR",
    default="",
    help="Run the optional validators with these labels too, such as suite=operatorframework or name=multiarch.",
)
@click.option(
    "--optional-values",
    type=Pair(),
    metavar="KEY=VALUE",
    multiple=True,
    help="A value for optional validators: k8s-version, index-path or container-tools.",
)
@click.option(
    "--list-optional",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_validators,
    help="Print the optional validators and their labels.",
)
@click.option("--upstream", is_flag=True, help="Print only what `operator-sdk bundle validate` finds.")
@output_option("json", "sarif", "junit")
@image_options
@reports_errors
def validate(**given: Any) -> int:
    """Check bundles before they are released.

    Each DIRECTORY contains manifests/ and metadata/; an IMAGE is pulled with the logins of docker, podman or buildah. The rules
    are those of `operator-sdk bundle validate`, with its messages, and those of the suite beyond them. With -o json, each bundle
    is one line. The exit status is 0 if no bundle has an error, else 1; warnings do not count. A DIRECTORY that does not exist
    is wrong usage.
    """
    from olmctl.bundle.validate import validate as work

    return work(**given)


@click.command("scorecard", context_settings=SETTINGS)
@click.argument("bundle", type=Directory(), metavar="DIRECTORY|IMAGE")
@click.option(
    "-c",
    "--config",
    type=file_path(),
    metavar="FILE",
    help="The configuration.  [default: that of the bundle, else the built-in tests]",
)
@click.option(
    "-l", "--selector", default="", metavar="SELECTOR", help="Only tests with these labels, such as suite=olm."
)
@click.option("-L", "--list", "list_only", is_flag=True, help="Print the tests without running them.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(("text", "json", "xunit")),
    default="text",
    help="Output format.  [default: text]",
)
@click.option(
    "-n", "--namespace", type=ObjectName(), default="default", metavar="NS", help="The namespace of the pods."
)
@click.option(
    "-s",
    "--service-account",
    type=ObjectName(),
    default="default",
    metavar="NAME",
    help="The ServiceAccount of the pods, if the configuration has none.",
)
@click.option(
    "-w",
    "--wait-time",
    "seconds",
    type=Duration(),
    default="60s",
    help="The time for each test in a pod.  [default: 60s]",
)
@click.option("-x", "--skip-cleanup", is_flag=True, help="Keep the pods and ConfigMaps.")
@click.option(
    "-t",
    "--test-output",
    type=file_path(),
    metavar="DIR",
    help="Write the results, the log and the stored files of each test to DIR/SUITE/TEST.  [default: only stored files, to "
    "test-output]",
)
@click.option(
    "--storage-image",
    default="",
    metavar="IMAGE",
    help="The image of the container that packs the files which tests store: one with sh and tar. [default: that of the suite]",
)
@click.option(
    "--pod-security",
    type=click.Choice(("legacy", "restricted")),
    default="legacy",
    help="restricted: pods that a namespace with this profile takes, whose images do not run as root.  [default: legacy]",
)
@image_options
@connection_options
@reports_errors
def scorecard(**given: Any) -> int:
    """Run the tests of a bundle.

    The built-in tests of operator-sdk's scorecard run in this process and need no cluster. Tests of other images run as pods, in
    the stages of the configuration, with the bundle in /bundle. The exit status is 0 if all tests pass, also if the selector
    selects none, else 1.
    """
    from olmctl.bundle.scorecard import scorecard as work

    return work(**given)
