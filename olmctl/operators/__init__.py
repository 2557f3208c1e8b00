"""The commands that use a cluster, one module each, named as the command, and what they share.

They work through the API server alone, with the permissions of the caller. Data goes to standard output; progress, warnings and
errors go to standard error.
"""
