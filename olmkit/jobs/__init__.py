"""Work that may be slow, large or hostile (pull, unpack, parse, compress), each piece in a child process with limits.

A Job declares a function with the types of its request and its result. Controllers name a Task of it by key and identity in their
Plan, `Jobs.ensure` starts or keeps it, the World shows its JobState, and its end enqueues the key. Nothing here knows what a job
does. Content never crosses the pipe: it is passed on disk. This module imports nothing, because
fork servers and children of jobs import it and must stay small.

    Jobs (scheduler.py) --fork request--> fork server (fork_server.py) --fork--> child (child.py): limits, then the function
      ^------------- progress, result or error over a socket of its own (protocol.py) -------------'
"""
