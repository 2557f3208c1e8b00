"""The commands `olm catalog ...`, which work without a cluster.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import (
    GRAPH_FORMATS,
    Directory,
    documents_option,
    file_path,
    image_options,
    image_output_options,
)
from olmctl.commands import SETTINGS, reports_errors

MIGRATE_LEVELS = ("none", "bundle-object-to-csv-metadata")


@click.group("catalog", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def catalog() -> None:
    """Work with catalogs, without a cluster."""


@catalog.command("validate")
@click.argument("directory", metavar="DIR", type=Directory())
@click.option("-o", "--output", metavar="json|yaml", default="", help="Print the result in this format.")
@reports_errors
def validate(**given: Any) -> int:
    """Check the catalog in DIR as opm does.

    The exit status is 0 when the catalog is valid. Otherwise it is 1, and the errors are printed to standard error.
    Files that .indexignore excludes are not read.
    """
    from olmctl.catalog.validate import validate as run

    return run(**given)


@catalog.command("render")
@click.argument("references", metavar="REFERENCE...", nargs=-1, required=True, type=click.Path(readable=False))
@documents_option
@click.option("--migrate", is_flag=True, help=f"The same as --migrate-level {MIGRATE_LEVELS[-1]}.")
@click.option(
    "--migrate-level",
    type=click.Choice(MIGRATE_LEVELS),
    default=MIGRATE_LEVELS[0],
    help="Write olm.csv.metadata in place of the manifests of bundles.  [default: none]",
)
@click.option("--image", default="", help="The image of a bundle whose directory is given.")
@click.option("--package", default="", help="The package of a plain bundle.")
@click.option("--version", default="", help="The version of a plain bundle.")
@click.option("--name", default="", help="The name of a plain bundle.  [default: PACKAGE.vVERSION]")
@image_options
@reports_errors
def render(**given: Any) -> int:
    """Print the blobs of catalogs and bundles.

    They are ordered by package. REFERENCE is a catalog's directory, a bundle's directory (with manifests/ and metadata/, or with
    manifests/ alone for a plain bundle), or an image of either. Nothing is printed unless all references can be rendered.
    """
    from olmctl.catalog.render import render as run

    return run(**given)


@catalog.command("render-template")
@click.argument("arguments", metavar="[basic|semver] [FILE]", nargs=-1, type=click.Path(readable=False))
@documents_option
@click.option(
    "--migrate-level",
    type=click.Choice(MIGRATE_LEVELS),
    default=MIGRATE_LEVELS[0],
    help="Write olm.csv.metadata in place of the manifests of bundles.  [default: none]",
)
@image_options
@reports_errors
def render_template(**given: Any) -> int:
    """Print the catalog that a template makes.

    FILE is a template of the schema olm.template.basic or olm.semver; without it, or with -, it is standard input. The images of
    bundles that it names are pulled. Nothing is printed unless all of them can be rendered.
    """
    from olmctl.catalog.render_template import render_template as run

    return run(**given)


@catalog.command("init")
@click.argument("name")
@click.option(
    "-c", "--default-channel", metavar="CHANNEL", default="", help="The channel for Operators that do not name one."
)
@click.option(
    "-d", "--description", metavar="FILE", type=file_path(), help="A Markdown file that describes the package."
)
@click.option("-i", "--icon", metavar="FILE", type=file_path(), help="An image file: PNG, SVG, JPEG ...")
@documents_option
@reports_errors
def init(**given: Any) -> int:
    """Print the olm.package blob of package NAME.

    Save it as a file in the catalog's directory.
    """
    from olmctl.catalog.init import init as run

    return run(**given)


@catalog.group("generate", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def generate() -> None:
    """Generate the files for a catalog image."""


@generate.command("dockerfile")
@click.argument("directory", metavar="DIR", type=Directory())
@click.option(
    "-i", "--binary-image", metavar="IMAGE", default="scratch", help="The base image.  [default: scratch, an empty one]"
)
@reports_errors
def dockerfile(**given: Any) -> int:
    """Write DIR.Dockerfile next to DIR.

    Build it with the directory that contains both as the context.
    """
    from olmctl.catalog.generate import dockerfile as run

    return run(**given)


@catalog.command("add")
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True, type=click.Path(readable=False))
@click.option(
    "--catalog",
    metavar="DIR",
    type=file_path(),
    help="The directory of the catalog.  [default: catalog]",
)
@click.option("--image", default="", help="The image of a bundle whose directory is given.")
@click.option(
    "-c",
    "--channel",
    "channels",
    metavar="CHANNEL",
    multiple=True,
    help="The channel. May be repeated.  [default: those of the bundle's annotations]",
)
@click.option(
    "--replaces",
    metavar="NAME",
    help='The bundle that it replaces; "" for none.  [default: that of the ClusterServiceVersion, else the head of the channel]',
)
@click.option(
    "--skips",
    metavar="NAME",
    multiple=True,
    help="A bundle that it skips. May be repeated.  [default: those of the ClusterServiceVersion]",
)
@click.option(
    "--skip-range",
    metavar="RANGE",
    help="The versions that are upgraded to it directly.  [default: the annotation olm.skipRange]",
)
@click.option(
    "--default-channel",
    metavar="CHANNEL",
    help="The default channel of a new package.  [default: that of the bundle's annotations]",
)
@click.option("--overwrite", is_flag=True, help="Replace a bundle, or its edges, that the catalog has already.")
@click.option(
    "--template",
    metavar="FILE",
    type=file_path(),
    help="Add to this template, olm.template.basic or olm.semver, instead of a catalog.",
)
@click.option("--push", metavar="IMAGE", multiple=True, help="Push the catalog to this image. May be repeated.")
@image_options
@reports_errors
def add(**given: Any) -> int:
    """Add bundles to the catalog in a directory.

    BUNDLE is an image, or the directory of a bundle, whose image --image names. The image is written by its digest. Each channel
    gets an entry, and everything else in the files stays as it is, comments included. Nothing is written that opm would
    refuse, or if the catalog has the bundle already. With --template the bundle is added to the file of a template, from which
    `olm catalog render-template` renders the catalog.
    """
    from olmctl.catalog.add import add as run

    return run(**given)


@catalog.command("build")
@click.argument("directory", metavar="DIR", type=Directory())
@image_output_options
@reports_errors
def build(**given: Any) -> int:
    """Build the image of the catalog in DIR.

    The catalog is checked as by `olm catalog validate`. No container engine is needed: the image is one layer with the files of
    the catalog, without those that .indexignore excludes. The same files make the same image. The path and the digest are
    printed.
    """
    from olmctl.catalog.build import build as run

    return run(**given)


@catalog.command("push")
@click.argument("path", metavar="PATH", type=Directory())
@click.argument("references", nargs=-1, required=True, metavar="IMAGE...")
@image_options
@reports_errors
def push(**given: Any) -> int:
    """Push the catalog in PATH to registries.

    PATH is the directory of a catalog, or what `olm catalog build` wrote. Each IMAGE is a reference with a tag; one
    without a registry is pushed to docker.io. The logins of docker, podman and buildah are used, also those of credential
    helpers. The references by digest are printed.
    """
    from olmctl.catalog.push import push as run

    return run(**given)


@catalog.command("graph")
@click.argument("directory", metavar="DIR", type=Directory())
@click.option("--package", metavar="P", required=True, help="The package.")
@click.option("--channel", metavar="C", help="Only this channel.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(GRAPH_FORMATS),
    default="mermaid",
    help="The format: for Mermaid, or for people.  [default: mermaid]",
)
@reports_errors
def graph(**given: Any) -> int:
    """Print the upgrade graph of a package.

    The graph shows which bundle of the catalog in DIR can be upgraded to which, and why. Files that .indexignore excludes
    are not read.
    """
    from olmctl.catalog.graph import graph as run

    return run(**given)
