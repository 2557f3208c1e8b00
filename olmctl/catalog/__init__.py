"""The commands of `python -m olmkit.fbc`, a module each, named as the command, beside what they share: printing, images.

Called by olmkit.fbc.__main__ only.
A module has `add(commands)`, which adds its parser with `run` set as default: from the arguments to the exit status. `run` prints
results to stdout and what is wrong to stderr; OlmError and OSError may pass, __main__ prints them.
"""
