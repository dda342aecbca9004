# shellcheck shell=bash
# Project quotas of ext4 and XFS: sourced by inside.sh. The kernel reports how much a session holds; perl reads it with
# `quotactl_fd(2)` (443).

disk=/disk
mkdir $disk
limit=67108864 # 64 MiB, of each session here
# The RAM disks of 512 MiB each for the file systems.
for module in brd quota_tree quota_v2 libcrc32c xfs; do
    options=
    [ $module = brd ] && options="rd_nr=2 rd_size=524288"
    # shellcheck disable=SC2086 # two words
    [ ! -e "/root/modules/$module.ko" ] || busybox insmod "/root/modules/$module.ko" $options
done
busybox ifconfig lo up
export HEADWATER_URL=http://127.0.0.1:8080

# ---- programs: sessions see /usr/bin

# fill BYTES COUNT: writes COUNT files of BYTES each as fast as it can, ignoring SIGTERM; prints how many it wrote and the
# error that stopped it.
cat >/usr/bin/fill <<'END_OF_PROGRAM'
#!/usr/bin/perl
my ($bytes, $count) = @ARGV;
$SIG{TERM} = "IGNORE";
sub stopped { print "$_[0] files, then: $!\n"; exit 1 }
mkdir "filled";
for my $n (1 .. $count) {
    open my $file, ">", "filled/$n" or stopped($n - 1);
    for (my $at = 0; $at < $bytes;) { $at += syswrite($file, "x" x ($bytes - $at)) || stopped($n - 1) }
}
print "all $count files\n";
END_OF_PROGRAM
# set-project FOLDER PROJECT: 0 for none.
cat >/usr/bin/set-project <<'END_OF_PROGRAM'
#!/usr/bin/perl
sysopen my $folder, $ARGV[0], 0 or die $!;
my $wanted = pack "L5 x8", $ARGV[1] ? 0x200 : 0, 0, 0, $ARGV[1], 0;
print ioctl($folder, 0x401c5820, $wanted) ? "set" : "refused: $!";
END_OF_PROGRAM
# project FOLDER: the project of new files in it; 0 for none.
cat >/usr/bin/project <<'END_OF_PROGRAM'
#!/usr/bin/perl
sysopen my $folder, $ARGV[0], 0 or die $!;
my $found = "\0" x 28;
ioctl $folder, 0x801c581f, $found or die $!;
my ($flags, $size, $extents, $project) = unpack "L4", $found;
print $flags & 0x200 ? $project : 0;
END_OF_PROGRAM
# quota FOLDER PROJECT [FILE]: bytes, inodes, and the limits of both (the first in KiB). With a file: the most bytes that
# were ever seen, until that file is removed.
cat >/usr/bin/quota <<'END_OF_PROGRAM'
#!/usr/bin/perl
my ($path, $project, $file) = @ARGV;
sysopen my $folder, $path, 0 or die $!;
my $most = 0;
do {
    my $found = "\0" x 72;
    my @quota = syscall(443, fileno $folder, 0x80000702, $project + 0, $found) ? () : unpack "Q6", $found;
    $most = $quota[2] if $quota[2] > $most;
    print @quota ? "@quota[2, 5, 0, 3]" : "0 0 0 0" unless $file;
} while ($file && -e $file);
print $most if $file;
END_OF_PROGRAM
# set-quota FOLDER PROJECT KIB
cat >/usr/bin/set-quota <<'END_OF_PROGRAM'
#!/usr/bin/perl
sysopen my $folder, $ARGV[0], 0 or die $!;
my $wanted = pack "Q8 L x4", $ARGV[2], 0, 0, 0, 0, 0, 0, 0, 1;
syscall(443, fileno $folder, 0x80000802, $ARGV[1] + 0, $wanted) and die $!;
END_OF_PROGRAM
chmod 755 /usr/bin/{fill,project,quota,set-project,set-quota}

# ---- the server

