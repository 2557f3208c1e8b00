"""The commands `olm catalog ...`, one module each, named as the command, and what they share.

The callback of a command returns the exit status. It prints results to standard output and errors to standard error; OlmError and
OSError may pass, olmctl.commands prints them.
"""
