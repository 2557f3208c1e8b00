"""The commands as click knows them: names, arguments, options and help.

Only what declares commands is imported here, by all of them together. Each command imports its work when it runs, a function
of olmctl.resolve or of a module of olmctl.catalog, olmctl.bundle, olmctl.operators or olmctl.suite: help and completion need
none.
"""
