# shellcheck shell=bash
# Cgroup version 2: sourced by inside.sh.

heading "the unit tests of cgroups, in the root of the hierarchy"
tests() {
    timeout 120 "$@" sandbox-tests cgroup >/run/tests 2>&1 # all with that word in their name
    is "unit tests that failed" "$(sed -n 's/^test result: .* \([0-9]*\) failed.*/\1/p' /run/tests)" 0
    between "unit tests that passed" "$(grep -c '^test .* ok$' /run/tests)" 10 1000
    has "init's birth in a cgroup among them" "$(cat /run/tests)" "born_in_a_cgroup_of_version_2_or_not_at_all ... ok"
    grep -E '^test .*FAILED|panicked|^this host|^  left|^ right' /run/tests | sort -u | sed 's/^/  /'
}
tests

heading "the unit tests of cgroups, below it"
mkdir $cg/tests
tests within $cg/tests

heading "root, in the root of the hierarchy"
data /var/root
found=$(doctor)
say "$found"
has "doctor finds version 2" "$found" '"version 2, counting memory, cpu, pids, in /sys/fs/cgroup'
for limit in memory cpu process; do
    has "doctor has tested the $limit limit" "$found" "{\"name\":\"$limit limit\",\"ok\":true,\"detail\":\"cgroup"
done
has "doctor finds cgroup.kill" "$found" "all processes at once by cgroup.kill"
worker
is "the worker stays in the root, which may hold processes" "$(place "$worker")" /
limits $cg
executions
adoption
stops $cg

heading "root, alone in a cgroup: the worker moves to a leaf"
data /var/alone
mkdir $cg/alone
worker within $cg/alone
is "the worker is in its leaf" "$(place "$worker")" /alone/headwater-worker
is "controllers are delegated" "$(cat $cg/alone/cgroup.subtree_control)" "cpu memory pids"
limits $cg/alone
executions
adoption within $cg/alone/headwater-worker
stops $cg/alone

heading "root, the worker restarts in another cgroup than the one it was killed in"
data /var/moved
mkdir $cg/before $cg/after
worker within $cg/before
adoption within $cg/after
stops $cg/after
is "nor in the old cgroup" "$(find $cg/before -mindepth 1 -type d ! -name headwater-worker)" ""

heading "root, in a shared cgroup that is not delegated: resource limits apply instead"
mkdir $cg/shared
within $cg/shared inside not_delegated /var/shared "in its own cgroup"

heading "root, in a shared cgroup that systemd has marked as delegated"
mkdir $cg/marked
# setxattr(2), which no small program offers
perl -e 'my ($path, $name, $value) = (shift, "trusted.delegate", "1"); syscall(188, $path, $name, $value, 1, 0) == 0 or die $!' \
    $cg/marked
within $cg/marked inside delegated /var/marked

heading "root, in a container's cgroup namespace, with other processes"
mkdir $cg/container
within $cg/container unshare --cgroup --mount bash -c 'umount /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup &&
    inside delegated /var/container'

heading "an ordinary user without delegation: resource limits apply instead"
mkdir $cg/login
within $cg/login as-user inside not_delegated /home/user/login "as root"

heading "an ordinary user with delegation"
delegate $cg/user "+cpu +memory +pids"
within $cg/user/given as-user inside delegated /home/user/delegated

heading "an ordinary user with delegation of processes only"
delegate $cg/partly "+pids"
within $cg/partly/given as-user inside partly /home/user/partly

heading "without isolation: processes that left their tree end with the session, by cgroup.kill"
data /var/none
options="--sandbox none" worker
session=$(headwater sessions create --sandbox none)
group=$(cgroup_of "$session")
headwater run --session "$session" --shell \
    'setsid sh -c "sleep 100001 & sleep 100001" >/dev/null 2>&1 </dev/null & sleep 1' </dev/null
is "init, a daemon and its children" "$(processes "$group")" 4
headwater sessions end --yes "$session" >/dev/null
soon "they end and their cgroup is removed" gone "$group"
is "daemons left" "$(grep -lz 100001 /proc/[0-9]*/cmdline 2>/dev/null)" ""
stops $cg
