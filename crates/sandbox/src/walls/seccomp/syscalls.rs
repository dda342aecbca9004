//! The lists of the filter. Allowed is what compilers, interpreters, package managers and debuggers of their
//! own children need; calls on no list fail with `EPERM`.
//!
//! Deliberately refused, among others: everything about mounts and namespaces, modules, `bpf`,
//! `perf_event_open`, `userfaultfd`, `io_uring_*`, key rings, clocks, file handles, `pidfd_getfd`, POSIX
//! message queues, `iopl`.

use libc::c_long;

/// The first number that was not in the kernel's table when these lists were written (Linux 6.18).
pub(super) const KNOWN_END: usize = 470;

/// Numbers above 424 are the same on every architecture; the libc crate does not have all of them yet.
mod newer {
    use libc::c_long;

    pub(super) const CACHESTAT: c_long = 451;
    pub(super) const MAP_SHADOW_STACK: c_long = 453;
    pub(super) const FUTEX_WAKE: c_long = 454;
    pub(super) const FUTEX_WAIT: c_long = 455;
    pub(super) const FUTEX_REQUEUE: c_long = 456;
    pub(super) const STATMOUNT: c_long = 457;
    pub(super) const LISTMOUNT: c_long = 458;
    pub(super) const LSM_GET_SELF_ATTR: c_long = 459;
    pub(super) const LSM_SET_SELF_ATTR: c_long = 460;
    pub(super) const LSM_LIST_MODULES: c_long = 461;
    pub(super) const SETXATTRAT: c_long = 463;
    pub(super) const GETXATTRAT: c_long = 464;
    pub(super) const LISTXATTRAT: c_long = 465;
    pub(super) const REMOVEXATTRAT: c_long = 466;
    pub(super) const FILE_GETATTR: c_long = 468;
    pub(super) const FILE_SETATTR: c_long = 469;
}

/// Calls allowed on every architecture.
const ALLOWED: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_sched_yield,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_madvise,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_dup,
    libc::SYS_nanosleep,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_getpid,
    libc::SYS_sendfile,
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_wait4,
    libc::SYS_uname,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_umask,
    libc::SYS_gettimeofday,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_ptrace,
    libc::SYS_getuid,
    libc::SYS_getgid,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_geteuid,
    libc::SYS_getegid,
    libc::SYS_setpgid,
    libc::SYS_getppid,
    libc::SYS_setsid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_getgroups,
    libc::SYS_setgroups,
    libc::SYS_setresuid,
    libc::SYS_getresuid,
    libc::SYS_setresgid,
    libc::SYS_getresgid,
    libc::SYS_getpgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_getsid,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getpriority,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_prctl,
    libc::SYS_sync,
    libc::SYS_gettid,
    libc::SYS_readahead,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_futex,
    libc::SYS_sched_getaffinity,
    libc::SYS_io_setup,
    libc::SYS_io_destroy,
    libc::SYS_io_getevents,
    libc::SYS_io_submit,
    libc::SYS_io_cancel,
    libc::SYS_remap_file_pages,
    libc::SYS_set_tid_address,
    libc::SYS_restart_syscall,
    libc::SYS_semtimedop,
    libc::SYS_fadvise64,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit_group,
    libc::SYS_epoll_ctl,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_get_mempolicy,
    libc::SYS_waitid,
    libc::SYS_ioprio_get,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    libc::SYS_openat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_fchownat,
    libc::SYS_unlinkat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_readlinkat,
    libc::SYS_fchmodat,
    libc::SYS_faccessat,
    libc::SYS_pselect6,
    libc::SYS_ppoll,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_sync_file_range,
    libc::SYS_vmsplice,
    libc::SYS_utimensat,
    libc::SYS_epoll_pwait,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_accept4,
    libc::SYS_signalfd4,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_inotify_init1,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_recvmmsg,
    libc::SYS_syncfs,
    libc::SYS_sendmmsg,
    libc::SYS_getcpu,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_sched_getattr,
    libc::SYS_renameat2,
    libc::SYS_seccomp,
    libc::SYS_getrandom,
    libc::SYS_memfd_create,
    libc::SYS_execveat,
    libc::SYS_membarrier,
    libc::SYS_mlock2,
    libc::SYS_copy_file_range,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_pkey_mprotect,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_statx,
    libc::SYS_rseq,
    libc::SYS_pidfd_send_signal,
    libc::SYS_close_range,
    libc::SYS_openat2,
    libc::SYS_faccessat2,
    libc::SYS_process_madvise,
    libc::SYS_epoll_pwait2,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_process_mrelease,
    libc::SYS_futex_waitv,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_fchmodat2,
    libc::SYS_mseal,
    libc::SYS_getdents64,
    libc::SYS_renameat,
    libc::SYS_newfstatat,
    newer::CACHESTAT,
    newer::MAP_SHADOW_STACK,
    newer::FUTEX_WAKE,
    newer::FUTEX_WAIT,
    newer::FUTEX_REQUEUE,
    newer::SETXATTRAT,
    newer::GETXATTRAT,
    newer::LISTXATTRAT,
    newer::REMOVEXATTRAT,
    newer::FILE_GETATTR,
    newer::FILE_SETATTR,
];

