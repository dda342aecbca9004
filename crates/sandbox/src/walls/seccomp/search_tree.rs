//! From a rule for each number to a program that halves the numbers until one rule is left.

use super::bpf::{Answer, Code, Test, offset};
use super::rules::Rule;

/// The entry that this program is compiled for; any other is closed.
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
/// The entry that this program is compiled for; any other is closed.
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// Numbers from here on are the x32 entry. `-1`, with which a debugger skips a call, is also among them.
const X32: u32 = 0x4000_0000;

/// A rule, and the first number that it holds for; it holds until the next.
struct Span<'a> {
    first: u32,
    rule: &'a Rule,
}

/// Compiles the whole filter. `rules` are indexed by number; numbers beyond them are newer than this program and
/// do not exist as far as programs inside can tell, so that their libraries fall back.
pub(super) fn compile(rules: &[Rule], code: &mut Code) {
    code.load(offset::ARCH).skip_if(Test::Is, ARCH, 1).answer(Answer::Kill);
    code.load(offset::NUMBER).answer_if(Test::AtLeast, X32, Answer::Fail(libc::ENOSYS));
    let newer = Rule::Plain(Answer::Fail(libc::ENOSYS));
    let mut spans: Vec<Span<'_>> = Vec::new();
    for (first, rule) in (0_u32..).zip(rules.iter().chain([&newer])) {
        let same = matches!(
            (spans.last().map(|span| span.rule), rule),
            (Some(Rule::Plain(last)), Rule::Plain(this)) if last == this
        );
        if !same {
            spans.push(Span { first, rule });
        }
    }
    halve(&spans, code);
}

/// One span is its rule; more are a comparison and two halves.
fn halve(spans: &[Span<'_>], code: &mut Code) {
    if let [span] = spans {
        return span.rule.emit(code);
    }
    let (below, rest) = spans.split_at(spans.len() / 2);
    let Some(middle) = rest.first() else { return };
    let (mut low, mut high) = (Code::default(), Code::default());
    halve(below, &mut low);
    halve(rest, &mut high);
    code.split(middle.first, &low, &high);
}
