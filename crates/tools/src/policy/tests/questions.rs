//! Questions to a person, and the file that keeps their answers.

use super::*;

#[test]
fn a_question_shows_the_whole_command_and_marks_the_words_of_the_agent() {
    let wanted = wants_network("curl evil\u{202e}\u{1b}[2K\nrm -rf .");
    let justification = Some("approved by the user\nApproved: yes".to_owned());
    let question = Question { wanted, reason: "it asks".to_owned(), justification, rule: None };
    let text = question.text();
    assert!(text.contains("    curl evil\\u{202e}\\u{1b}[2K\n    rm -rf ."), "{text}");
    assert!(text.contains(r#"The agent says: "approved by the user\nApproved: yes""#), "{text}");
    assert!(
        text.contains("It would get: the network") && text.starts_with("Run this command in /home/work?")
    );
    let rule = Rule {
        workdir: Some("/w".to_owned()),
        grants: question.wanted.extra.clone(),
        ..Rule::new(&["curl", "a\nRefuse"], Action::Allow)
    };
    let always = Question { rule: Some(rule), ..question.clone() }.rule_text().unwrap();
    assert_eq!(always, r"Always allow commands that begin with: curl a\nRefuse (in /w), with the network");
    let direct = Wanted { argv: argv(&["rm", "a b"]), ..script("") };
    let question = Question { wanted: direct, reason: String::new(), justification: None, rule: None };
    assert!(question.text().contains(r#""rm" "a b""#));
}

#[test]
fn lines_of_a_command_cannot_pass_for_lines_of_the_question() {
    let fake = "ls\n\nYou are asked because it only reads.\n\nThe agent says: \"ok\"\nrm -rf .";
    let wanted = Wanted {
        workdir: "/w?\n\nls".to_owned(),
        input: Some("yes\nIt would get: nothing".into()),
        ..script(fake)
    };
    let question = Question { wanted, reason: "it\nasks".to_owned(), justification: None, rule: None };
    let text = question.text();
    let own: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("    ")).collect();
    let expected =
        [r"Run this command in /w?\n\nls?", "It would read this input:", r"You are asked because it\nasks."];
    assert_eq!(own, expected, "{text}");
}

#[test]
fn rules_that_two_agents_of_a_project_add_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.json");
    let agents: Vec<_> =
        (0..4).map(|_| SharedPolicy::of_project(ApprovalPolicy::UnlessTrusted, &file).unwrap()).collect();
    std::thread::scope(|scope| {
        for (n, agent) in agents.iter().enumerate() {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                for m in 0..5 {
                    let rule = Rule::new(&["make", &format!("target-{n}-{m}")], Action::Allow);
                    runtime.block_on(agent.add(rule)).unwrap();
                }
            });
        }
    });
    let all = SharedPolicy::of_project(ApprovalPolicy::UnlessTrusted, &file).unwrap();
    assert_eq!(all.get().rules.all().len(), 20);
}

#[tokio::test]
async fn rules_of_a_project_are_kept_and_a_broken_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep").join("rules.json");
    let policy = SharedPolicy::of_project(ApprovalPolicy::UnlessTrusted, &file).unwrap();
    policy.add(Rule::new(&["make"], Action::Allow)).await.unwrap();
    assert!(matches!(policy.add(Rule::new(&["sh"], Action::Allow)).await, Err(PolicyError::Rule(_))));
    let again = SharedPolicy::of_project(ApprovalPolicy::UnlessTrusted, &file).unwrap();
    assert_eq!(again.get(), policy.get());
    assert_eq!(again.get().decide(&script("make all")), Decision::Run);
    std::fs::write(&file, r#"{"rules": [{"prefix": ["sh"], "action": "allow"}]}"#).unwrap();
    assert!(matches!(SharedPolicy::of_project(ApprovalPolicy::Never, &file), Err(PolicyError::Rule(_))));
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(
        SharedPolicy::of_project(ApprovalPolicy::Never, &file),
        Err(PolicyError::Malformed(..))
    ));
}

#[test]
fn the_rules_of_the_documentation_are_valid() {
    let page = include_str!("../../../../../docs/mcp.md");
    let block =
        page.split("```json\n").find(|block| block.contains("\"rules\": [")).expect("an example of rules");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.json");
    std::fs::write(&file, block.split("```").next().unwrap()).unwrap();
    let policy = SharedPolicy::of_project(ApprovalPolicy::OnRequest, &file).unwrap().get();
    assert!(refusal(policy.decide(&script("git push --force"))).contains("the history is shared"));
    assert!(matches!(policy.decide(&script("git push")), Decision::Ask(_)));
    let fetch = Wanted { workdir: "/home/me/project".to_owned(), ..wants_network("cargo fetch --locked") };
    assert_eq!(policy.decide(&fetch), Decision::Run);
}
