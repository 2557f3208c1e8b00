#!/bin/sh
# `sh restart.sh COMMAND ARGUMENT...`: the first process of a container in development. It runs the command. SIGHUP restarts it with the
# files as they are then, in the same container: its files, such as its cache, stay. SIGTERM ends both. A command that ends by
# itself, such as one with a syntax error, is started again after 5 seconds or at the next SIGHUP: the container, and so the
# changed files in it, survive.
child=
ending=
restarted=
trap 'restarted=1; kill -TERM $child 2>/dev/null' HUP
trap 'ending=1; kill -TERM $child 2>/dev/null' TERM INT

# A signal interrupts `wait`, so it is repeated until the process has ended.
wait_for_child() {
  # The signal may have come between the start and the assignment.
  [ -z "$restarted$ending" ] || kill -TERM "$child" 2>/dev/null
  while :; do
    wait "$child"
    status=$?
    kill -0 "$child" 2>/dev/null || return 0
  done
}

while [ -z "$ending" ]; do
  restarted=
  "$@" &
  child=$!
  wait_for_child
  [ -z "$restarted$ending" ] || continue
  echo "$1 ended with status $status; it starts again in 5 seconds, or when a file changes" >&2
  sleep 5 &
  child=$!
  wait_for_child
done
exit "$status"
