"""What a browser sends for a form that nobody has changed."""

from __future__ import annotations

from console.forms.field import Control, Field, Form


def sent(form: Form) -> dict[str, list[str]]:
    """The texts of the inputs of a form by their names."""
    texts: dict[str, list[str]] = {}
    for field in form.all():
        if field.control in (Control.LIST, Control.MAP):
            texts[f"{field.name}:rows"] = [str(len(field.children))]
        if field.key is not None:
            texts[f"{field.name}:key"] = [field.key]
        if field.is_leaf:
            texts[field.name] = _texts(field)
    return {name: each for name, each in texts.items() if each}


def _texts(field: Field) -> list[str]:
    if field.control in (Control.SWITCH, Control.CHECKBOX):
        return ["false", *(["true"] if field.text == "true" else [])]
    if field.control == Control.RADIO and all(each.text != field.text for each in field.choices):
        return []  # none is chosen
    return [field.text.replace("\n", "\r\n")]


def find(form: Form, name: str) -> Field:
    """The field of that name."""
    return next(each for each in form.all() if each.name == name)
