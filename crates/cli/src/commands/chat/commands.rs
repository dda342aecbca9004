//! What the commands that begin with a slash do.

use std::fmt::Write as _;

use clap::ValueEnum;
use headwater_protocol::api::{
    ApprovalPolicyName, ConversationMode, ConversationPatch, ConversationRequest, ModelBody,
};
use headwater_protocol::conversation::ModelUsage;

use super::app::App;
use super::slash::{self, Slash};
use super::view::note;
use super::{NO_MODEL, export, policy_name, source};
use crate::args::ApprovalsArg;
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::humanize;

type Result<T> = std::result::Result<T, CommandError>;

/// Conversations that `/list` shows.
const LISTED: usize = 20;

/// Runs a command.
pub async fn run(app: &mut App, command: Slash) -> Result<()> {
    match command {
        Slash::Help => slash::help().iter().for_each(|line| app.screen.note(line)),
        Slash::Wrong(what) => return Err(CommandError::usage(what)),
        Slash::Model(name) => model(app, name).await?,
        Slash::Plan(wanted) => plan(app, wanted).await?,
        Slash::Approvals(policy) => approvals(app, policy).await?,
        Slash::Rename(title) => {
            let patch = ConversationPatch { title: Some(title), ..ConversationPatch::default() };
            app.chat.change(patch).await?;
        }
        Slash::Status => status(app).await?,
        Slash::List => list(app).await?,
        Slash::Run(code) => run_code(app, code).await?,
        Slash::Stop if app.is_running() => app.chat.stop().await?,
        Slash::Stop => note(&mut app.screen, "nothing runs"),
        Slash::Export(file) => {
            let body = app.chat.body().await?;
            export::write(file.as_ref(), &body.id, body.title.as_deref(), &app.now, &app.log)?;
            note(&mut app.screen, &format!("written to {}", printable(&file)));
        }
        Slash::New | Slash::Resume(_) if app.is_running() => return Err(busy()),
        Slash::New => new(app).await?,
        Slash::Resume(id) => {
            let id = source::find(app.chats.as_ref(), &id).await?;
            if id == *app.chat.id() {
                return Err(CommandError::usage("this conversation is open already"));
            }
            let chat = app.chats.open(&id).await?;
            app.switch(chat).await?;
        }
        Slash::Quit if app.is_running() => {
            app.chat.stop().await?;
            app.leave(0);
        }
        Slash::Quit => app.leave(0),
    }
    Ok(())
}

fn busy() -> CommandError {
    CommandError::new(ErrorKind::Refused, "the agent works: `/stop` interrupts it")
}

async fn new(app: &mut App) -> Result<()> {
    let now = app.chat.body().await?;
    let request = ConversationRequest {
        model: now.model,
        approval_policy: Some(now.approval_policy),
        mode: Some(now.mode),
        ..ConversationRequest::default()
    };
    let chat = app.chats.create(request).await?;
    note(&mut app.screen, &format!("{} {}", chat.id(), chat.place()));
    app.switch(chat).await
}

fn model_line(model: &ModelBody, chosen: Option<&str>) -> String {
    let is_chosen = chosen.map_or(model.is_default, |name| name == model.name);
    let mark = if is_chosen { "*" } else { " " };
    format!("  {mark} {} ({}, {})", printable(&model.name), printable(&model.model), printable(&model.api))
}

async fn model(app: &mut App, name: Option<String>) -> Result<()> {
    if let Some(name) = name {
        let patch = ConversationPatch { model: Some(name), ..ConversationPatch::default() };
        app.chat.change(patch).await?;
    }
    let models = app.chats.models().await?;
    let chosen = app.chat.body().await?.model;
    if models.is_empty() {
        app.screen.note(NO_MODEL);
    }
    for model in &models {
        app.screen.note(&model_line(model, chosen.as_deref()));
    }
    Ok(())
}

