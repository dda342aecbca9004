//! The walls around real programs, in sessions of root and of an ordinary user: what they can see, change and
//! reach.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may panic

mod support;

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use support::{BOTH, Starter, TestSession, collect};

/// Makes a system call by number from Perl, which every Debian has, and prints its error number or 0.
fn syscall(call: libc::c_long, arguments: &str) -> String {
    format!(
        "perl -e '$! = 0; my $r = syscall({call}{arguments}); print \"call={{\" . ($r < 0 ? $!+0 : 0) . \"}}\\n\";'"
    )
}

#[test]
fn programs_are_an_unprivileged_user_without_capabilities() {
    for starter in BOTH {
        let session = TestSession::new(starter);
        let text = session
            .run("id -u; id -g; id -G; grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status; touch f")
            .ok();
        assert!(text.starts_with("1000\n1000\n1000\n"), "{text}");
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(text.contains(&format!("{set}:\t0000000000000000")), "{text}");
        }
        assert!(text.contains("NoNewPrivs:\t1") && text.contains("Seccomp:\t2"), "{text}");
        let file = session.workspace("f").metadata().unwrap();
        assert_eq!((file.uid(), file.gid()), (starter.host_uid(), starter.host_uid()));
    }
}

#[test]
fn nothing_of_the_host_is_in_sight_but_what_was_bound() {
    for starter in BOTH {
        let session = TestSession::new(starter);
        let canary = session.host("canary");
        std::fs::write(&canary, "tweet").unwrap();
        let (path, name) = (canary.to_str().unwrap(), "/opt/deep/canary");
        let script = format!(
            "cat {path} /proc/1/root{path} /proc/self/root{path} ../../..{path}; ls /root /home /sys /boot"
        );
        let text = session.run(&script).text;
        assert!(!text.contains("tweet"), "{text}");

        let session = session.with(&["--bind", &format!("{path}:{name}")]);
        let text = session.run(&format!("cat {name}; echo; echo x > {name}")).text;
        assert!(text.contains("tweet\n") && text.contains("Read-only file system"), "{text}");
        assert_eq!(std::fs::read_to_string(&canary).unwrap(), "tweet");
    }
}

#[test]
fn only_the_workspace_and_the_private_folders_can_be_written() {
    for starter in BOTH {
        let session = TestSession::new(starter);
        let text = session
            .run(
                "for f in /x /usr/x /usr/bin/x /etc/x /etc/ssl/x /dev/x /proc/x /run/x /home/x /var/x; do \
                 touch $f && echo WROTE $f; done; echo x >> /etc/passwd && echo WROTE; \
                 for f in /workspace/x /tmp/x /var/tmp/y /dev/shm/x; do touch $f && echo fine; done",
            )
            .text;
        assert!(!text.contains("WROTE"), "{text}");
        assert_eq!(text.matches("fine").count(), 4, "{text}");
        assert!(session.workspace("x").exists());
        assert!(!std::path::Path::new("/usr/x").exists());
    }
}

#[test]
fn no_mount_has_set_user_id_programs_and_only_device_files_have_devices() {
    for starter in BOTH {
        let text = TestSession::new(starter).run("cat /proc/self/mountinfo").ok();
        assert!(text.lines().count() > 20, "{text}");
        for line in text.lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let (place, options) = (fields[4], fields[5].split(',').collect::<Vec<_>>());
            assert!(options.contains(&"nosuid"), "{line}");
            let device = line.contains(" - devtmpfs ") || line.contains(" - devpts ");
            assert!(device || options.contains(&"nodev"), "{line}");
            let writable =
                ["/workspace", "/tmp", "/dev/", "/proc"].iter().any(|start| place.starts_with(start));
            assert!(writable || options.contains(&"ro"), "{line}");
        }
        assert!(!text.contains(" - sysfs ") && !text.contains(" - cgroup"), "{text}");
    }
}

