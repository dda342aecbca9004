//! Consent: asked through the log, kept as the person says, enforced by the walls.

use anyhow::{Context, Result};
use headwater_agent::Journal;
use headwater_protocol::conversation::{Approval, ApprovalDecision, ConversationEvent, ToolCallState};
use headwater_tools::policy::ApprovalPolicy;
use serde_json::{Value, json};

use crate::harness::{Desk, Script, calls, last_text, says, tool_calls};

fn exec(cmd: &str) -> (&'static str, Value) {
    ("exec_command", json!({"cmd": cmd}))
}

/// Waits for the next question, and answers it.
async fn answer(desk: &Desk, decision: ApprovalDecision, reason: Option<&str>) -> Result<Approval> {
    let is_open = |approval: &&Approval| approval.decision.is_none();
    let find = |now: &headwater_protocol::conversation::Conversation| {
        tool_calls(now).into_iter().find_map(|call| {
            let approval = call.approval.as_ref().filter(is_open)?.clone();
            Some((call.tool_call_id, approval))
        })
    };
    let now = desk.journal.until("a question", |now| find(now).is_some()).await?;
    let (tool_call_id, approval) = find(&now).context("a question")?;
    let event = ConversationEvent::ApprovalAnswered {
        tool_call_id,
        approval_id: approval.approval_id.clone(),
        decision,
        reason: reason.map(str::to_owned),
        by: Some("ann".into()),
    };
    desk.journal.append(vec![event]).await?;
    Ok(approval)
}

async fn strict() -> Result<Desk> {
    let mut desk = Desk::new().await?;
    desk.settings.approval = ApprovalPolicy::UnlessTrusted;
    Ok(desk)
}

#[tokio::test]
async fn a_person_allows_a_command_once_and_is_asked_again_for_the_same_one() -> Result<()> {
    let desk = strict().await?;
    let model = Script::new([calls(&[exec("touch a")]), calls(&[exec("touch a")]), says("done")]);
    let running = desk.begin("go", &model).await?;
    let asked = answer(&desk, ApprovalDecision::AllowOnce, None).await?;
    assert!(asked.text.contains("touch a"), "{}", asked.text);
    answer(&desk, ApprovalDecision::Deny, Some("once is enough")).await?;
    running.await?;
    let states: Vec<_> = tool_calls(&desk.journal.now()).iter().map(|call| call.state).collect();
    assert_eq!(states, [ToolCallState::Succeeded, ToolCallState::Denied]);
    assert!(desk.output(1).text.contains("once is enough") && desk.output(1).is_error);
    Ok(())
}

#[tokio::test]
async fn a_consent_for_the_conversation_holds_for_the_same_command_in_later_turns_and_for_no_other()
-> Result<()> {
    let mut desk = strict().await?;
    let model = Script::new([calls(&[exec("touch a")]), says("done")]);
    let running = desk.begin("go", &model).await?;
    answer(&desk, ApprovalDecision::AllowConversation, None).await?;
    running.await?;
    desk.restart().await?;
    let model = Script::new([calls(&[exec("touch a")]), calls(&[exec("touch b")]), says("again")]);
    let running = desk.begin("again", &model).await?;
    let asked = answer(&desk, ApprovalDecision::Deny, None).await?;
    assert!(asked.text.contains("touch b"), "{}", asked.text);
    running.await?;
    assert_eq!(tool_calls(&desk.journal.now())[1].state, ToolCallState::Succeeded);
    Ok(())
}

#[tokio::test]
async fn a_rule_that_was_allowed_for_the_conversation_holds_for_commands_like_it() -> Result<()> {
    let desk = strict().await?;
    let first = ("exec_command", json!({"cmd": "touch a", "prefix_rule": ["touch"]}));
    let all = [calls(&[first]), calls(&[exec("touch b c")]), calls(&[exec("mkdir d")]), says("done")];
    let running = desk.begin("go", &Script::new(all)).await?;
    let asked = answer(&desk, ApprovalDecision::AllowConversation, None).await?;
    assert!(asked.rule_text.is_some_and(|text| text.contains("touch")));
    let asked = answer(&desk, ApprovalDecision::Deny, None).await?;
    assert!(asked.text.contains("mkdir d"), "{}", asked.text);
    running.await?;
    assert_eq!(tool_calls(&desk.journal.now())[1].state, ToolCallState::Succeeded);
    Ok(())
}

