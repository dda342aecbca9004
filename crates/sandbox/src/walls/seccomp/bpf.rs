//! The instructions of a filter, and the few shapes that ours is made of.

use libc::sock_filter;

/// Where the kernel puts what a filter may look at (`struct seccomp_data`).
pub(super) mod offset {
    /// The number of the system call.
    pub(in super::super) const NUMBER: u32 = 0;
    /// Which architecture's entry was used.
    pub(in super::super) const ARCH: u32 = 4;

    /// The low half of an argument: all that the kernel looks at where it takes an `int`.
    pub(in super::super) const fn low(argument: u32) -> u32 {
        16 + 8 * argument + if cfg!(target_endian = "big") { 4 } else { 0 }
    }

    /// The high half.
    pub(in super::super) const fn high(argument: u32) -> u32 {
        16 + 8 * argument + if cfg!(target_endian = "big") { 0 } else { 4 }
    }
}

/// What the kernel does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Lets it pass.
    Allow,
    /// Fails it with this error.
    Fail(i32),
    /// Ends the process.
    Kill,
}

impl Answer {
    /// As the kernel wants it.
    pub(super) fn value(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Fail(errno) => libc::SECCOMP_RET_ERRNO | (errno.unsigned_abs() & libc::SECCOMP_RET_DATA),
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// How the accumulator is compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    /// Equal.
    Is,
    /// Not below.
    AtLeast,
    /// Any of these bits.
    AnyOf,
}

/// A growing program.
#[derive(Debug, Default, Clone)]
pub(super) struct Code(Vec<sock_filter>);

impl Code {
    /// Loads a word of the call's data into the accumulator.
    pub(super) fn load(&mut self, offset: u32) -> &mut Self {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
    }

    /// Ends with an answer.
    pub(super) fn answer(&mut self, answer: Answer) -> &mut Self {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, answer.value())
    }

    /// Answers at once if the test holds, else goes on.
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

    /// Goes on with `below` if the accumulator is below `value`, else with `rest`. Both end with an answer.
    pub(super) fn split(&mut self, value: u32, below: &Self, rest: &Self) {
        // A conditional jump reaches 255 instructions; beyond that an unconditional one has to help.
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

    /// How many instructions it has.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The instructions.
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