#[test]
fn entries_of_proc_that_reveal_or_change_the_host_are_masked() {
    for starter in BOTH {
        let text = TestSession::new(starter)
            .run(
                "for f in kcore kmsg keys key-users kallsyms timer_list slabinfo vmallocinfo config.gz iomem cmdline; do \
                 test -e /proc/$f && test -n \"$(head -c1 /proc/$f | tr '\\0' 0)\" && echo LEAK $f; done; \
                 for d in acpi bus fs irq driver; do test -n \"$(ls /proc/$d 2>/dev/null)\" && echo LEAK $d; done; \
                 echo 1 > /proc/sys/vm/drop_caches && echo WROTE; echo x > /proc/sys/kernel/hostname && echo WROTE; \
                 echo b > /proc/sysrq-trigger && echo WROTE; \
                 for f in meminfo cpuinfo stat uptime loadavg version; do test -s /proc/$f -o -n \"$(cat /proc/$f)\" && echo fine; done",
            )
            .text;
        assert!(!text.contains("LEAK") && !text.contains("WROTE"), "{text}");
        assert_eq!(text.matches("fine").count(), 6, "{text}");
    }
}

#[test]
fn init_can_be_neither_read_nor_traced_nor_signalled() {
    for starter in BOTH {
        let session = TestSession::new(starter);
        let attach = syscall(libc::SYS_ptrace, ", 16, 1, 0, 0");
        let attach_own = syscall(libc::SYS_ptrace, ", 16, $ARGV[0]+0, 0, 0").replace("\";'", "\";' $own");
        let text = session
            .run(&format!(
                "cat /proc/1/environ /proc/1/mem /proc/1/maps && echo READ; ls /proc/1/fd /proc/1/root/ && echo READ; \
                 kill -9 1 && echo SENT; kill -0 1 && echo SENT; kill -9 -1; {attach}; sleep 100 & own=$!; {attach_own}; \
                 kill -9 $own; echo end"
            ))
            .ok();
        assert!(!text.contains("READ") && !text.contains("SENT"), "{text}");
        let (first, second) = (text.find("call={1}"), text.find("call={0}"));
        assert!(first.is_some() && second > first, "init refuses a tracer, an own child does not: {text}");
        assert!(text.contains("end"), "{text}");
    }
}

#[test]
fn processes_of_the_host_are_out_of_reach() {
    for starter in BOTH {
        let mut victim = Command::new("sleep").arg("1000").spawn().unwrap();
        let text = TestSession::new(starter)
            .run(&format!("kill -9 {} ; ls -d /proc/[0-9]* | wc -l", victim.id()))
            .ok();
        assert!(victim.try_wait().unwrap().is_none(), "the victim has ended");
        victim.kill().unwrap();
        victim.wait().unwrap();
        let count: u32 = text.trim().lines().last().unwrap().parse().unwrap();
        assert!(count <= 5, "{text}");
    }
}

#[test]
fn the_network_is_a_separate_loopback_device() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reach = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    assert!(Command::new("bash").args(["-c", &reach]).status().unwrap().success(), "the host reaches it");
    for starter in BOTH {
        let own = "perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die; \
                   IO::Socket::INET->new(\"127.0.0.1:\" . $l->sockport) or die; print \"own loopback\\n\"'";
        let text = TestSession::new(starter)
            .run(&format!(
                "({reach}) && echo REACHED; tail -n +3 /proc/net/dev | cut -d: -f1 | sed s/^/dev=/; {own}"
            ))
            .ok();
        assert!(!text.contains("REACHED"), "{text}");
        assert!(text.contains("own loopback"), "{text}");
        let devices: Vec<_> = text.lines().filter(|line| line.starts_with("dev=")).collect();
        assert!(matches!(devices[..], [device] if device.ends_with("lo")), "{text}");
    }
}

#[test]
fn a_terminal_can_be_opened_and_its_input_cannot_be_faked() {
    for starter in BOTH {
        let fake = syscall(libc::SYS_ioctl, ", 0, 0x5412, my $x = \"x\"");
        let size = syscall(libc::SYS_ioctl, ", 0, 0x5413, my $x = \"x\" x 8");
        let session = TestSession::new(starter);
        std::fs::write(session.workspace("s"), format!("tty; {fake}; {size}\n")).unwrap();
        let text = session.run("script -qec 'bash s' /dev/null").ok();
        assert!(text.contains("/dev/pts/0"), "{text}");
        assert!(text.contains("call={1}") && text.contains("call={0}"), "{text}");
    }
}

