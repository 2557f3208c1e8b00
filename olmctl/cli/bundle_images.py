"""The commands `olm bundle build` and `olm bundle push`, which work without a cluster and without a container engine.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import Directory, image_options, image_output_options
from olmctl.commands import SETTINGS, reports_errors


@click.command("build", context_settings=SETTINGS)
@click.argument("directory", type=Directory(), metavar="DIRECTORY")
@image_output_options
@reports_errors
def build(**given: Any) -> int:
    """Build the image of the bundle in DIRECTORY.

    No container engine is needed: the image is one layer with manifests/, metadata/ and the tests, and its labels are the
    annotations of metadata/annotations.yaml. The same files make the same image. The path and the digest are printed.
    """
    from olmctl.bundle.build import build as work

    return work(**given)


@click.command("push", context_settings=SETTINGS)
@click.argument("path", type=Directory(), metavar="PATH")
@click.argument("references", nargs=-1, required=True, metavar="IMAGE...")
@image_options
@reports_errors
def push(**given: Any) -> int:
    """Push the bundle in PATH to registries.

    PATH is the directory of a bundle, or what `olm bundle build` wrote. Each IMAGE is a reference with a tag; one without
    a registry is pushed to docker.io. The logins of docker, podman and buildah are used, also those of credential helpers. The
    references by digest are printed.
    """
    from olmctl.bundle.push import push as work

    return work(**given)
