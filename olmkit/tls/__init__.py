"""What a server of ours needs to be reached by others: TLS that is renewed in place, the trust of its clients, tokens.

`setup` is the door for a component that serves, `trust` for one that asks; the other modules are theirs. Knows nothing of what is
served.
"""
