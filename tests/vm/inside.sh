#!/bin/bash
# The tests of cgroup version 2 and of project quotas, run as the first process of a virtual machine by
# scripts/test-cgroup-v2.sh. Shared functions are here; the tests are in cgroups.sh and quotas.sh.
# Results come from the kernel's own files and from verdicts, never from what a guest reports about itself.
#
#   inside.sh         runs everything, then shuts the machine down
#   inside.sh PART    runs one part; the script calls itself so as another user or in another cgroup
set -u
export PATH=/usr/bin NO_COLOR=1
results=/run/results
cg=/sys/fs/cgroup

# ---- reporting

say() { printf '%s\n' "$@"; }
heading() { printf '\n== %s\n' "$*"; }
ok() { say "ok" >>$results; say "  ok      $1"; }
bad() { say "bad" >>$results; say "  FAILED  $1"; say "          ${2:-}"; }
# is WHAT FOUND EXPECTED
is() { if [ "$2" = "$3" ]; then ok "$1: ${2:-nothing}"; else bad "$1" "found \`$2\`, expected \`$3\`"; fi; }
# has WHAT TEXT PART
has() { if [[ $2 == *"$3"* ]]; then ok "$1"; else bad "$1" "no \`$3\` in: $2"; fi; }
# between WHAT NUMBER LEAST MOST
between() {
    if [ "${2:-0}" -ge "$3" ] && [ "${2:-0}" -le "$4" ]; then ok "$1: $2"; else bad "$1" "found \`$2\`, not $3 to $4"; fi
}
# soon WHAT COMMAND...: the command succeeds within twenty seconds
soon() {
    local what=$1 try
    shift
    for try in $(seq 200); do
        if "$@"; then ok "$what"; return; fi
        sleep 0.1
    done
    bad "$what" "not within twenty seconds: $*"
}
gone() { [ ! -e "$1" ]; }

# ---- inspecting

number() { sed -n "s/^$1 //p" "$2"; }
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1; }
# The cgroup of a process.
place() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
processes() { find "$1" -name cgroup.procs -exec cat {} + | wc -l; }
# The cgroup of a session, from its worker's record.
cgroup_of() { find $cg -type d -name "$(field cgroup <"$HEADWATER_DATA/sessions/$1/session.json")"; }
reason() { headwater run --json "$@" </dev/null | field reason; }
# What doctor reports about limits, one line for each.
doctor() {
    headwater doctor --json | sed 's/},{/}\n{/g' |
        grep -E '"(cgroups|memory limit|cpu limit|process limit|end of a session)"' | sed 's/^/  /'
}

# Greedy programs: one allocates the given MiB; one forks up to 40 processes and prints how many it got. The first takes
# the shell's place: a shell whose child is ended for want of memory has not run out of it.
greedy() { printf 'exec perl -e "my \\$n = %s; my \\$x = chr(120) x (\\$n << 20); print length \\$x"' "$1"; }
forks='perl -e "my \$n = 0; while (\$n < 40) { my \$p = fork; last unless defined \$p;
    if (!\$p) { sleep 60; exit } \$n++ } print \$n"'

# ---- workers

data() { export HEADWATER_DATA="$1"; mkdir -m 700 "$HEADWATER_DATA"; }
# worker [COMMAND...]: starts one, through a command that executes its arguments; `$worker` is its number.
worker() {
    "$@" headwater worker ${options:-} >>"$HEADWATER_DATA/worker.log" 2>&1 &
    worker=$!
    local try
    for try in $(seq 300); do
        # Not by asking: the command line would start another one.
        [ -S "$HEADWATER_DATA/worker.sock" ] && return
        sleep 0.1
    done
    bad "a worker answers" "$(cat "$HEADWATER_DATA/worker.log")"
}
# stops PLACE: the worker ends, and nothing of its sessions is left.
stops() {
    headwater stop --end-sessions --yes >/dev/null
    wait "$worker" 2>/dev/null
    is "no cgroup of a session is left" "$(find "$1" -name 'headwater-*' ! -name headwater-worker)" ""
    grep -hE 'WARN|ERROR' "$HEADWATER_DATA/worker.log" | sed 's/^/  worker: /'
}

# ---- what must hold wherever all three controllers are available

