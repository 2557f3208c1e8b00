"""Forms of real kinds: the newest bundle of each package of the corpus, with its examples, descriptors and schemas."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from markupsafe import escape

from console.forms import descriptors
from console.forms.document import fill
from console.forms.examples import begun, empty_template, examples
from console.forms.field import Form
from console.forms.schema_form import MAX_FIELDS, NOTHING, schema_form
from console.page import Page, User
from console.render import Frame, Renderer
from console.views.changes import Button
from console.views.instances import InstanceFormView, KindName
from rukpak.format import BadBundle, RegistryBundle, read_registry
from tests.forms import sent

pytestmark = [pytest.mark.corpus, pytest.mark.console]

Object = Mapping[str, Any]
SLOWEST = 0.5
"""Seconds of CPU for one form."""
MAX_HTML = 2_000_000
RENDERER = Renderer(lambda name: f"/assets/0/{name}")


def bundles(corpus: Path) -> Iterator[tuple[str, RegistryBundle]]:
    """The newest bundle of each package that the corpus has."""
    for package in sorted((corpus / "bundles").iterdir()):
        directory = max(package.iterdir())
        files = {
            path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
        }
        try:
            bundle = read_registry(files)
        except BadBundle:
            continue
        assert isinstance(bundle, RegistryBundle)
        yield package.name, bundle


def kinds(bundle: RegistryBundle) -> Iterator[tuple[str, str, Object]]:
    """apiVersion, kind and schema of each version of each CustomResourceDefinition."""
    for definition in bundle.crds:
        spec = definition["spec"]
        for version in spec.get("versions") or ():
            schema = (version.get("schema") or spec.get("validation") or {}).get("openAPIV3Schema")
            if schema:
                yield f"{spec['group']}/{version['name']}", spec["names"]["kind"], schema


def owned_kinds(corpus: Path, package: str, bundle: str) -> list[Object]:
    """The kinds of a bundle with their descriptors, as its catalog has them."""
    for line in (corpus / "catalog" / package / "catalog.json").read_bytes().splitlines():
        if line.startswith(b'{"schema":"olm.bundle"') and f'"{bundle}"'.encode() in line:
            blob = orjson.loads(line)
            found = [each["value"] for each in blob["properties"] if each["type"] == "olm.csv.metadata"]
            if blob["name"] == bundle and found:
                return list((found[0].get("crdDescriptions") or {}).get("owned") or ())
    return []


def used(owned: list[Object], api_version: str, kind: str) -> tuple[descriptors.Descriptor, ...]:
    version = api_version.rpartition("/")[2]
    found = [each for each in owned if (each.get("version"), each.get("kind")) == (version, kind)]
    return descriptors.read(found[0], "spec") if found else ()


def form_of(schema: Object, found: tuple[descriptors.Descriptor, ...], document: dict[str, Any]) -> Form:
    began = time.process_time()
    form = schema_form(schema, found, document, document, NOTHING)
    assert time.process_time() - began < SLOWEST
    return form


def check_rendered(form: Form) -> None:
    """The page of a form has an input for each of its fields, and is not too large."""
    kind = KindName("g.example.com", "v1", "ks", "K", "K", True)
    view = InstanceFormView(
        kind, "h", "s", "/x", "/y", "n", "ns", True, form, "", "{}", "{}", (), {}, None, Button("Create")
    )
    html = RENDERER.page(Page("instance-form.html", view, "h"), Frame(user=User("u"), csrf="c"))
    for each in form.all():
        assert not each.is_leaf or f'name="{escape(each.name)}"' in html
    assert len(html) < MAX_HTML


def test_each_kind_has_a_form_that_leads_to_the_same_document(corpus: Path) -> None:
    counts: Counter[str] = Counter()
    for name, bundle in bundles(corpus):
        counts["packages"] += 1
        largest: Form | None = None
        owned = owned_kinds(corpus, name, bundle.csv_name)
        for api_version, kind, schema in kinds(bundle):
            found = used(owned, api_version, kind)
            counts["kinds"] += 1
            counts["with descriptors"] += bool(found)
            starts = examples(bundle.csv_annotations, api_version, kind)
            for start in starts or (empty_template(schema, api_version, kind),):
                document = begun(start.document, "team-a")
                form = form_of(schema, found, document)
                assert len([each for each in form.all() if each.is_leaf]) <= MAX_FIELDS
                again = fill(form, document, sent(form)).document
                assert again == document, f"{name} {kind} {start.title}"
                counts["forms"] += 1
                if largest is None or len(list(form.all())) > len(list(largest.all())):
                    largest = form
        if largest is not None:
            check_rendered(largest)
    print(dict(counts))
    assert counts["packages"] > 150
    assert counts["with descriptors"] > 50
