//! Tests of approvals.

mod questions;

use proptest::prelude::*;

use super::*;
use crate::error::ToolError;

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn script(text: &str) -> Wanted {
    Wanted { argv: argv(&["bash", "-lc", text]), workdir: "/home/work".to_owned(), ..Wanted::default() }
}

fn wants_network(text: &str) -> Wanted {
    Wanted { extra: Extra { network: true, ..Extra::default() }, ..script(text) }
}

fn policy(approval: ApprovalPolicy, rules: &[Rule]) -> Policy {
    let mut policy = Policy { approval, ..Policy::default() };
    for rule in rules {
        policy.rules.add(rule.clone()).unwrap();
    }
    policy
}

fn refusal(decision: Decision) -> String {
    match decision {
        Decision::Refuse(refusal) => ToolError::from(refusal).to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn plain_scripts_are_split_into_their_commands_and_others_are_not() {
    let split = |text: &str| simple_commands(&argv(&["bash", "-lc", text]));
    let words = |text: &str| {
        split(text).map(|all| all.iter().map(|one| one.join(" ")).collect::<Vec<_>>().join(" // "))
    };
    for (text, expected) in [
        ("git status", "git status"),
        ("cd src && cargo test -p 'my crate'; ls | wc -l", "cd src // cargo test -p my crate // ls // wc -l"),
        ("a || b\nc;", "a // b // c"),
        ("make CC=gcc", "make CC=gcc"),
        (r#"echo "a b"'c'd"#, "echo a bcd"),
        ("sh -c 'rm -rf /; ls'", "rm -rf / // ls"),
    ] {
        assert_eq!(words(text).as_deref(), Some(expected), "{text}");
    }
    for text in [
        "rm $(cat list)",
        "echo `id`",
        "a & b",
        "a > file",
        "a < file",
        "X=1 a",
        "if true; then a; fi",
        "a *.rs",
        "~/a",
        "eval 'rm x'",
        "exec a",
        "source x",
        "a \"$HOME\"",
        "'open",
        "\"open",
        "a &&& b",
        "| a",
        "",
        "(a)",
        "{ a; }",
        "a \\\n b",
        "for i in 1 2; do a; done",
        "bash -x script.sh",
        "a # b",
    ] {
        assert_eq!(words(text), None, "{text}");
    }
    let deep = (0..6).fold("ls".to_owned(), |inner, _| format!("sh -c '{}'", inner.replace('\'', "")));
    assert!(simple_commands(&argv(&["sh", "-c", &deep])).is_none_or(|all| !all.is_empty()));
    assert_eq!(simple_commands(&argv(&["ls", "$(x)"])), Some(vec![argv(&["ls", "$(x)"])]));
}

#[test]
fn commands_that_only_read_are_trusted_and_others_are_asked_for() {
    let policy = policy(ApprovalPolicy::UnlessTrusted, &[]);
    for text in [
        "ls -la",
        "cat a b | head -5 | wc -l",
        "git status && git diff --stat",
        "rg -n foo src",
        "find . -name x.rs",
        "sed -n 1,20p file",
        "sort -u file",
        "pwd; whoami",
    ] {
        assert_eq!(policy.decide(&script(text)), Decision::Run, "{text}");
    }
    for text in [
        "rm x",
        "ls && rm x",
        "find . -delete",
        "find . -exec rm x +",
        "rg --pre=sh x",
        "sort -o out in",
        "sort -ro out in",
        "git push",
        "git diff --output=x",
        "git -c core.pager=x log",
        "sed -i s/a/b/ x",
        "sed -n 1w x",
        "/tmp/ls",
        "./ls",
        "date -s now",
        "uniq a b",
        "echo $(rm x)",
        "cat > x",
        "hostname evil",
    ] {
        assert!(matches!(policy.decide(&script(text)), Decision::Ask(_)), "{text}");
    }
    let with_env = Wanted { env: [("PATH".to_owned(), "/tmp".to_owned())].into(), ..script("ls") };
    assert!(matches!(policy.decide(&with_env), Decision::Ask(_)));
}

#[test]
fn each_policy_decides_about_more_rights_as_its_name_says() {
    let wanted = wants_network("cargo fetch");
    let never = refusal(policy(ApprovalPolicy::Never, &[]).decide(&wanted));
    assert!(never.contains("the network") && never.contains("without sandbox_permissions"), "{never}");
    let early = refusal(policy(ApprovalPolicy::OnFailure, &[]).decide(&wanted));
    assert!(early.contains("first"), "{early}");
    let failed = Wanted { has_failed: true, ..wanted.clone() };
    assert!(matches!(policy(ApprovalPolicy::OnFailure, &[]).decide(&failed), Decision::Ask(_)));
    for approval in [ApprovalPolicy::OnRequest, ApprovalPolicy::UnlessTrusted] {
        assert!(matches!(policy(approval, &[]).decide(&wanted), Decision::Ask(_)), "{approval:?}");
    }
    for approval in [ApprovalPolicy::Never, ApprovalPolicy::OnFailure, ApprovalPolicy::OnRequest] {
        assert_eq!(policy(approval, &[]).decide(&script("cargo fetch")), Decision::Run, "{approval:?}");
    }
}

#[test]
fn rules_allow_ask_and_forbid_by_prefix_and_the_strictest_holds() {
    let rules = [
        Rule::new(&["git"], Action::Allow),
        Rule::new(&["git", "push"], Action::Ask),
        Rule {
            reason: Some("history is shared".to_owned()),
            ..Rule::new(&["git", "push", "--force"], Action::Forbid)
        },
    ];
    let policy = policy(ApprovalPolicy::UnlessTrusted, &rules);
    assert_eq!(policy.decide(&script("git commit -m x")), Decision::Run);
    assert!(matches!(policy.decide(&script("git push origin")), Decision::Ask(_)));
    let refused = refusal(policy.decide(&script("git status; git push --force")));
    assert!(refused.contains("git push --force") && refused.contains("history is shared"), "{refused}");
    // A part that no rule allows makes the whole a question.
    assert!(matches!(policy.decide(&script("git commit -m x && rm x")), Decision::Ask(_)));
    // Hidden in what cannot be split.
    refusal(policy.decide(&script("for i in 1 2; do git push --force; done")));
    refusal(policy.decide(&script("echo $(git push --force)")));
    let never = Policy { approval: ApprovalPolicy::Never, ..policy };
    refusal(never.decide(&script("git push origin")));
}

#[test]
fn a_rule_grants_what_it_names_and_nothing_else() {
    let network = Extra { network: true, ..Extra::default() };
    let fetch = Rule { grants: network, ..Rule::new(&["cargo", "fetch"], Action::Allow) };
    let here = Rule { workdir: Some("/home/work".to_owned()), ..Rule::new(&["make"], Action::Allow) };
    let policy =
        policy(ApprovalPolicy::OnRequest, &[fetch, here, Rule::new(&["cargo", "test"], Action::Allow)]);
    assert_eq!(policy.decide(&wants_network("cargo fetch --locked")), Decision::Run);
    assert!(matches!(policy.decide(&wants_network("cargo test")), Decision::Ask(_)));
    assert!(matches!(policy.decide(&wants_network("cargo fetch && cargo test")), Decision::Ask(_)));
    let write = Extra { write: argv(&["/etc"]), ..Extra::default() };
    assert!(matches!(policy.decide(&Wanted { extra: write, ..script("cargo fetch") }), Decision::Ask(_)));
    let unsandboxed = Extra { unsandboxed: true, ..Extra::default() };
    assert!(matches!(
        policy.decide(&Wanted { extra: unsandboxed, ..script("cargo fetch") }),
        Decision::Ask(_)
    ));
    let strict = Policy { approval: ApprovalPolicy::UnlessTrusted, ..policy };
    assert_eq!(strict.decide(&script("make all")), Decision::Run);
    let elsewhere = Wanted { workdir: "/home/work/sub".to_owned(), ..script("make all") };
    assert!(matches!(strict.decide(&elsewhere), Decision::Ask(_)));
    let with_env = Wanted { env: [("MAKEFLAGS".to_owned(), "x".to_owned())].into(), ..script("make all") };
    assert!(matches!(strict.decide(&with_env), Decision::Ask(_)));
}

#[test]
fn rules_that_would_allow_everything_are_refused() {
    let add = |prefix: &[&str]| Rules::default().add(Rule::new(prefix, Action::Allow));
    assert_eq!(add(&[]), Err(RuleError::Empty));
    for prefix in
        [&["bash"][..], &["bash", "-lc"], &["/usr/bin/python3", "-c"], &["env"], &["sudo"], &["xargs"]]
    {
        assert!(matches!(add(prefix), Err(RuleError::TooBroad(_))), "{prefix:?}");
    }
    assert!(matches!(add(&["./run.sh"]), Err(RuleError::NeedsWorkdir(_))));
    assert_eq!(add(&["python3", "manage.py"]), Ok(()));
    let mut rules = Rules::default();
    rules.add(Rule::new(&["make"], Action::Allow)).unwrap();
    rules.add(Rule::new(&["make"], Action::Forbid)).unwrap();
    assert_eq!(rules.all().len(), 1);
    let json = serde_json::to_string(&rules).unwrap();
    assert_eq!(json, r#"[{"prefix":["make"],"action":"forbid"}]"#);
    assert_eq!(serde_json::from_str::<Rules>(&json).unwrap(), rules);
    let broad: Rules = serde_json::from_str(r#"[{"prefix":["sh"],"action":"allow"}]"#).unwrap();
    assert!(matches!(broad.check(), Err(RuleError::TooBroad(_))));
}

#[test]
fn a_consent_is_bound_to_argv_directory_environment_and_what_is_wanted() {
    let base = wants_network("cargo fetch");
    let mut others = vec![wants_network("cargo  fetch"), script("cargo fetch")];
    others.push(Wanted { workdir: "/home".to_owned(), ..base.clone() });
    others.push(Wanted { env: [("A".to_owned(), "b".to_owned())].into(), ..base.clone() });
    others.push(Wanted { argv: argv(&["bash", "-lc", "cargo", "fetch"]), ..base.clone() });
    others.push(Wanted { input: Some("y\n".to_owned()), ..base.clone() });
    others.push(Wanted { input: Some(String::new()), ..base.clone() });
    others.push(Wanted { session: "another".to_owned(), ..base.clone() });
    for ms in [0, 1] {
        let limits = MoreLimits { wall_ms: Some(ms), ..MoreLimits::default() };
        others.push(Wanted { extra: Extra { limits, ..base.extra.clone() }, ..base.clone() });
    }
    let write = Extra { write: argv(&["/a", "/b"]), ..base.extra.clone() };
    let read = Extra { read: argv(&["/a", "/b"]), ..base.extra.clone() };
    others.push(Wanted { extra: write, ..base.clone() });
    others.push(Wanted { extra: read, ..base.clone() });
    let mut all: Vec<String> = others.iter().map(Wanted::fingerprint).collect();
    all.push(base.fingerprint());
    assert_eq!(base.fingerprint(), base.clone().fingerprint());
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 13);
}

proptest! {
    /// What is split has the words that a shell would have: joined with quotes, it gives the same commands.
    #[test]
    fn words_in_quotes_are_one_word_whatever_they_contain(words in prop::collection::vec("[ -~&&[^']]{1,12}", 1..6)) {
        prop_assume!(!script::is_shell(&words[0]));
        let text = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        if let Some(commands) = simple_commands(&argv(&["bash", "-c", &text])) {
            prop_assert_eq!(commands, vec![words]);
        }
    }

    /// No script makes the parser panic or run long, and none with an expansion is ever allowed by a rule.
    #[test]
    fn a_script_with_an_expansion_is_never_allowed_by_a_rule(before in "[ -~\n]{0,40}", after in "[ -~\n]{0,40}") {
        let policy = policy(ApprovalPolicy::UnlessTrusted, &[Rule::new(&["git"], Action::Allow)]);
        let text = format!("git {before}\n\"$(rm x)\" {after}");
        if !before.contains('\'') && !before.contains('#') && !before.contains('"') {
            prop_assert!(matches!(policy.decide(&script(&text)), Decision::Ask(_)));
        }
    }
}

#[test]
fn what_was_granted_is_not_asked_for_again_and_nothing_else_is() {
    let mut policy = policy(ApprovalPolicy::OnRequest, &[]);
    let wanted = |extra: Extra| Wanted { argv: vec!["curl".into()], extra, ..Wanted::default() };
    let network = || Extra { network: true, ..Extra::default() };
    let write = |path: &str| Extra { write: vec![path.into()], ..Extra::default() };
    policy.granted.merge(network());
    policy.granted.merge(write("/a"));
    policy.granted.merge(write("/a"));
    assert_eq!(policy.granted.write, ["/a"]);
    let mut both = network();
    both.merge(write("/a"));
    for granted in [network(), write("/a"), both] {
        assert_eq!(policy.decide(&wanted(granted)), Decision::Run);
    }
    for other in [write("/b"), Extra { unsandboxed: true, ..Extra::default() }] {
        assert!(matches!(policy.decide(&wanted(other)), Decision::Ask(_)));
    }
    // What it does besides is still asked for.
    policy.approval = ApprovalPolicy::UnlessTrusted;
    assert!(matches!(policy.decide(&wanted(network())), Decision::Ask(_)));
}
