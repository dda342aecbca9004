//! Programs that print numbered lines with a checksum, and what exactly must arrive of them.

use std::fmt::Write;

use anyhow::Result;
use headwater_protocol::{Reason, StartSpec, TtySize};
use headwater_tests::Collected;

/// Prints the same line to both streams, rests after every fifth.
const PROGRAM: &str = r#"
my ($salt, $lines, $rest) = @ARGV;
for my $n (1 .. $lines) {
    my $sum = ($n * 2654435761 + $salt) & 0xffffffff;
    my $line = sprintf("%06d %08x %s\n", $n, $sum, "x" x ($sum % 150));
    for my $out (*STDOUT, *STDERR) {
        die "short write" if syswrite($out, $line) != length($line);
    }
    select(undef, undef, undef, $rest) if $n % 5 == 0;
}
exit($salt % 7);
"#;

/// Where it prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Pipes,
    OnePipe,
    Terminal,
}

/// One such program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines {
    pub(crate) salt: u64,
    pub(crate) count: u64,
    pub(crate) rest_ms: u64,
    pub(crate) to: To,
}

impl Lines {
    pub(crate) fn spec(&self) -> StartSpec {
        let rest = format!("{}.{:03}", self.rest_ms / 1000, self.rest_ms % 1000);
        let (salt, count) = (self.salt.to_string(), self.count.to_string());
        let mut spec = StartSpec::argv(["perl", "-e", PROGRAM, &salt, &count, &rest]);
        spec.merge_output = self.to == To::OnePipe;
        spec.tty = (self.to == To::Terminal).then(TtySize::default);
        spec
    }

    /// What one stream (or both in one) must hold, to the byte.
    pub(crate) fn expected(&self) -> Vec<u8> {
        let mut all = String::new();
        let (times, end) = match self.to {
            To::Pipes => (1, "\n"),
            To::OnePipe => (2, "\n"),
            To::Terminal => (2, "\r\n"),
        };
        for n in 1..=self.count {
            let sum = (n * 2_654_435_761 + self.salt) & 0xffff_ffff;
            let rest = "x".repeat(usize::try_from(sum % 150).unwrap_or(0));
            for _ in 0..times {
                let _ = write!(all, "{n:06} {sum:08x} {rest}{end}"); // to memory: cannot fail
            }
        }
        all.into_bytes()
    }

    /// Nothing lost, nothing twice, nothing in another order, one verdict, and the program ended by itself.
    pub(crate) fn check(&self, seen: &Collected) -> Result<()> {
        let expected = self.expected();
        let streams = match self.to {
            To::Pipes => vec![("stdout", &seen.stdout), ("stderr", &seen.stderr)],
            To::OnePipe | To::Terminal => vec![("output", &seen.output)],
        };
        for (name, got) in streams {
            let same = got.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            anyhow::ensure!(
                *got == expected,
                "{self:?}: {name} has {} bytes instead of {}, and differs from byte {same} on; {:?}",
                got.len(),
                expected.len(),
                seen.verdicts,
            );
        }
        anyhow::ensure!(
            seen.started && seen.closed && seen.verdicts.len() == 1,
            "{self:?}: {:?}",
            seen.verdicts
        );
        let verdict = seen.verdict();
        let code = i32::try_from(self.salt % 7)?;
        anyhow::ensure!(
            (verdict.reason, verdict.code) == (Reason::Exited, Some(code)),
            "{self:?}: {verdict:?}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::Verdict;

    use super::*;

    fn whole(lines: Lines) -> Collected {
        let verdict = Verdict {
            code: Some(i32::try_from(lines.salt % 7).unwrap()),
            duration_ms: 1,
            ..Verdict::new(Reason::Exited)
        };
        let (stdout, stderr) = (lines.expected(), lines.expected());
        Collected {
            stdout,
            stderr,
            verdicts: vec![verdict],
            started: true,
            closed: true,
            ..Collected::default()
        }
    }

    #[test]
    fn the_check_finds_what_is_lost_doubled_swapped_or_ended_otherwise() {
        let lines = Lines { salt: 3, count: 50, rest_ms: 0, to: To::Pipes };
        lines.check(&whole(lines)).unwrap();
        let spoiled: [fn(&mut Collected); 7] = [
            |seen| seen.stdout.truncate(700),
            |seen| seen.stderr.truncate(seen.stderr.len() - 1),
            |seen| seen.stdout.extend_from_within(..30),
            |seen| seen.stderr.rotate_left(100),
            |seen| seen.verdicts.push(seen.verdicts[0].clone()),
            |seen| seen.verdicts[0].reason = Reason::Lost,
            |seen| seen.started = false,
        ];
        for (n, spoil) in spoiled.iter().enumerate() {
            let mut seen = whole(lines);
            spoil(&mut seen);
            assert!(lines.check(&seen).is_err(), "case {n} passed");
        }
    }
}