serve() {
    headwater serve >>"$HEADWATER_DATA/serve.log" 2>&1 &
    server=$!
    soon "the server is ready" ready
}
ready() { [ "$(api GET sessions)" = 200 ]; }
# unserve [OPTION...]: of `headwater stop`; without one the sessions hibernate.
unserve() {
    env -u HEADWATER_URL headwater stop "$@" >/dev/null
    wait "$server" 2>/dev/null
    grep -hE 'WARN|ERROR|quota' "$HEADWATER_DATA"/*.log | sed 's/^/  log: /' | head -n 20
}
# api METHOD PATH [OPTION...]: the status; the body is in /run/body.
api() {
    local method=$1 path=$2
    shift 2
    { curl -sS -m 120 -o /run/body -w '%{http_code}' -X "$method" \
        -H "Authorization: Bearer $(cat "$HEADWATER_DATA/token")" "$@" "$HEADWATER_URL/v1/$path"; } 2>/dev/null
}
# post PATH JSON
post() { api POST "$1" -H 'Content-Type: application/json' -d "$2"; }
workspace() { echo "$HEADWATER_DATA/sessions/$1/workspace"; }
quotas_of_doctor() { headwater doctor --json | sed 's/},{/}\n{/g' | grep -E '"(project quotas|disk limit)"'; }
# run SESSION PROGRAM...: its output and its verdict, as JSON lines.
run() {
    local session=$1
    shift
    headwater run --json --session "$session" -- "$@" </dev/null 2>&1
}
# What a session holds is what the kernel counts: nothing in its workspace is of another project.
counted() {
    local found
    found=$(quota "$1" "$2")
    is "$3: inodes in the project" "$(cut -d ' ' -f 2 <<<"$found")" "$(find "$1" | wc -l)"
    is "$3: bytes in the project" "$(cut -d ' ' -f 1 <<<"$found")" "$(du -s --block-size=1 "$1" | cut -f 1)"
}

# fills SESSION WORKSPACE PROJECT LIMIT: a program that wants 400 MiB gets the limit and not a block more.
fills() {
    local output file=/run/looking most looking
    touch $file
    quota "$2" "$3" $file >/run/most &
    looking=$!
    output=$(run "$1" fill 65536 6400)
    rm $file
    wait $looking
    has "the kernel stops a fast writer" "$output" "$refused"
    is "and ends by itself" "$(field reason <<<"$output")" exited
    between "bytes at most, as seen while it ran" "$(cat /run/most)" $(($4 - 2097152)) "$4"
    between "bytes in the end, by du" "$(du -s --block-size=1 "$2" | cut -f 1)" $(($4 - 2097152)) "$4"
}

# used WHAT SESSION: everything that moves files into a workspace, whatever the file system does.
used() {
    local snapshot
    is "$1: PUT" "$(api PUT "sessions/$2/files/content?path=new/$1/file" --data-binary @/root/inside.sh)" 201
    is "$1: archive" "$(api GET "sessions/$2/files/archive?path=new&format=tar")" 200
    cp /run/body /run/archive
    is "$1: unpack" "$(api PUT "sessions/$2/files/archive?path=un/$1&format=tar" --data-binary @/run/archive)" 200
    is "$1: copy" "$(post "sessions/$2/files/copy" "{\"from\": \"new\", \"to\": \"copied/$1\"}")" 200
    is "$1: snapshot" "$(post "sessions/$2/snapshots" '{"name": "one"}')" 201
    snapshot=$(field id </run/body)
    is "$1: restore" "$(post "sessions/$2/snapshots/$snapshot/restore" '{}')" 200
    is "$1: fork" "$(post "sessions/$2/fork" '{}')" 201
    has "$1: run" "$(run "$2" mv "copied/$1" "moved-$1")" '"code":0,'
}

# ---- without project quotas: the positive control

# watched NAME: the same writer passes the limit, because somebody has to look first.
watched() {
    local session output
    data "$disk/$1"
    serve
    session=$(headwater sessions create --disk 64Mi)
    is "a workspace has no project" "$(project "$(workspace "$session")")" 0
    output=$(run "$session" fill 65536 6400)
    is "a fast writer is ended by the worker" "$(field reason <<<"$output")" disk_limit
    between "bytes that it wrote" "$(du -s --block-size=1 "$(workspace "$session")" | cut -f 1)" $((limit + 1)) 500000000
    unserve --end-sessions --yes
}

# ---- with them

enforced() {
    local session other found project place snapshot
    found=$(quotas_of_doctor)
    say "$found"
    has "doctor: in force" "$found" '"project quotas","ok":true,"detail":"in force on the data folder: the kernel'
    has "doctor: the limit is the kernel's" "$found" '"disk limit","ok":true,"detail":"project quota: the kernel refuses'
    mkdir "$disk/tmp"
    TMPDIR="$disk/tmp" timeout 120 sandbox-tests quota >/run/tests 2>&1
    is "unit tests that failed" "$(sed -n 's/^test result: .* \([0-9]*\) failed.*/\1/p' /run/tests)" 0
    grep -E '^test .*FAILED|panicked|^  left|^ right' /run/tests | sort -u | sed 's/^/  /'
    data "$disk/$1"
    serve

    session=$(headwater sessions create --disk 64Mi --inodes 3000)
    place=$(workspace "$session")
    project=$(project "$place")
    between "a workspace has a project" "$project" 1 4294967294
    has "limits of KiB and inodes" "$(quota "$place" "$project")" " 65536 3001"
    is "as a program sees it, in KiB" \
        "$(headwater run --session "$session" -- df -k --output=size /workspace </dev/null | tail -n 1 | tr -d ' ')" 65536
    fills "$session" "$place" "$project" $limit
    is "after that the session still runs things" "$(run "$session" rm -r filled | field reason)" exited
    has "and has space again" "$(run "$session" fill 65536 100)" "all 100 files"
    run "$session" rm -r filled >/dev/null
    has "files without number are refused" "$(run "$session" fill 1 5000)" "$refused"
    between "inodes" "$(find "$place" | wc -l)" 2900 3001
    run "$session" rm -r filled >/dev/null
    has "a program cannot leave its project" "$(run "$session" set-project . 0)" "refused: "
    is "and has not" "$(project "$place")" "$project"
    is "as root of the host could" "$(set-project "$disk/tmp" 7)" set

    head -c 6291456 /dev/urandom >/run/data
    is "PUT" "$(api PUT "sessions/$session/files/content?path=a/b/data" --data-binary @/run/data)" 201
    is "PUT over it" "$(api PUT "sessions/$session/files/content?path=a/b/data" --data-binary @/run/data)" 200
    is "GET of an archive" "$(api GET "sessions/$session/files/archive?path=a&format=tar")" 200
    cp /run/body /run/archive
    is "unpack" "$(api PUT "sessions/$session/files/archive?path=un/packed&format=tar" --data-binary @/run/archive)" 200
    is "copy" "$(post "sessions/$session/files/copy" '{"from": "a", "to": "co/pied"}')" 200
    is "move" "$(post "sessions/$session/files/move" '{"from": "un/packed", "to": "co/moved"}')" 200
    is "a program moves, links and removes" "$(headwater run --session "$session" \
        --shell 'mv co/moved/b/data kept && ln kept more && rm more && echo ok')" ok
    is "the result" "$(find "$place" -type f -size +6143k -size -6145k | wc -l)" 3
    counted "$place" "$project" "after all that"
    head -c 73400320 /dev/zero >/run/much
    is "PUT of more than fits" \
        "$(api PUT "sessions/$session/files/content?path=much" --data-binary @/run/much)" 413

    is "snapshot" "$(post "sessions/$session/snapshots" '{"name": "one"}')" 201
    snapshot=$(field id </run/body)
    between "KiB that it leaves of the limit" "$(quota "$place" "$project" | cut -d ' ' -f 3)" 46000 47200
    has "a program that takes most of the rest" "$(run "$session" fill 65536 400)" "all 400 files"
    is "restore" "$(post "sessions/$session/snapshots/$snapshot/restore" '{}')" 200
    is "the result" "$(find "$place" -type f | wc -l)" 3
    is "the same as before" "$(cat "$place/kept" | cksum)" "$(cksum </run/data)"
    counted "$place" "$project" "after the restore"
    fills "$session" "$place" "$project" $(($(quota "$place" "$project" | cut -d ' ' -f 3) * 1024))
    run "$session" rm -r filled >/dev/null
    is "fork" "$(post "sessions/$session/fork" '{"name": "other"}')" 201
    other=$(field id </run/body)
    counted "$(workspace "$other")" "$(project "$(workspace "$other")")" "fork"
    has "its limits" "$(quota "$place" "$(project "$(workspace "$other")")")" " 65536 3001"
    has "are its own" "$(run "$other" fill 65536 6400)" "$refused"
    has "and do not touch the other's" "$(run "$session" fill 65536 100)" "all 100 files"
    run "$session" rm -r filled >/dev/null
    is "DELETE of the snapshot" "$(api DELETE "sessions/$session/snapshots/$snapshot")" 204
    has "what it took is free again" "$(quota "$place" "$project")" " 65536 3001"

    is "PATCH of the limit" "$(api PATCH "sessions/$session" -H 'Content-Type: application/json' \
        -d '{"limits": {"disk_bytes": 50331648}}')" 200
    has "holds at once" "$(quota "$place" "$project")" " 49152 3001"
    is "hibernate" "$(api POST "sessions/$session/hibernate")" 200
    has "a resumed session has its limit" "$(run "$session" fill 65536 6400)" "$refused"
    kill -9 "$(worker_of_server)"
    run "$session" rm -r filled >/dev/null
    fills "$session" "$place" "$project" 50331648
    is "its project is the same" "$(project "$place")" "$project"
    headwater sessions end --yes "$session" >/dev/null
    is "no limit is left of a session that has ended" "$(quota "$disk" "$project")" "0 0 0 0"
    unserve --end-sessions --yes
}
# operators NAME: a data folder that the operator has put into a project stays in it, and so does the operator's limit.
operators() {
    local session
    data "$disk/$1"
    is "the operator's project" "$(set-project "$HEADWATER_DATA" 42)" set
    set-quota "$disk" 42 400000
    has "doctor: not used" "$(quotas_of_doctor)" '"detail":"not used: the data folder is already in a project'
    serve
    session=$(headwater sessions create --disk 64Mi)
    is "a workspace is in the operator's project" "$(project "$(workspace "$session")")" 42
    used operators "$session"
    headwater sessions end --yes "$session" >/dev/null
    unserve --end-sessions --yes
    has "the operator's limit stays" "$(quota "$disk" 42)" " 400000 0"
}
worker_of_server() {
    local file
    for file in /proc/[0-9]*/cmdline; do
        case $(tr '\0' ' ' <"$file" 2>/dev/null) in
        *headwater*" worker "* | *headwater*" worker") file=${file#/proc/} && echo "${file%/cmdline}" ;;
        esac
    done
}