async fn plan(app: &mut App, wanted: Option<bool>) -> Result<()> {
    let is_on = app.chat.body().await?.mode == ConversationMode::Plan;
    let mode = if wanted.unwrap_or(!is_on) { ConversationMode::Plan } else { ConversationMode::Default };
    app.chat.change(ConversationPatch { mode: Some(mode), ..ConversationPatch::default() }).await?;
    note(
        &mut app.screen,
        match mode {
            ConversationMode::Plan => {
                "from the next turn on the agent only plans: it reads, and changes nothing"
            }
            ConversationMode::Default => "from the next turn on the agent works",
        },
    );
    Ok(())
}

async fn approvals(app: &mut App, policy: Option<String>) -> Result<()> {
    if let Some(policy) = policy {
        let known = ApprovalsArg::from_str(&policy, true).map_err(|_| {
            CommandError::usage(format!("there is no policy `{policy}`"))
                .hint("write `never`, `on-failure`, `on-request` or `unless-trusted`")
        })?;
        let approval_policy = Some(policy_name(known));
        app.chat.change(ConversationPatch { approval_policy, ..ConversationPatch::default() }).await?;
    }
    note(
        &mut app.screen,
        match app.chat.body().await?.approval_policy {
            ApprovalPolicyName::Never => "never: what needs consent is refused",
            ApprovalPolicyName::OnFailure => {
                "on-failure: you are asked when a command has failed in its sandbox"
            }
            ApprovalPolicyName::OnRequest => {
                "on-request: you are asked when a command needs more than its sandbox"
            }
            ApprovalPolicyName::UnlessTrusted => {
                "unless-trusted: you are asked about every command that does not only read"
            }
        },
    );
    Ok(())
}

async fn status(app: &mut App) -> Result<()> {
    let body = app.chat.body().await?;
    let mut used = ModelUsage::default();
    app.now.messages.iter().filter_map(|message| message.usage.as_ref()).for_each(|one| used.add(one));
    let models = app.chats.models().await?;
    let default = models.iter().find(|model| model.is_default).map(|model| model.name.clone());
    let model = body.model.or(default).unwrap_or_else(|| "none".to_owned());
    let mode = if body.mode == ConversationMode::Plan { "only plans" } else { "works" };
    let policy = serde_json::to_value(body.approval_policy).unwrap_or_default();
    let session = body.session_id.map_or_else(|| "none yet".to_owned(), |id| id.to_string());
    let title = app.now.title.clone().unwrap_or_else(|| "-".to_owned());
    let mut tokens =
        format!("{} in ({} cached), {} out", used.input_tokens, used.cached_tokens, used.output_tokens);
    if let Some(cost) = used.cost_usd {
        let _ = write!(tokens, ", ${cost:.4}");
    }
    for (name, value) in [
        ("conversation", body.id.to_string()),
        ("title", title),
        ("model", model),
        ("agent", format!("{mode} {}", app.chat.place())),
        ("session", session),
        ("approvals", policy.as_str().unwrap_or_default().to_owned()),
        ("messages", app.now.branch().len().to_string()),
        ("tokens", tokens),
    ] {
        app.screen.note(&format!("  {name:<13} {}", printable(&value)));
    }
    Ok(())
}

async fn list(app: &mut App) -> Result<()> {
    for one in app.chats.list().await?.into_iter().take(LISTED) {
        let mark = if one.id == *app.chat.id() { "*" } else { " " };
        let title = one.title.unwrap_or_else(|| "-".to_owned());
        let when = humanize::ago(one.last_activity_at.0);
        app.screen.note(&format!("{mark} {}  {when:<14} {}", one.id, printable(&title)));
    }
    Ok(())
}

/// Runs a piece of code without the agent, as a cell of a notebook.
async fn run_code(app: &mut App, code: String) -> Result<()> {
    if app.is_running() {
        return Err(busy());
    }
    let has_models = !app.chats.models().await?.is_empty();
    if has_models && !app.chat.has_notebook() {
        return Err(CommandError::new(ErrorKind::Refused, "on a server with models, `/run` is not possible")
            .hint("ask the agent to run it, or use `headwater exec SESSION` (`/status` shows the session)"));
    }
    let text = if code.starts_with("```") || code.starts_with("~~~") {
        code
    } else if code.contains('\n') {
        format!("~~~~bash\n{code}\n~~~~")
    } else {
        format!("/run {code}")
    };
    app.send(text, Vec::new(), has_models.then(String::new)).await
}
