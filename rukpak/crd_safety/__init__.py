"""Decides whether a CustomResourceDefinition can replace the one on the cluster without breaking custom resources or clients.

`compare` finds what breaks a rule, `refusal` is the message about it, `structural` has schemas as validators read them. Pure.
"""
