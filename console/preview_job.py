"""The function of the process that previews are made in: resolves one package as `olm resolve` does.

Imported by child processes only. Its documents are of catalogs, so it runs in a sandbox, with limits. Reads and writes nothing.
"""

from __future__ import annotations

from console.preview_request import PREVIEW, PreviewedBundle, PreviewRequest, PreviewResult
from olmctl.offline_resolution import BadInput, OfflineCatalogs, PackageArgument, resolve_offline
from olmkit.jobs.job import JobContext
from olmkit.jobs.job_functions import implement
from operator_controller.resolve.documents.document_reader import InvalidDocument
from operator_controller.resolve.package.package_content import PackageTooLarge


def resolve(request: PreviewRequest, _: JobContext) -> PreviewResult:
    """The bundles that the package would bring, beside what is installed."""
    argument = PackageArgument(request.package, request.version, request.channel)
    catalogs = OfflineCatalogs({request.catalog: request.documents})
    known = {name: version for name, version in request.installed.items() if name in request.documents}
    try:
        found = resolve_offline([argument], catalogs, known)
    except (BadInput, InvalidDocument, PackageTooLarge) as error:
        return PreviewResult(problem=str(error))
    if found.error is not None:
        return PreviewResult(refusal=found.error.message)
    bundles = (PreviewedBundle(each.package, each.version, each.catalog, each.because) for each in found.bundles)
    return PreviewResult(tuple(bundles))


implement(PREVIEW, resolve)
