"""The commands of `olm bundle` that check bundles: `validate`.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import Directory, image_options, output_option
from olmctl.commands import SETTINGS, reports_errors


@click.command("validate", context_settings=SETTINGS)
@click.argument("bundles", type=Directory(), nargs=-1, required=True, metavar="DIRECTORY|IMAGE...")
@click.option("--upstream", is_flag=True, help="Print only what `operator-sdk bundle validate` finds.")
@output_option("json")
@image_options
@reports_errors
def validate(**given: Any) -> int:
    """Check bundles before they are released.

    Each DIRECTORY contains manifests/ and metadata/; an IMAGE is pulled with the logins of docker, podman or buildah. The rules
    are those of `operator-sdk bundle validate`, with its messages, and those of the suite beyond them. With -o json, each bundle
    is one line. The exit status is 0 if no bundle has an error, else 1; warnings do not count.
    """
    from olmctl.bundle.validate import validate as work

    return work(**given)
