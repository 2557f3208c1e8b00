"""Decides whether a CustomResourceDefinition can replace the one on the cluster without breaking custom resources or clients.

`compare` finds what breaks a rule, `object_evaluation` evaluates custom resources against a schema, `verdict` decides, `messages`
has its sentences, `structural` has schemas as validators read them. Pure.
"""