heading "ext4 without project quotas"
mkfs.ext4 -q /dev/ram0
mount /dev/ram0 $disk
found=$(HEADWATER_DATA=$disk/none quotas_of_doctor)
say "$found"
has "doctor: not in force" "$found" '"project quotas","ok":true,"detail":"not in force'
has "doctor: how to enable them" "$found" 'tune2fs -O project,quota DEVICE'
watched off
umount $disk

heading "ext4 that counts projects without enforcing limits"
is "doctor's advice" "$(tune2fs -O project,quota /dev/ram0 >/dev/null && echo done)" "done"
mount /dev/ram0 $disk
found=$(HEADWATER_DATA=$disk/none quotas_of_doctor)
say "$found"
has "doctor: not in force" "$found" '"project quotas","ok":true,"detail":"not in force'
has "doctor: how to enable them" "$found" '"fix":"unmount the file system and mount it with the option `prjquota`'
watched counted
data $disk/kept
serve
before=$(headwater sessions create)
used before "$before"
unserve
umount $disk

heading "ext4 with project quotas"
refused="Disk quota exceeded"
mount -o prjquota /dev/ram0 $disk
enforced on
export HEADWATER_DATA=$disk/kept
serve
used on "$before"
is "a session from before has no project" "$(project "$(workspace "$before")")" 0
since=$(headwater sessions create --disk 64Mi)
used since "$since"
project=$(project "$(workspace "$since")")
between "a new one has" "$project" 1 4294967294
unserve
operators theirs
export HEADWATER_DATA=$disk/kept
umount $disk

heading "ext4 whose project quotas were disabled again"
mount /dev/ram0 $disk
serve
used off "$before"
used off "$since"
is "its project stays with it" "$(project "$(workspace "$since")")" "$project"
is "a fast writer is ended by the worker" "$(run "$since" fill 65536 6400 | field reason)" disk_limit
unserve --end-sessions --yes
umount $disk

heading "XFS without project quotas"
mkfs.xfs -q /dev/ram1
mount /dev/ram1 $disk
found=$(HEADWATER_DATA=$disk/none quotas_of_doctor)
say "$found"
has "doctor: not in force" "$found" '"project quotas","ok":true,"detail":"not in force'
watched off
umount $disk

heading "XFS with project quotas"
refused="No space left on device" # as XFS says when a project is full
mount -o prjquota /dev/ram1 $disk
enforced on
umount $disk
