#!/bin/sh
# The main process of the container image. `serve` (the default) runs the server; everything else is a command of
# headwater, such as `doctor`.
#
# When a container stops, the kernel kills everything in it. So SIGTERM hibernates the sessions first: their programs
# get SIGTERM and `[hibernation] warning` (10 s) to save their work. Give the container more time than that:
# `--stop-timeout 30`.
set -eu

# Limits of sessions need cgroups that can be written. Docker and Podman mount them read-only; with CAP_SYS_ADMIN that
# can be changed here. Only version 2: the cgroups of a private namespace are the container's own.
if [ -f /sys/fs/cgroup/cgroup.controllers ] && [ ! -w /sys/fs/cgroup/cgroup.procs ]; then
    mount -o remount,rw /sys/fs/cgroup 2>/dev/null || true
fi

if [ "${1:-serve}" != serve ]; then
    exec headwater "$@"
fi
[ "$#" -eq 0 ] || shift

headwater serve "$@" &
server=$!
stopping=
trap 'stopping=yes' TERM INT
trap 'kill -HUP "$server"' HUP

# `wait` returns early when a signal arrives.
code=0
while [ -z "$stopping" ] && kill -0 "$server" 2>/dev/null; do
    code=0
    wait "$server" || code=$?
done
headwater stop
[ -z "$stopping" ] || code=0
exit "$code"