# limits PLACE
limits() {
    local session group
    session=$(headwater sessions create --memory 64Mi --pids 12 --cpus 0.5)
    group=$(cgroup_of "$session")
    has "a session has a cgroup below the worker's place" "$group" "$1/headwater-"
    is "memory.max" "$(cat "$group/memory.max")" 67108864
    is "pids.max" "$(cat "$group/pids.max")" 12
    is "cpu.max" "$(cat "$group/cpu.max")" "50000 100000"
    is "processes in its leaf" "$(wc -l <"$group/leaf/cgroup.procs")" 1
    is "200 MiB" "$(reason --session "$session" --shell "$(greedy 200)")" oom
    is "oom_kill, as the kernel counts" "$(number oom_kill "$group/memory.events")" 1
    is "tail of /dev/zero" "$(reason --session "$session" -- tail /dev/zero)" oom
    is "10 MiB" "$(reason --session "$session" --shell "$(greedy 10)")" exited
    # init, the shell (unless it executes perl in its place) and perl count as well.
    between "processes created before the limit of 12" \
        "$(headwater run --session "$session" --children kill --shell "$forks" 2>/dev/null </dev/null)" 8 10
    is "a busy program" "$(reason --session "$session" --timeout 2s --shell 'while :; do :; done')" timed_out
    between "how often it was throttled" "$(number nr_throttled "$group/cpu.stat")" 1 1000000
    headwater sessions end --yes "$session" >/dev/null
    soon "its cgroup goes with the session" gone "$group"
}

# Executions with limits of their own, lower than their session's.
executions() {
    local session group own
    session=$(headwater sessions create --memory 512Mi --pids 30)
    group=$(cgroup_of "$session")
    is "100 MiB in an execution with 32" "$(reason --session "$session" --memory 32Mi --shell "$(greedy 100)")" oom
    is "100 MiB in one without" "$(reason --session "$session" --shell "$(greedy 100)")" exited
    between "processes made before a limit of 6" \
        "$(headwater run --session "$session" --pids 6 --children kill --shell "$forks" 2>/dev/null </dev/null)" 4 5
    own=$(headwater run --session "$session" --memory 32Mi --cpus 0.25 --pids 5 -d -- sleep 1000)
    is "an execution's memory.max" "$(cat "$group/$own/memory.max")" 33554432
    is "its cpu.max" "$(cat "$group/$own/cpu.max")" "25000 100000"
    is "its pids.max" "$(cat "$group/$own/pids.max")" 5
    is "processes in it" "$(processes "$group/$own")" 1
    headwater kill --signal KILL "$own" >/dev/null
    soon "its cgroup goes with the execution" gone "$group/$own"
    headwater sessions end --yes "$session" >/dev/null
    soon "and the session's with the session" gone "$group"
}

# adoption [COMMAND...]: the worker is killed, and the next one started through the command.
adoption() {
    local session group own
    session=$(headwater sessions create --memory 64Mi)
    group=$(cgroup_of "$session")
    own=$(headwater run --session "$session" --memory 32Mi -d \
        --shell "while [ ! -e go ]; do sleep 0.1; done; $(greedy 48)")
    kill -9 "$worker"
    wait "$worker" 2>/dev/null
    rm "$HEADWATER_DATA/worker.sock"
    is "memory.max without a worker" "$(cat "$group/memory.max")" 67108864
    worker "$@"
    headwater run --session "$session" -- touch go </dev/null
    is "an execution of the killed worker, past its own limit" "$(headwater logs -f --json "$own" | field reason)" oom
    soon "its cgroup goes with the execution" gone "$group/$own"
    is "200 MiB" "$(reason --session "$session" --shell "$(greedy 200)")" oom
    is "10 MiB" "$(reason --session "$session" --shell "$(greedy 10)")" exited
    headwater sessions end --yes "$session" >/dev/null
    soon "the session's cgroup goes with it" gone "$group"
}

# ---- parts that run as another user, or in another cgroup

# In a cgroup that was delegated to us, with this shell in it.
delegated() {
    data "$2"
    local here found
    here=$(place self)
    found=$(doctor)
    say "$found"
    has "doctor finds version 2 here" "$found" "\"version 2, counting memory, cpu, pids, in $cg${here%/}"
    is "the command line starts a worker by itself" "$(headwater run -- sh -c 'echo hello' </dev/null)" hello
    headwater stop >/dev/null
    worker
    is "the worker is in its leaf" "$(place "$worker")" "${here%/}/headwater-worker"
    is "and so is this shell" "$(place self)" "${here%/}/headwater-worker"
    is "controllers are delegated" "$(cat "$cg$here/cgroup.subtree_control")" "cpu memory pids"
    limits "$cg${here%/}"
    executions
    adoption
    stops "$cg$here"
}

