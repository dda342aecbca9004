//! Masked values.

use super::*;

const TOKEN: &str = "hunter2-hunter2-hunter2";

fn masked(budget: u64) -> Options {
    let secrets = Secrets::new([("TOKEN", TOKEN), ("PIN", "12")]).unwrap();
    Options { budget: Budget::bytes(budget), secrets: Arc::new(secrets), ..Options::default() }
}

#[test]
fn a_secret_is_replaced_by_its_name() {
    let rendered = render(&masked(1000), &[format!("key={TOKEN}; pin=12\n").as_bytes()]);
    assert_eq!(rendered.text(), "key=[TOKEN masked]; pin=12\n", "values under four bytes are not masked");
}

#[test]
fn a_secret_in_pieces_or_with_colours_in_it_is_masked() {
    let (a, b) = TOKEN.split_at(9);
    let rendered = render(&masked(1000), &[a.as_bytes(), b"\x1b[1m", b.as_bytes()]);
    assert_eq!(rendered.text(), "[TOKEN masked]");
}

#[test]
fn no_cut_leaves_a_part_of_a_secret() {
    let text = format!("{}{TOKEN}{}", "a".repeat(40), "b".repeat(40));
    for budget in 0..100 {
        let rendered = render(&masked(budget), &[text.as_bytes()]);
        assert!(!rendered.body().contains("hunt") && !rendered.body().contains("ter2"), "{budget}");
    }
}

#[test]
fn a_secret_that_a_poll_cuts_is_masked_on_both_sides() {
    for cut in 4..TOKEN.len() - 4 {
        let (a, b) = TOKEN.split_at(cut);
        let mut first = Output::new(&masked(1000));
        first.push(Stream::Stdout, Seq(1), format!("key={a}").as_bytes());
        let (rendered, carry) = first.finish(End::Open);
        assert_eq!(rendered.text(), "key=[TOKEN masked]");
        let mut second = Output::resume(&masked(1000), carry);
        second.push(Stream::Stdout, Seq(2), format!("{b}\n").as_bytes());
        assert_eq!(second.finish(End::Closed).0.text(), "[TOKEN masked]\n");
    }
}

#[test]
fn a_poll_of_the_middle_of_a_secret_is_masked() {
    let options = Options { start_offset: 50, ..masked(1000) };
    let mut output = Output::new(&options);
    output.push(Stream::Stdout, Seq(9), b"er2-hunter2-h");
    assert_eq!(output.finish(End::Open).0.text(), "[TOKEN masked]");
}

#[test]
fn a_secret_of_several_lines_is_masked_with_either_line_end() {
    let secrets = Secrets::new([("KEY", "BEGIN\nabcdef\nEND\n")]).unwrap();
    let options = Options { secrets: Arc::new(secrets), ..roomy() };
    assert_eq!(render(&options, &[b"BEGIN\r\nabcdef\r\nEND\r\nx"]).text(), "[KEY masked]x");
    let raw = Options { keep_ansi: true, ..options };
    assert_eq!(render(&raw, &[b"BEGIN\r\nabcdef\r\nEND\r\nx"]).text(), "[KEY masked]\r\nx");
}

#[test]
fn the_longest_of_several_secrets_wins() {
    let secrets = Secrets::new([("SHORT", "abcd"), ("LONG", "abcdefgh")]).unwrap();
    let options = Options { secrets: Arc::new(secrets), ..roomy() };
    assert_eq!(render(&options, &[b"abcdefgh abcde"]).text(), "[LONG masked] [SHORT masked]e");
}

#[test]
fn secrets_do_not_appear_in_debug_output() {
    assert!(!format!("{:?}", masked(10)).contains("hunter2"));
}