/// Calls allowed that only `x86_64` has: older forms of the same.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_poll,
    libc::SYS_access,
    libc::SYS_pipe,
    libc::SYS_select,
    libc::SYS_dup2,
    libc::SYS_pause,
    libc::SYS_alarm,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_creat,
    libc::SYS_link,
    libc::SYS_unlink,
    libc::SYS_symlink,
    libc::SYS_readlink,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_getpgrp,
    libc::SYS_utime,
    libc::SYS_mknod,
    libc::SYS_time,
    libc::SYS_arch_prctl,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_utimes,
    libc::SYS_inotify_init,
    libc::SYS_futimesat,
    libc::SYS_signalfd,
    libc::SYS_eventfd,
    libc::SYS_getdents,
];
/// This architecture has no older forms.
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Calls on a process, which is their first argument: allowed for every process but init.
pub(super) const ON_A_PROCESS: [c_long; 10] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
];

/// Kernel AIO: the host has few contexts, and all sessions share them. Libraries fall back without it.
pub(super) const AIO: [c_long; 5] = [
    libc::SYS_io_setup,
    libc::SYS_io_destroy,
    libc::SYS_io_getevents,
    libc::SYS_io_submit,
    libc::SYS_io_cancel,
];

/// Calls that fail with `ENOSYS`, so that libraries fall back. A filter cannot read the structure that holds
/// the flags of `clone3`.
const ABSENT: &[c_long] = &[
    libc::SYS_clone3,
    newer::STATMOUNT,
    newer::LISTMOUNT,
    newer::LSM_GET_SELF_ATTR,
    newer::LSM_SET_SELF_ATTR,
    newer::LSM_LIST_MODULES,
];

/// Numbers between the old tables and the common table, which the kernel does not use for calls.
#[cfg(target_arch = "x86_64")]
const UNASSIGNED: std::ops::RangeInclusive<c_long> = 335..=423;
/// Numbers between the old tables and the common table.
#[cfg(target_arch = "aarch64")]
const UNASSIGNED: std::ops::RangeInclusive<c_long> = 295..=423;

/// Calls that are allowed with any arguments.
pub(super) fn allowed() -> impl Iterator<Item = c_long> {
    ALLOWED.iter().chain(OLDER).copied()
}

/// Calls that fail with `ENOSYS`.
pub(super) fn absent() -> impl Iterator<Item = c_long> {
    ABSENT.iter().copied()
}

/// Numbers below [`KNOWN_END`] without a call.
pub(super) fn unassigned() -> impl Iterator<Item = c_long> {
    UNASSIGNED
}
