#!/bin/bash
# Tests the units of deploy/systemd on a machine that runs systemd and nothing else: it installs, restarts and uninstalls
# the service as docs/operations.md says. Run by `scripts/test-deploy.sh systemd` in a container; never on a machine with
# a real installation. /deploy and /docs are those of the repository, and headwater is in /usr/local/bin.
set -u
export HEADWATER_DATA=/var/lib/headwater SYSTEMD_COLORS=0
passed=0 failed=0

# check NAME COMMAND...: the command succeeds.
check() {
    local name=$1
    shift
    if "$@" >/tmp/output 2>&1; then
        passed=$((passed + 1)) && echo "ok    $name"
    else
        failed=$((failed + 1)) && echo "FAILED $name: $*" && tail -n 5 /tmp/output && journalctl -u headwater -n 5 --no-pager
    fi
}
# Waits until a command succeeds, for a minute.
soon() {
    for _ in $(seq 600); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
api() { curl -fsS -H "Authorization: Bearer $(cat $HEADWATER_DATA/token)" -H 'Content-Type: application/json' "$@"; }
address=http://127.0.0.1:8080
ready() { curl -fsS "$address/readyz" >/dev/null 2>&1; }
exit_of() { api "$address/v1/executions/$1" | grep -o '"exit":{[^}]*}'; }
# Starts a program in the session that prints a line every 100 ms and says when it gets SIGTERM.
program() {
    api "$address/v1/sessions/$session/executions" -d '{"shell":"trap \"echo got TERM; exit\" TERM; while :; do echo tick; sleep 0.1; done"}' |
        grep -o '"id":"exe_[^"]*"' | cut -d '"' -f 4
}
bytes() { api "$address/v1/executions/$1" | grep -o '"stdout_bytes":[0-9]*' | cut -d : -f 2; }
# The program still runs, and prints.
runs() {
    local before
    before=$(bytes "$1") && [ -n "$before" ] && soon eval '[ "$(bytes '"$1"')" -gt '"$before"' ]'
}
documented() { sed -n "/^# $1\$/,/^\`\`\`/p" /docs/operations.md | grep -v '^```'; }

# --- install
install -m 644 /deploy/systemd/headwater.service /deploy/systemd/headwater-hibernate.service /etc/systemd/system/
check "the units are valid" systemd-analyze verify headwater.service headwater-hibernate.service /deploy/systemd/headwater.socket
systemctl daemon-reload
check "both units start" systemctl enable --now headwater headwater-hibernate
check "the server is ready" soon ready
check "doctor passes in a delegated cgroup" systemd-run --quiet --pipe --wait -p Delegate=yes \
    /usr/local/bin/headwater doctor --data /var/lib/headwater
session=$(api "$address/v1/sessions" -d '{}' | grep -o '"id":"ses_[^"]*"' | cut -d '"' -f 4)
execution=$(program)
check "a program runs" runs "$execution"

# --- reload, restart, stop
check "reload works" systemctl reload headwater
check "the program survives a reload" runs "$execution"
check "restart works while a program runs" systemctl restart headwater
check "the program survives a restart" soon runs "$execution"
check "stop works" systemctl stop headwater
before=$(stat -c %s /var/lib/headwater/sessions/*/executions/"$execution"/stdout)
check "the program survives a stop, and its output is logged" soon eval \
    '[ "$(stat -c %s /var/lib/headwater/sessions/*/executions/'"$execution"'/stdout)" -gt '"$before"' ]'
check "start works while a program runs" systemctl start headwater
check "the program survives a start" soon runs "$execution"
systemctl kill -s KILL --kill-whom=main headwater
check "a killed server is started again" soon ready
check "the program survives the kill of the server" soon runs "$execution"

# --- upgrade
cp /usr/local/bin/headwater /root/new-headwater
upgrade=$(documented 'Upgrade while programs run' | sed 's#target/\*/release/headwater#/root/new-headwater#')
check "an upgrade works while programs run" sh -euc "$upgrade"
check "the server is ready after the upgrade" soon ready
check "the program survives the upgrade" soon runs "$execution"
check "the worker is the new binary" sh -c '[ "$(readlink /proc/$(pgrep -of "headwater worker")/exe)" = /usr/local/bin/headwater ]'

# --- hibernation
check "hibernation works" systemctl stop headwater-hibernate
check "nothing runs afterwards" sh -c '! pgrep -x headwater'
systemctl reset-failed headwater # so many starts in a row are refused otherwise
check "both units start again" systemctl start headwater headwater-hibernate
check "the server is ready again" soon ready
check "the program was ended by the hibernation" sh -c "echo '$(exit_of "$execution")' | grep -q session_hibernated"
check "the program got SIGTERM first" sh -c "grep -q 'got TERM' /var/lib/headwater/sessions/*/executions/$execution/stdout"
execution=$(program)
check "the session resumes" runs "$execution"

# --- socket activation
install -m 644 /deploy/systemd/headwater.socket /etc/systemd/system/
systemctl daemon-reload
check "the socket is enabled" sh -ec 'systemctl stop headwater; systemctl enable --now headwater.socket; systemctl start headwater'
check "the server answers on systemd's socket" soon ready
systemctl restart --no-block headwater
check "a connection during a restart is answered" curl -fsS --max-time 60 "$address/healthz"

# --- uninstall
check "the service is uninstalled" sh -euc "systemctl disable --now headwater.socket; $(documented Uninstall)"
check "nothing of it is left" sh -c '! pgrep -x headwater && ! ls -d /var/lib/headwater /run/headwater /etc/systemd/system/headwater* /usr/local/bin/headwater'

echo "RESULT $passed passed, $failed failed"
[ "$failed" -eq 0 ]