#[tokio::test]
async fn a_question_survives_a_restart_and_so_does_its_answer() -> Result<()> {
    let mut desk = strict().await?;
    let running = desk.begin("go", &Script::new([calls(&[exec("touch a && echo allowed")])])).await?;
    let asks = |now: &headwater_protocol::conversation::Conversation| {
        tool_calls(now).iter().any(|call| call.approval.is_some())
    };
    desk.journal.until("the question", asks).await?;
    running.abort();
    desk.restart().await?;
    let model = Script::new([says("done")]);
    let running = tokio::spawn(headwater_agent::run(desk.context(Some(&model))));
    answer(&desk, ApprovalDecision::AllowOnce, None).await?;
    running.await?;
    let now = desk.journal.now();
    assert_eq!((tool_calls(&now).len(), last_text(&now).as_str()), (1, "done"));
    assert!(desk.output(0).text.contains("allowed"), "{}", desk.output(0).text);
    let questions = |entry: &&headwater_protocol::conversation::LogEntry| {
        matches!(entry.event, ConversationEvent::ApprovalRequested { .. })
    };
    assert_eq!(desk.journal.log().iter().filter(questions).count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_turn_that_is_stopped_waits_for_no_answer() -> Result<()> {
    let desk = strict().await?;
    let running = desk.begin("go", &Script::new([calls(&[exec("touch a")])])).await?;
    desk.journal
        .until("the question", |now| tool_calls(now).iter().any(|call| call.approval.is_some()))
        .await?;
    desk.stop.cancel();
    running.await?;
    assert_eq!(tool_calls(&desk.journal.now())[0].state, ToolCallState::Stopped);
    Ok(())
}

#[tokio::test]
async fn rights_that_a_person_has_granted_are_not_asked_for_again() -> Result<()> {
    let desk = Desk::new().await?;
    let ask = ("request_permissions", json!({"permissions": {"network": true}, "reason": "to fetch"}));
    let command = (
        "exec_command",
        json!({
            "cmd": "true", "sandbox_permissions": "with_additional_permissions", "additional_permissions": {"network": true},
        }),
    );
    let model =
        Script::new([calls(std::slice::from_ref(&ask)), calls(&[command]), calls(&[ask]), says("done")]);
    let running = desk.begin("go", &model).await?;
    let asked = answer(&desk, ApprovalDecision::AllowConversation, None).await?;
    assert!(asked.text.contains("the network") && asked.text.contains("\"to fetch\""), "{}", asked.text);
    running.await?;
    assert!(desk.output(0).text.contains("with_additional_permissions"), "{}", desk.output(0).text);
    // This worker's sessions have nothing to give: the walls decide, whatever was granted. Nobody was asked again.
    assert!(desk.output(1).text.contains("more rights than its session"), "{}", desk.output(1).text);
    assert!(desk.output(2).text.starts_with("Granted"), "{}", desk.output(2).text);
    Ok(())
}

#[tokio::test]
async fn nobody_is_asked_with_the_policy_never() -> Result<()> {
    let mut desk = Desk::new().await?;
    desk.settings.approval = ApprovalPolicy::Never;
    let ask = ("request_permissions", json!({"permissions": {"network": true}}));
    let more = ("exec_command", json!({"cmd": "true", "sandbox_permissions": "require_escalated"}));
    desk.ask("go", &Script::new([calls(&[ask, more]), says("done")])).await?;
    assert!(
        desk.output(0).text.contains("nobody is asked") && desk.output(1).text.contains("nobody is asked")
    );
    Ok(())
}
