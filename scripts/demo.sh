#!/usr/bin/env bash
# Shows the engine at work, in about ten seconds: `make demo`. Uses a temporary folder and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${PROFILE:-dev}
[ "$profile" = dev ] && profile=debug
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
host=$(rustc -vV | sed -n 's/^host: //p')
binary="$target/$host/$profile/headwater"
[ -x "$binary" ] || { echo "$binary does not exist: run \`make demo\`" >&2; exit 1; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/headwater-demo-XXXXXX")
export HEADWATER_DATA="$folder/data"
mkdir -m 700 "$HEADWATER_DATA"
export NO_COLOR=1
headwater() { "$binary" "$@"; }

worker=
clean_up() {
    [ -S "$HEADWATER_DATA/worker.sock" ] && headwater stop --end-sessions --yes >/dev/null 2>&1 || true
    [ -z "$worker" ] || wait "$worker" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

heading() { printf '\n== %s\n\n' "$*"; }
shown() { printf '$ %s\n' "$*"; }
# Prefixes each line with the time since the first command.
with_time() {
    local line begun=${EPOCHREALTIME/[.,]/} now
    while IFS= read -r line; do
        now=${EPOCHREALTIME/[.,]/}
        printf '  %4d ms  %s\n' "$(((now - begun) / 1000))" "$line"
    done
}
indented() { sed 's/^/  /'; }

heading "What this host can isolate"
shown headwater doctor
headwater doctor || exit 1

# Starts the program directly, not through the function, so that `$!` is the process to kill later.
"$binary" worker >"$folder/worker.log" 2>&1 &
worker=$!
until [ -S "$HEADWATER_DATA/worker.sock" ]; do
    kill -0 "$worker" 2>/dev/null || { cat "$folder/worker.log" >&2; exit 1; }
    sleep 0.05
done
session=$(headwater sessions create --name demo)

heading "Live: every line arrives when it is printed"
line='for n in 1 2 3 4; do echo "step $n of 4"; sleep 0.3; done'
shown "headwater run --session demo --shell '$line'"
headwater run --session "$session" --shell "$line" </dev/null | with_time

if [ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ]; then
    heading "Languages: code goes in, output comes out, files stay in the session"
    code='import platform
print(*[n * n for n in range(10)], sep="\n", file=open("squares.txt", "w"))
print("Python", platform.python_version(), "wrote squares.txt")'
    shown "headwater run --session demo --lang python '$code'"
    headwater run --session "$session" --lang python "$code" </dev/null | indented
    shown "headwater run --session demo -- tail -n 3 squares.txt"
    headwater run --session "$session" -- tail -n 3 squares.txt </dev/null | indented
fi

heading "Isolation: what a program in a session sees of this machine"
echo "not for you" >"$folder/secret"
shown "cat $folder/secret"
indented <"$folder/secret"
read -r -d '' attempts <<'END' || true
echo "who am I:            $(id -un 2>/dev/null || id -u), with these capabilities: $(sed -n 's/^CapEff:\t//p' /proc/self/status)"
echo "processes I can see: $(ls -d /proc/[0-9]* | wc -l)"
echo "network devices:     $(tail -n +3 /proc/net/dev | cut -d: -f1 | xargs)"
try() { if out=$("$@" 2>&1); then echo "$out"; else echo "refused: ${out##*: }"; fi; }
echo "a file of the host:  $(try cat "$SECRET")"
echo "writing to /usr:     $(try touch /usr/mine)"
echo "a new namespace:     $(try unshare --user true)"
echo "killing pid 1:       $(try kill -9 1)"
END
shown "headwater run --session demo --shell '...'"
headwater run --session "$session" -e "SECRET=$folder/secret" --shell "$attempts" </dev/null 2>&1 | indented

heading "Nothing is lost: kill -9 of the worker in the middle of an execution"
lines=60
line="for n in \$(seq $lines); do echo \"line \$n\"; sleep 0.05; done"
shown "headwater run --session demo --shell '$line'"
: >"$folder/seen"
headwater run --session "$session" --shell "$line" </dev/null >>"$folder/seen" 2>"$folder/notes" &
run=$!
while [ "$(wc -l <"$folder/seen")" -lt 20 ]; do
    kill -0 "$run" 2>/dev/null || { cat "$folder/notes" >&2; exit 1; }
    sleep 0.02
done
printf '  ... %s\n' "$(tail -n 1 "$folder/seen")"
shown "kill -9 $worker"
disown "$worker"
[ "$(cat "/proc/$worker/comm")" = headwater ] || { echo "process $worker is not the worker" >&2; exit 1; }
kill -9 "$worker"
while [ -e "/proc/$worker/exe" ]; do sleep 0.01; done
killed=$worker worker=
echo "  the worker is dead; the program keeps printing, into pipes that the session's init holds"
wait "$run" || { cat "$folder/notes" >&2; exit 1; }
indented <"$folder/notes"
next=$(headwater doctor --json | sed -n 's/.*"runs: pid \([0-9]*\),.*/\1/p')
if [ -z "$next" ] || [ "$next" = "$killed" ]; then
    echo "no new worker is running" >&2
    exit 1
fi
echo "  a new worker, process $next, has taken over the session"
printf '  ... %s\n' "$(tail -n 1 "$folder/seen")"
if cmp -s "$folder/seen" <(seq -f 'line %g' "$lines"); then
    echo "  $lines lines printed, $lines lines received: none missing, none doubled, all in order"
else
    echo "  LOST OR DOUBLED:" >&2
    diff "$folder/seen" <(seq -f 'line %g' "$lines") >&2 || true
    exit 1
fi

heading "The end"
shown headwater stop
headwater stop
echo "  the worker has ended; its sessions are hibernated and keep their workspaces"
printf '\nTry it: %s run -- echo hello\n' "${binary#"$PWD"/}"
