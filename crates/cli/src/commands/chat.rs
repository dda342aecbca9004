//! `headwater chat`: a conversation with an agent, on a server or in this process.
//!
//! [`source`] hides where conversations are. [`app`] is the loop; it reads the log of the conversation, as every view does,
//! and shows it with [`view`] and, for the output of commands, [`tails`]. What the person types comes through [`screen`].

mod app;
mod ask;
mod commands;
mod export;
#[cfg(target_os = "linux")]
mod local;
#[cfg(target_os = "linux")]
mod media;
mod remote;
mod screen;
mod slash;
mod source;
mod summary;
mod tails;
mod view;

use std::io::{IsTerminal, Read};
use std::path::Path;

use headwater_protocol::api::{
    ApprovalPolicyName, ConversationBody, ConversationMode, ConversationPatch, ConversationRequest,
};
use headwater_protocol::conversation::Conversation;

use self::app::{App, Mode, Options};
use self::remote::RemoteChats;
use self::source::{Chat, Chats, find};
use crate::args::{ApprovalsArg, ChatArgs, HereArgs};
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_list, print_note};
use crate::system::TerminalMode;
use crate::view::Table;
use crate::{humanize, input, terminal};

type Result<T> = std::result::Result<T, CommandError>;

/// How to add a model.
const NO_MODEL: &str = "no model is configured, so only `/run` and blocks of code work; a section `[models.NAME]` with `api`, \
    `base_url` and `model` in the configuration file adds one";
/// The longest prompt.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

/// Runs `headwater chat`.
pub async fn chat(place: &Place, args: &ChatArgs) -> Result<u8> {
    let chats = chats(place, args).await?;
    if args.list {
        return list(chats.as_ref(), args.json).await;
    }
    let resumed = match (&args.resume, args.goes_on) {
        (Some(id), _) => Some(find(chats.as_ref(), id).await?),
        (None, true) => Some(find(chats.as_ref(), "").await?),
        (None, false) => None,
    };
    if let Some(file) = &args.export {
        return export(chats.as_ref(), resumed, file).await;
    }
    // The terminal of a job in the background is not ours.
    let is_person =
        terminal::stdin_is_terminal() && std::io::stderr().is_terminal() && !terminal::in_background();
    let prompt = prompt(args, resumed.is_some())?;
    let mode = if prompt.is_none() && is_person && !args.json { Mode::Interactive } else { Mode::Once };
    let chat = match &resumed {
        Some(id) => {
            let chat = chats.open(id).await?;
            change(chat.as_ref(), args).await?;
            chat
        }
        None => chats.create(request(args)).await?,
    };
    if mode == Mode::Interactive {
        greet(chats.as_ref(), chat.as_ref(), args).await?;
    }
    let _mode = if is_person { TerminalMode::keys()? } else { None };
    let input = is_person.then(input::own);
    let is_streamed = std::io::stdout().is_terminal();
    let options = Options { mode, json: args.json, yes: args.yes };
    let mut app = App::new(chats, chat, options, input, is_streamed)?;
    app.recall().await?;
    let mut attachments = Vec::new();
    for file in &args.attach {
        attachments.push(app.chat.attach(file).await?);
    }
    match prompt {
        Some(text) => app.send(text, attachments, None).await?,
        None if !attachments.is_empty() => app.send(String::new(), attachments, None).await?,
        None if mode == Mode::Once && !app.is_running() => return Err(no_prompt()),
        None => {}
    }
    app.run().await
}

fn no_prompt() -> CommandError {
    CommandError::usage("there is no prompt").hint("write it as the argument, or pass it on standard input")
}

/// The conversations of the server, or of this machine.
async fn chats(place: &Place, args: &ChatArgs) -> Result<Box<dyn Chats>> {
    let Some(server) = &place.server else { return local_chats(place, args).await };
    let HereArgs { folder, sandbox, network, writable, .. } = &args.here;
    if folder.is_some() || sandbox.is_some() || network.is_some() || !writable.is_empty() {
        return Err(CommandError::usage("`--folder`, `--sandbox`, `--network` and `--writable` are for this machine, but a server is selected")
            .hint("add `--context local`, or name a session of the server with `--session`"));
    }
    Ok(Box::new(RemoteChats::new(server.client()?)))
}

#[cfg(target_os = "linux")]
async fn local_chats(place: &Place, args: &ChatArgs) -> Result<Box<dyn Chats>> {
    Ok(Box::new(local::LocalChats::new(place, args).await?))
}

#[cfg(not(target_os = "linux"))]
async fn local_chats(_: &Place, _: &ChatArgs) -> Result<Box<dyn Chats>> {
    crate::host::refused().await
}

