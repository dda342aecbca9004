#!/bin/sh
# The interpreter that pip continues with (PIP_PYTHON). pip starts this script with the path of its own code and its
# arguments. Where the host has no pip, this script is `pip` itself.
venv="@VENV@"
python=@PYTHON@

# Creates the environment. The lock is the one of the packages API: two concurrent changes could leave it half made.
create() (
    if command -v flock >/dev/null; then
        exec 9<"${venv%/.venv}" && flock 9
    fi
    [ -x "$venv/bin/python" ] && return
    [ -e "$venv" ] || trap 'rm -rf "$venv"; exit 130' INT TERM HUP
    [ -e "$venv" ] && exists=1
    echo "Creating the virtual environment $venv" >&2
    "$python" -m venv "$venv" 9<&- && return
    code=$?
    [ "${exists-}" ] || rm -rf "$venv"
    return "$code"
)

# Runs pip. pip does not show why an index refuses it, so the mirror is asked after a failure.
run() {
    began=$(date +%s)
    "$@"
    code=$?
    case $code:${PIP_INDEX_URL-} in
    0:*) ;;
    *:http://127.0.0.1:*/pypi/simple/)
        "$1" -I -c 'import sys, urllib.request as r
o = r.build_opener(r.ProxyHandler({}))
sys.stderr.write(o.open(sys.argv[1], timeout=5).read().decode())' \
            "${PIP_INDEX_URL%/pypi/simple/}/-/refused?since=$began" 2>&1 1>/dev/null | grep '^headwater: ' >&2
        ;;
    esac
    exit "$code"
}

case ${0##*/} in
pip | pip3)
    create || exit
    unset PIP_PYTHON
    run "$venv/bin/python" -m pip "$@"
    ;;
esac

# The pip of another environment continues with the interpreter of that environment.
case $1 in
/usr/*) ;;
*)
    own=${1%/lib*/python*/site-packages/pip/*}/bin/python
    [ -x "$own" ] && run "$own" "$@"
    ;;
esac

# The pip of the host installs into the environment of the workspace. It creates nothing just to list or show.
if [ ! -x "$venv/bin/python" ]; then
    for word in "$@" ''; do
        [ "$word" = install ] && break
    done
    [ "$word" = install ] || run "$python" "$@"
    create || exit
fi
run "$venv/bin/python" "$@"