#[test]
fn real_processes_get_the_answers_of_the_filter() {
    let cases: [(libc::c_long, &str, i32); 14] = [
        (libc::SYS_unshare, ", 0x10000000", libc::EPERM),
        (libc::SYS_setns, ", 0, 0", libc::EPERM),
        (libc::SYS_mount, ", 0, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_clone3, ", 0, 0", libc::ENOSYS),
        (libc::SYS_clone, ", 0x10000011, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_io_uring_setup, ", 1, 0", libc::EPERM),
        (libc::SYS_bpf, ", 0, 0, 0", libc::EPERM),
        (libc::SYS_keyctl, ", 0, 0", libc::EPERM),
        (libc::SYS_userfaultfd, ", 1", libc::EPERM),
        (libc::SYS_socket, ", 40, 1, 0", libc::EAFNOSUPPORT),
        (libc::SYS_socket, ", 2, 1, 0", 0),
        (libc::SYS_personality, ", 8", libc::EPERM),
        (1000, "", libc::ENOSYS),
        (libc::SYS_getpid | 0x4000_0000, "", libc::ENOSYS),
    ];
    for starter in BOTH {
        let script =
            cases.iter().map(|(call, arguments, _)| syscall(*call, arguments)).collect::<Vec<_>>().join("\n");
        let text = TestSession::new(starter).run(&script).ok();
        let expected: Vec<_> = cases.iter().map(|(.., errno)| format!("call={{{errno}}}")).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_32_bit_entry_ends_the_process() {
    let source = "int main(void) { int pid = 20; __asm__ volatile(\"int $0x80\" : \"+a\"(pid)); return 0; }";
    for starter in BOTH {
        let session = TestSession::new(starter);
        std::fs::write(session.workspace("a.c"), source).unwrap();
        let text = session.run("gcc a.c -o a && echo compiled; ./a; echo \"ended $?\"").ok();
        assert!(text.contains("compiled") && text.contains("ended 159"), "{text}");
        let outside = Command::new(session.workspace("a")).status().unwrap();
        assert!(outside.success(), "without walls it runs: {outside}");
    }
}

#[test]
fn a_program_can_read_its_tag_and_cannot_change_it() {
    for starter in BOTH {
        let set = "my $limit = pack(\"QQ\", 77, 77)";
        let prlimit = |resource: u32, extra: &str| {
            let call = syscall(libc::SYS_prlimit64, &format!(", 0, {resource}, $limit, 0{extra}"));
            call.replace("$! = 0;", &format!("$! = 0; {set};"))
        };
        let read = syscall(libc::SYS_prlimit64, ", 0, 15, 0, my $old = \"x\" x 16");
        let script = [prlimit(15, ""), prlimit(15, ", 0, 1"), prlimit(7, ""), read].join("\n");
        let text = TestSession::new(starter).run(&format!("{script}\nulimit -R 5 || echo refused")).text;
        assert!(text.starts_with("call={1}\ncall={1}\ncall={0}\ncall={0}\n"), "{text}");
        assert!(text.contains("refused"), "{text}");
    }
}

#[test]
fn private_folders_are_as_large_as_the_setup_says() {
    for starter in BOTH {
        let text = TestSession::new(starter)
            .run(
                "for d in /tmp /dev/shm; do head -c 15M /dev/zero > $d/f && echo fits; \
                 head -c 17M /dev/zero > $d/f || echo full; rm $d/f; \
                 for i in $(seq 1100); do : > $d/$i || { echo no inode; break; }; done; done",
            )
            .text;
        for (what, count) in [("fits", 2), ("full", 2), ("no inode", 2)] {
            assert_eq!(text.matches(what).count(), count, "{text}");
        }
    }
}

#[test]
fn an_open_descriptor_of_the_starter_does_not_come_along() {
    let session = TestSession::new(Starter::Root);
    let canary = session.host("canary");
    std::fs::write(&canary, "tweet").unwrap();
    let inner = session.command("exec 2>&1; cat <&9; ls /proc/self/fd | wc -w");
    let mut outer = Command::new("bash");
    outer.arg("-c").arg("exec 9<\"$0\"; cat <&9; exec 9<\"$0\"; exec \"$@\"").arg(&canary);
    outer.arg(inner.get_program()).args(inner.get_args());
    let ran = collect(outer);
    assert!(ran.text.starts_with("tweet"), "the starter has it: {ran:?}");
    assert_eq!(ran.text.matches("tweet").count(), 1, "{ran:?}");
    assert!(ran.text.contains("Bad file descriptor") && ran.text.trim_end().ends_with('4'), "{ran:?}");
}

#[test]
fn compilers_debuggers_and_threads_work_inside() {
    for starter in BOTH {
        let session = TestSession::new(starter);
        let source = "#include <pthread.h>\nstatic void *f(void *p) { return p; }\n\
                      int main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n";
        std::fs::write(session.workspace("a.c"), source).unwrap();
        let text = session
            .run("gcc -g -pthread a.c -o a && ./a && echo threads; bash -c 'echo $(echo nested | cat)'")
            .ok();
        assert!(text.contains("threads") && text.contains("nested"), "{text}");
    }
}

#[test]
fn a_setup_that_would_leave_a_hole_is_refused() {
    let session = TestSession::new(Starter::Root);
    let refused = |options: &[&str], workspace: &str| {
        let mut command = Command::new(support::walled());
        command.args(options).arg(workspace).args(["echo", "INSIDE"]);
        let ran = collect(command);
        assert!(!ran.text.contains("INSIDE"), "{ran:?}");
        assert!(ran.text.contains("fix: "), "{ran:?}");
        ran.text
    };
    let workspace = session.workspace("");
    let workspace = workspace.to_str().unwrap();
    assert!(refused(&[], workspace).contains("`identity`"));
    assert!(refused(&["--uid", "0"], workspace).contains("`identity`"));
    // The workspace is named as the session sees it, never by its host path.
    let missing = refused(&["--uid", "65001"], "/nowhere");
    assert!(missing.contains("the workspace") && !missing.contains("/nowhere"), "{missing}");
    for inside in ["/workspace/x", "/proc/x", "/", "/opt/../workspace", "opt"] {
        let bind = format!("/usr:{inside}");
        assert!(refused(&["--uid", "65001", "--bind", &bind], workspace).contains("nothing can be bound"));
    }
}

#[test]
fn without_walls_init_still_reaps_orphans_and_starts_in_the_workspace() {
    let session = TestSession::new(Starter::Root).with(&["--none"]);
    let canary = session.host("canary");
    std::fs::write(&canary, "tweet").unwrap();
    // The orphan waits until its parent has changed; the script waits for the orphan's result.
    let orphan = "(me=$BASHPID; parent() { cut -d' ' -f4 /proc/$me/stat; }; \
                  while test $(parent) = $$; do :; done; parent > found; mv found parent) &";
    std::fs::write(session.workspace("orphan"), orphan).unwrap();
    let script = format!(
        "cat {}; echo; pwd; bash orphan; until test -e parent; do :; done; test $(cat parent) = $PPID && echo reaped",
        canary.display()
    );
    let text = session.run(&script).ok();
    let workspace = session.workspace("");
    assert!(text.contains("tweet") && text.contains("reaped"), "{text}");
    assert!(text.contains(workspace.to_str().unwrap().trim_end_matches('/')), "{text}");
}

#[test]
fn a_prepared_etc_replaces_the_one_created_entry_by_entry() {
    for starter in BOTH {
        let session = TestSession::new(starter);
        let bind = headwater_sandbox::walls::prepare_etc(&session.host("")).unwrap();
        let option = format!("{}:{}", bind.host, bind.inside);
        let names = |session: &TestSession| {
            session.run("cd /etc; ls; id -un; touch x || grep -c ' /etc ' /proc/self/mountinfo; true").ok()
        };
        let made = names(&session);
        let prepared = names(&session.with(&["--bind", &option]));
        assert!(made.contains("passwd") && made.contains("user\n") && made.ends_with("0\n"), "{made}");
        assert_eq!(prepared.trim_end_matches("1\n"), made.trim_end_matches("0\n"));
    }
}
