#!/usr/bin/env bash
# Tests deploy/ and the commands of docs/operations.md with the real programs: `make test-deploy`. Not part of
# `make check`, because it installs nginx, Caddy and Prometheus. Takes about five minutes, most of it waiting.
#
#   scripts/test-deploy.sh                    all of these parts
#   scripts/test-deploy.sh proxies            nginx and Caddy in front of a server
#   scripts/test-deploy.sh monitoring         Prometheus scrapes a server; alerts; queries of the dashboard
#   scripts/test-deploy.sh backup             backup and restore (as root)
#   scripts/test-deploy.sh container          the image, with Podman: doctor, stop, restart (as root; not by default,
#                                             because the base image comes from a registry)
#   scripts/test-deploy.sh systemd            the units, in a container that runs systemd: install, restart, upgrade,
#                                             hibernate, uninstall (as root; not by default: it downloads a Debian)
#   HEADWATER_BIN=FILE  test this binary instead of building one
#
# Needs these Debian packages, which it installs as root and otherwise lists: nginx-light caddy prometheus curl openssl
# sqlite3 python3. Installing them starts no service that was not running: policy-rc.d refuses it meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=("$@")
[ "${#parts[@]}" -gt 0 ] || parts=(proxies monitoring backup)

# --- packages
PATH=$PATH:/usr/sbin
missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need python3 python3
for part in "${parts[@]}"; do
    case $part in
    proxies)
        need nginx nginx-light
        need caddy caddy
        need curl curl
        need openssl openssl
        ;;
    monitoring) need prometheus prometheus ;;
    backup) need sqlite3 sqlite3 ;;
    container) need podman podman ;;
    systemd)
        need podman podman
        need debootstrap debootstrap
        ;;
    *)
        echo "no part of this test: $part (there are proxies, monitoring, backup, container, systemd)" >&2
        exit 2
        ;;
    esac
done
if [ "${#missing[@]}" -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing: sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    echo "installing ${missing[*]}"
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        trap 'rm -f "$policy"' EXIT
    fi
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
        >/dev/null </dev/null
fi

# --- the binary
if [ -z "${HEADWATER_BIN:-}" ]; then
    cargo build --quiet -p headwater
    HEADWATER_BIN=$(find "$PWD"/target/*/debug/headwater | head -n 1)
fi
export HEADWATER_BIN

# Runs tests/deploy/inside-systemd.sh in a container whose main process is systemd. PODMAN and PODMAN_RUN as in
# tests/deploy/container.py.
test_systemd() {
    local root=$PWD/target/deploy-systemd name=headwater-systemd-$$ command=(/lib/systemd/systemd) state=
    local podman run
    read -ra podman <<<"${PODMAN:-podman}"
    read -ra run <<<"${PODMAN_RUN:-}"
    if [ ! -e "$root/ready" ]; then
        rm -rf "$root"
        debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl,procps trixie "$root" >/dev/null
        touch "$root/ready"
    fi
    # This version of systemd needs to be asked for cgroups of version 1.
    [ -e /sys/fs/cgroup/cgroup.controllers ] ||
        command+=(SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 systemd.unified_cgroup_hierarchy=0)
    "${podman[@]}" run -d --name "$name" --systemd=always --network none --privileged "${run[@]}" \
        -v "$PWD/deploy:/deploy:ro" -v "$PWD/docs:/docs:ro" -v "$PWD/tests/deploy:/tests:ro" \
        -v "$HEADWATER_BIN:/headwater:ro" --rootfs "$root:O" "${command[@]}" >/dev/null
    for _ in $(seq 600); do
        state=$("${podman[@]}" exec "$name" systemctl is-system-running 2>/dev/null) || true
        case $state in running | degraded) break ;; esac
        sleep 0.1
    done
    local code=0
    "${podman[@]}" exec "$name" sh -c 'install -m 755 /headwater /usr/local/bin/headwater && bash /tests/inside-systemd.sh' ||
        code=$?
    "${podman[@]}" rm -f "$name" >/dev/null 2>&1
    return "$code"
}

failed=0
for part in "${parts[@]}"; do
    echo "== $part =="
    if [ "$part" = systemd ]; then
        test_systemd || failed=1
        continue
    fi
    python3 -W ignore "tests/deploy/$part.py" || failed=1
done
exit "$failed"
