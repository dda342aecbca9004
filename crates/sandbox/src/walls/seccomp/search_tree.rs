//! Compiles a rule for each number to a program that finds the rule by binary search.

use super::bpf::{Answer, Code, Test, offset};
use super::rules::Rule;

/// The architecture of this build; calls through any other entry point are refused.
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
/// The architecture of this build; calls through any other entry point are refused.
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// The first number of the x32 entry point. `-1`, with which a debugger skips a call, is above it, too.
const X32: u32 = 0x4000_0000;

/// A rule and the first number that it applies to, up to the next span.
struct Span<'a> {
    first: u32,
    rule: &'a Rule,
}

/// Compiles the whole filter. `rules` is indexed by number. Higher numbers are newer than this program and
/// fail with `ENOSYS`, so that libraries fall back.
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

/// One span is its rule; several are a comparison and two halves.
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
