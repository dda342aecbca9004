//! An interpreter that runs a filter as the kernel would, for tests.

use libc::sock_filter;

/// A system call as a filter sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) number: u32,
    pub(super) arch: u32,
    pub(super) arguments: [u64; 6],
}

impl Call {
    /// The words of `struct seccomp_data`.
    fn word(&self, offset: u32) -> u32 {
        let half = |value: u64, high: bool| {
            u32::try_from(if high { value >> 32 } else { value & 0xffff_ffff }).unwrap()
        };
        match offset {
            0 => self.number,
            4 => self.arch,
            16..64 if offset.is_multiple_of(4) => {
                let argument = self.arguments[usize::try_from((offset - 16) / 8).unwrap()];
                half(argument, offset % 8 == 4)
            }
            other => panic!("a filter may not load from {other}"),
        }
    }
}

/// Runs `program` and returns its answer and the number of instructions; panics where the kernel would refuse
/// it.
pub(super) fn run(program: &[sock_filter], call: &Call) -> (u32, usize) {
    let (mut at, mut steps, mut accumulator) = (0, 0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        let holds = |yes: bool| usize::from(if yes { jt } else { jf });
        steps += 1;
        at += 1;
        match u32::from(code) {
            0x20 => accumulator = call.word(k),
            0x06 => return (k, steps),
            0x05 => at += usize::try_from(k).unwrap(),
            0x15 => at += holds(accumulator == k),
            0x35 => at += holds(accumulator >= k),
            0x45 => at += holds(accumulator & k != 0),
            other => panic!("unknown instruction {other:#x}"),
        }
    }
}
