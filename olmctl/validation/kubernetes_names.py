"""Names and labels as Kubernetes validates them, with its errors. Pure."""

from __future__ import annotations

import re

from olmkit.api.patterns import DNS_SUBDOMAIN

MAX_LABEL_BYTES, MAX_SUBDOMAIN_BYTES = 63, 253

_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character"
)
_DNS1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character"
)
_CHARACTERS = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def dns1123_subdomain_errors(name: str) -> list[str]:
    """The errors of a name that must be a DNS-1123 subdomain."""
    errors = _length_errors(name, MAX_SUBDOMAIN_BYTES)
    if not re.fullmatch(DNS_SUBDOMAIN, name):
        errors.append(_form_error(_SUBDOMAIN_TEXT, DNS_SUBDOMAIN, "example.com"))
    return errors


def dns1035_label_errors(name: str) -> list[str]:
    """The errors of a name that must be a DNS-1035 label."""
    errors = _length_errors(name, MAX_LABEL_BYTES)
    if not re.fullmatch(_DNS1035, name):
        errors.append(_form_error(_DNS1035_TEXT, _DNS1035, "my-name", "abc-123"))
    return errors


def label_value_errors(value: str) -> list[str]:
    """The errors of the value of a label."""
    errors = _length_errors(value, MAX_LABEL_BYTES)
    if not re.fullmatch(f"({_QUALIFIED})?", value):
        text = f"a valid label must be an empty string or {_CHARACTERS}"
        errors.append(_form_error(text, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return errors


def qualified_name_errors(name: str) -> list[str]:
    """The errors of the key of a label, of an annotation in lower case, or of a finalizer."""
    prefix, slash, own = name.rpartition("/")
    help_text = _form_error(f"must {_CHARACTERS}", _QUALIFIED, "MyName", "my.name", "123-abc")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {help_text} {optional}"]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {each}" for each in dns1123_subdomain_errors(prefix)]
    if not own:
        errors.append("name part must be non-empty")
    errors += [f"name part {each}" for each in _length_errors(own, MAX_LABEL_BYTES)]
    if not re.fullmatch(_QUALIFIED, own):
        errors.append(f"name part {help_text}")
    return errors


def _length_errors(text: str, limit: int) -> list[str]:
    is_long = len(text.encode(errors="replace")) > limit
    return [f"must be no more than {limit} characters"] if is_long else []


def _form_error(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{each}', " for each in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"
