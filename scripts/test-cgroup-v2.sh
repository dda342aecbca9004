#!/usr/bin/env bash
# Tests cgroup version 2 and project quotas: `make test-v2`. Many development machines have version 1 and a kernel
# without quotas, so this starts a separate kernel in a virtual machine (qemu, software emulation: needs neither root
# nor /dev/kvm) with version 2 only, mounted as systemd mounts it, and runs tests/vm/inside.sh in it as root. For the
# quotas it creates file systems of both kinds that support them, ext4 and XFS, in its memory.
#
# The machine has no disk and no network: its root is packed from the programs of this machine. Takes about nine
# minutes. Needs these Debian packages, which it installs as root and otherwise lists: qemu-system-x86 busybox-static
# cpio e2fsprogs xfsprogs curl. The kernel is downloaded by apt and unpacked, never installed.
#
#   scripts/test-cgroup-v2.sh            builds, runs, reports what passed; the exit code is 0 only if everything did
#   PROFILE=release     test the release binary
#   HEADWATER_BIN=FILE  test this statically linked binary instead of building one
#   VM_KEEP=1           keep the folder with the console's output
#   VM_PARTS=quotas     run this part only (cgroups, quotas)
set -euo pipefail
cd "$(dirname "$0")/.."

# The time limit of the machine, in seconds: a kernel that hangs fails the test.
patience=1200
[ "$(uname -m)" = x86_64 ] || { echo "this runs on x86_64 only" >&2; exit 1; }

# --- packages
missing=()
command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
command -v busybox >/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1 || missing+=(busybox-static)
command -v cpio >/dev/null || missing+=(cpio)
PATH=$PATH:/usr/sbin:/sbin
command -v mkfs.ext4 >/dev/null || missing+=(e2fsprogs)
command -v mkfs.xfs >/dev/null || missing+=(xfsprogs)
command -v curl >/dev/null || missing+=(curl)
if [ "${#missing[@]}" -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing: sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    echo "installing ${missing[*]}"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
        >/dev/null </dev/null
fi

# --- the programs under test: the binary, and the unit tests of the crate that uses cgroups
profile=${PROFILE:-dev}
[ -n "${HEADWATER_BIN:-}" ] || cargo build --quiet --profile "$profile" -p headwater
tests=$(cargo test --quiet --profile "${profile/#dev/test}" -p headwater-sandbox --lib --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
host=$(rustc -vV | sed -n 's/^host: //p')
binary=${HEADWATER_BIN:-"$target/$host/${profile/#dev/debug}/headwater"}

# --- the kernel and the modules that it needs, kept in the target folder
kernels="$target/vm-kernel"
vmlinuz=$(find "$kernels" -name 'vmlinuz-*' -print -quit 2>/dev/null || true)
if [ -z "$vmlinuz" ] || [ ! -d "$kernels/modules" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
    echo "downloading $package"
    rm -rf "$kernels"
    mkdir -p "$kernels"
    (
        cd "$kernels" && apt-get download -qq "$package" && dpkg -x "$package"_*.deb . && mkdir modules
        for module in brd quota_tree quota_v2 libcrc32c xfs; do # those that are not built in
            find lib usr/lib -name "$module.ko*" -exec cp {} modules/ \; 2>/dev/null || true
        done
        find modules -name '*.xz' -exec unxz {} +
        rm -rf "$package"_*.deb lib usr/lib
    )
    vmlinuz=$(find "$kernels" -name 'vmlinuz-*' -print -quit)
fi

# --- the root
folder=$(mktemp -d "${TMPDIR:-/tmp}/headwater-vm-XXXXXX")
machine=
clean_up() {
    [ -z "$machine" ] || kill "$machine" 2>/dev/null || true
    [ -n "${VM_KEEP:-}" ] && echo "kept: $folder" || rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

root="$folder/root"
mkdir -p "$root"/usr/{bin,lib,lib64,sbin} "$root"/{dev,etc,proc,sys,tmp,root,home,var,run}
for name in bin lib lib64 sbin; do ln -s "usr/$name" "$root/$name"; done
chmod 1777 "$root/tmp"
printf 'root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n' >"$root/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"

# Copies a program and the libraries it is linked with.
pack() {
    local library
    cp -L "$(PATH=/usr/bin:/bin:/usr/sbin:/sbin type -P "$1")" "$root/usr/bin/"
    ldd "$root/usr/bin/$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; }
    done
}
for program in bash sh perl cat chmod chown cp cut dmesg env find grep head id ls mkdir mount rmdir rm sed seq setpriv setsid \
    sleep sort tail tee timeout touch tr true umount unshare wc cksum curl df du mkfs.ext4 mkfs.xfs mv ln tune2fs; do
    pack "$program"
done
if [ -d /usr/lib/locale/C.utf8 ]; then # or perl complains
    mkdir -p "$root/usr/lib/locale" && cp -r /usr/lib/locale/C.utf8 "$root/usr/lib/locale/"
fi
cp "$(command -v busybox)" "$root/usr/bin/busybox"
strip -o "$root/usr/bin/headwater" "$binary"
strip -o "$root/usr/bin/sandbox-tests" "$tests"
cp tests/vm/*.sh "$root/root/"
cp -r "$kernels/modules" "$root/root/modules"
# The first root of a kernel cannot be left by pivot_root, which sessions need: the real one is a tmpfs.
cat >"$root/init" <<'END'
#!/usr/bin/busybox sh
/usr/bin/busybox mkdir /new
/usr/bin/busybox mount -t tmpfs -o size=75% root /new
/usr/bin/busybox cp -a /usr /bin /lib /lib64 /sbin /etc /dev /proc /sys /tmp /root /home /var /run /new/
exec /usr/bin/busybox switch_root /new /bin/bash /root/inside.sh
END
chmod 755 "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$folder/initramfs"

# --- the machine: it powers itself off
console="$folder/console.log"
: >"$console"
nice timeout "$patience" qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 3072 -display none -monitor none -nic none \
    -no-reboot -serial "file:$console" -kernel "$vmlinuz" -initrd "$folder/initramfs" \
    -append "console=ttyS0 quiet panic=-1 cgroup_no_v1=all ${VM_PARTS:+parts=$VM_PARTS}" </dev/null &
machine=$!
[ -z "${VM_KEEP:-}" ] || echo "$machine" >"$folder/pid"
tail -n +1 -f --pid="$machine" "$console" | sed -u 's/\r$//' || true
ended=0
wait "$machine" || ended=$?
machine=
[ "$ended" -eq 0 ] || { echo "the machine did not shut down within $patience s ($ended)" >&2; exit 1; }

# The last line has the number of passed and failed tests; without it the kernel or the script has died.
result=$(tr -d '\r' <"$console" | sed -n 's/^RESULT //p' | tail -n 1)
case $result in
*" 0 failed") echo "cgroup version 2 and project quotas: $result" ;;
"") echo "the machine shut down before its tests ended" >&2; exit 1 ;;
*) echo "cgroup version 2 and project quotas: $result" >&2; exit 1 ;;
esac
