//! The BPF instructions of a filter, and the few patterns that ours consists of.

use libc::sock_filter;

/// Offsets in `struct seccomp_data`, the input of a filter.
pub(super) mod offset {
    /// The number of the system call.
    pub(in super::super) const NUMBER: u32 = 0;
    /// The architecture of the entry point that was used.
    pub(in super::super) const ARCH: u32 = 4;

    /// The low half of an argument, which is all that the kernel uses where it takes an `int`.
    pub(in super::super) const fn low(argument: u32) -> u32 {
        16 + 8 * argument + if cfg!(target_endian = "big") { 4 } else { 0 }
    }

    /// The high half of an argument.
    pub(in super::super) const fn high(argument: u32) -> u32 {
        16 + 8 * argument + if cfg!(target_endian = "big") { 0 } else { 4 }
    }
}

/// What the kernel does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The call is made.
    Allow,
    /// The call fails with this error.
    Fail(i32),
    /// The process is killed.
    Kill,
}

impl Answer {
    /// The kernel's return value for this answer.
    pub(super) fn value(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Fail(errno) => libc::SECCOMP_RET_ERRNO | (errno.unsigned_abs() & libc::SECCOMP_RET_DATA),
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// A comparison of the accumulator with a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    /// It is equal.
    Is,
    /// It is greater or equal.
    AtLeast,
    /// It has any of these bits.
    AnyOf,
}

/// A program under construction.
#[derive(Debug, Default, Clone)]
pub(super) struct Code(Vec<sock_filter>);

impl Code {
    /// Loads a word of the call's data into the accumulator.
    pub(super) fn load(&mut self, offset: u32) -> &mut Self {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
    }

    /// Returns an answer.
    pub(super) fn answer(&mut self, answer: Answer) -> &mut Self {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, answer.value())
    }

    /// Returns an answer if the test holds, otherwise continues.
    pub(super) fn answer_if(&mut self, test: Test, value: u32, answer: Answer) -> &mut Self {
        self.jump(test, value, 0, 1).answer(answer)
    }

    /// Skips `skip` instructions if the test holds.
    pub(super) fn skip_if(&mut self, test: Test, value: u32, skip: u8) -> &mut Self {
        self.jump(test, value, skip, 0)
    }

    /// Skips `skip` instructions unless the test holds.
    pub(super) fn skip_unless(&mut self, test: Test, value: u32, skip: u8) -> &mut Self {
        self.jump(test, value, 0, skip)
    }

    /// Continues with `below` if the accumulator is below `value`, otherwise with `rest`. Both end with an
    /// answer.
    pub(super) fn split(&mut self, value: u32, below: &Self, rest: &Self) {
        // A conditional jump reaches 255 instructions; beyond that an unconditional jump is needed.
        if let Ok(length) = u8::try_from(below.len()) {
            self.jump(Test::AtLeast, value, length, 0);
        } else {
            let length = u32::try_from(below.len()).unwrap_or(u32::MAX);
            self.jump(Test::AtLeast, value, 0, 1).push(libc::BPF_JMP | libc::BPF_JA, 0, 0, length);
        }
        self.append(below);
        self.append(rest);
    }

    /// Appends other instructions.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The number of instructions.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The finished program.
    pub(super) fn finish(self) -> Vec<sock_filter> {
        self.0
    }

    fn jump(&mut self, test: Test, value: u32, jt: u8, jf: u8) -> &mut Self {
        let test = match test {
            Test::Is => libc::BPF_JEQ,
            Test::AtLeast => libc::BPF_JGE,
            Test::AnyOf => libc::BPF_JSET,
        };
        self.push(libc::BPF_JMP | test | libc::BPF_K, jt, jf, value)
    }

    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) -> &mut Self {
        // Every opcode is below 256 by the kernel's definition.
        let code = u16::try_from(code).unwrap_or(u16::MAX);
        self.0.push(sock_filter { code, jt, jf, k });
        self
    }
}