# In a cgroup that is not ours.
not_delegated() {
    data "$2"
    local here found
    here=$(place self)
    found=$(doctor)
    say "$found"
    has "doctor says so" "$found" '"detail":"none: cannot '
    has "and names the fix" "$found" "\"fix\":\"start the worker $3"
    has "memory by RLIMIT_DATA" "$found" "RLIMIT_DATA instead"
    has "processes by RLIMIT_NPROC" "$found" "RLIMIT_NPROC instead"
    worker
    is "the worker is where it was" "$(place "$worker")" "$here"
    is "its cgroup is as it was" "$(cat "$cg$here/cgroup.subtree_control")$(find "$cg$here" -mindepth 1 -type d)" ""
    has "200 MiB is refused" "$(headwater run --memory 64Mi --shell "$(greedy 200)" 2>&1 </dev/null)" "Out of memory!"
    is "10 MiB" "$(headwater run --memory 64Mi --shell "$(greedy 10)" </dev/null)" 10485760
    between "processes created before the limit of 12" \
        "$(headwater run --pids 12 --children kill --shell "$forks" 2>/dev/null </dev/null)" 8 11
    stops "$cg$here"
}

# In a cgroup that was delegated to us without memory and cpu: each limit by what is available.
partly() {
    data "$2"
    local found session group
    found=$(doctor)
    say "$found"
    has "doctor finds what is available" "$found" '"version 2, counting pids, in'
    has "memory by RLIMIT_DATA" "$found" "RLIMIT_DATA instead"
    worker
    session=$(headwater sessions create --memory 64Mi --pids 12)
    group=$(cgroup_of "$session")
    is "pids.max" "$(cat "$group/pids.max")" 12
    has "200 MiB is refused" "$(headwater run --session "$session" --shell "$(greedy 200)" 2>&1 </dev/null)" "Out of memory!"
    has "48 MiB in an execution with 32 is refused" \
        "$(headwater run --session "$session" --memory 32Mi --shell "$(greedy 48)" 2>&1 </dev/null)" "Out of memory!"
    between "processes created before the limit of 12" \
        "$(headwater run --session "$session" --children kill --shell "$forks" 2>/dev/null </dev/null)" 8 10
    stops "$cg$(place self)/.."
}

# Only the part that was asked for.
if [ $# -gt 0 ]; then
    "$1" "$@"
    exit
fi

# ---- the machine

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
# As systemd mounts it: no process can be moved across the border of a cgroup namespace.
mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 $cg
# And a second mount, as on many hosts: it is the same hierarchy.
mkdir /mnt
mount --bind $cg /mnt
exec >/dev/console 2>&1 </dev/null
touch $results
dmesg -n 1 # the kernel logs every oom
chmod 666 $results
mkdir /home/user
chown 1000:1000 /home/user
export HOME=/root
cp "$0" /usr/bin/inside

# within PLACE COMMAND...: in that cgroup.
cat >/usr/bin/within <<'END'
#!/bin/bash
echo 0 >"$1/cgroup.procs" && shift && exec "$@"
END
# as-user COMMAND...
cat >/usr/bin/as-user <<'END'
#!/bin/bash
exec setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/user "$@"
END
chmod 755 /usr/bin/inside /usr/bin/within /usr/bin/as-user

# delegate PLACE CONTROLLERS: a cgroup that an ordinary user controls, as systemd creates it with `Delegate=yes`.
delegate() {
    mkdir "$1" "$1/given"
    echo "$2" >"$1/cgroup.subtree_control"
    chown 1000:1000 "$1/given" "$1"/given/cgroup.{procs,threads,subtree_control}
}

say "" "$(cut -d ' ' -f 1-3 /proc/version) with $(cat $cg/cgroup.controllers)" "$(grep cgroup /proc/mounts)"

# The parts that were asked for: all, unless the kernel's command line says `parts=NAME`.
parts=$(sed -n 's/.*\<parts=\([a-z,]*\).*/\1/p' /proc/cmdline)
for part in cgroups quotas; do
    [[ ,${parts:-$part}, == *,$part,* ]] && . "/root/$part.sh"
done

say "" "RESULT $(grep -c ok $results) passed, $(grep -c bad $results) failed"
sleep 1
busybox poweroff -f