/// What the agent is asked on the command line or on standard input. A terminal is for a conversation.
fn prompt(args: &ChatArgs, is_resumed: bool) -> Result<Option<String>> {
    let is_piped = !terminal::stdin_is_terminal();
    let text = match args.prompt.as_deref() {
        Some("-") => read_stdin()?,
        None if is_piped => read_stdin()?,
        Some(text) => text.to_owned(),
        None => return Ok(None),
    };
    if !text.trim().is_empty() {
        return Ok(Some(text));
    }
    // A turn that was interrupted needs no prompt to go on.
    if args.prompt.is_none() && (is_resumed || !args.attach.is_empty()) { Ok(None) } else { Err(no_prompt()) }
}

fn read_stdin() -> Result<String> {
    if terminal::stdin_is_null() {
        return Ok(String::new());
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| {
        CommandError::usage(format!("cannot read the prompt from standard input: {error}"))
    })?;
    if text.len() as u64 > MAX_PROMPT_BYTES {
        let most = humanize::bytes(MAX_PROMPT_BYTES);
        return Err(CommandError::usage(format!("the prompt has more than {most}"))
            .hint("put a long text into a file, and add it with `--attach FILE`"));
    }
    Ok(text)
}

/// The name of a policy in the API.
const fn policy_name(policy: ApprovalsArg) -> ApprovalPolicyName {
    match policy {
        ApprovalsArg::Never => ApprovalPolicyName::Never,
        ApprovalsArg::OnFailure => ApprovalPolicyName::OnFailure,
        ApprovalsArg::OnRequest => ApprovalPolicyName::OnRequest,
        ApprovalsArg::UnlessTrusted => ApprovalPolicyName::UnlessTrusted,
    }
}

/// A new conversation with the settings of the command line.
fn request(args: &ChatArgs) -> ConversationRequest {
    ConversationRequest {
        session_id: args.session.clone(),
        model: args.model.clone(),
        approval_policy: args.approvals.map(policy_name),
        mode: args.plan.then_some(ConversationMode::Plan),
        ..ConversationRequest::default()
    }
}

/// Changes the settings of a conversation that is resumed, if the command line names some.
async fn change(chat: &dyn Chat, args: &ChatArgs) -> Result<()> {
    let patch = ConversationPatch {
        session_id: args.session.clone(),
        model: args.model.clone(),
        approval_policy: args.approvals.map(policy_name),
        mode: args.plan.then_some(ConversationMode::Plan),
        ..ConversationPatch::default()
    };
    if patch == ConversationPatch::default() { Ok(()) } else { chat.change(patch).await }
}

async fn greet(chats: &dyn Chats, chat: &dyn Chat, args: &ChatArgs) -> Result<()> {
    let models = chats.models().await?;
    let default = models.iter().find(|model| model.is_default).map(|model| model.name.clone());
    let model = args.model.clone().or(chat.body().await?.model).or(default);
    let model = model.map_or_else(|| "no model".to_owned(), |name| format!("model {name}"));
    print_note(&printable(&format!("headwater chat: {model}, {}", chat.place())));
    if models.is_empty() {
        print_note(&format!("headwater: {NO_MODEL}"));
    }
    print_note("/help lists the commands, Ctrl+C interrupts the agent, Ctrl+D leaves");
    Ok(())
}

async fn list(chats: &dyn Chats, json: bool) -> Result<u8> {
    print_list(&chats.list().await?, json, table)?;
    Ok(0)
}

fn table(all: &[ConversationBody]) -> Vec<String> {
    let mut table = Table::new(&["CONVERSATION", "LAST USED", "TITLE"]);
    for one in all {
        let title = printable(one.title.as_deref().unwrap_or("-"));
        table.row([table.id(&one.id), humanize::ago(one.last_activity_at.0), title]);
    }
    table.lines()
}

async fn export(
    chats: &dyn Chats,
    resumed: Option<headwater_protocol::conversation::ConversationId>,
    file: &Path,
) -> Result<u8> {
    let id = match resumed {
        Some(id) => id,
        None => find(chats, "").await?,
    };
    let log = chats.log(&id).await?;
    if log.is_empty() {
        return Err(CommandError::new(ErrorKind::Refused, format!("the conversation {id} is empty")));
    }
    let conversation = Conversation::of(&log);
    export::write(file, &id, conversation.title.as_deref(), &conversation, &log)?;
    print_note(&format!("headwater: {id} is written to {}", printable(&file.display().to_string())));
    Ok(0)
}
