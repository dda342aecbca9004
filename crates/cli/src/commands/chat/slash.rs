//! The commands that begin with a slash.

use super::screen::Line;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    Help,
    Model(Option<String>),
    Plan(Option<bool>),
    Approvals(Option<String>),
    New,
    Resume(String),
    List,
    Rename(String),
    Status,
    Run(String),
    Stop,
    Export(String),
    Quit,
    /// One that does not exist, or lacks its argument: what to say.
    Wrong(String),
}

/// Each command with its argument and what it does.
pub const ALL: [(&str, &str, &str); 13] = [
    ("help", "", "lists these commands"),
    ("run", "CODE", "runs a shell command, or a block of code, without the agent"),
    ("model", "[NAME]", "lists the models, or selects one"),
    ("plan", "[on|off]", "lets the agent only plan, or work again"),
    ("approvals", "[POLICY]", "shows or sets when you are asked"),
    ("status", "", "shows the conversation, its settings and what it has used"),
    ("stop", "", "interrupts the agent, as Ctrl+C does"),
    ("new", "", "begins another conversation"),
    ("list", "", "lists the conversations"),
    ("resume", "[ID]", "goes on with another conversation"),
    ("rename", "TITLE", "gives the conversation another title"),
    ("export", "FILE", "writes it into a file: .md, .json or .ipynb"),
    ("quit", "", "leaves, as Ctrl+D does"),
];

/// Parses a line that begins with a slash. Other lines, and paths such as `/etc/hosts`, are messages.
pub fn parse(line: &str) -> Option<Slash> {
    let rest = line.trim().strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !name.chars().all(|ch| ch.is_ascii_lowercase()) {
        return None;
    }
    let argument = argument.trim().to_owned();
    let some = || Some(argument.clone()).filter(|text| !text.is_empty());
    let needed = |make: fn(String) -> Slash| some().map_or_else(|| Slash::Wrong(usage(name)), make);
    Some(match name {
        "help" => Slash::Help,
        "model" => Slash::Model(some()),
        "plan" => match argument.as_str() {
            "" => Slash::Plan(None),
            "on" => Slash::Plan(Some(true)),
            "off" => Slash::Plan(Some(false)),
            _ => Slash::Wrong(usage(name)),
        },
        "approvals" => Slash::Approvals(some()),
        "new" => Slash::New,
        "resume" => Slash::Resume(argument),
        "list" => Slash::List,
        "rename" => needed(Slash::Rename),
        "status" => Slash::Status,
        "run" => needed(Slash::Run),
        "stop" => Slash::Stop,
        "export" => needed(Slash::Export),
        "quit" | "exit" => Slash::Quit,
        _ => Slash::Wrong(format!("there is no command `/{name}`; `/help` lists them")),
    })
}

fn usage(name: &str) -> String {
    let argument = ALL.iter().find(|(one, ..)| *one == name).map(|(_, argument, _)| *argument);
    format!("write `/{name} {}`", argument.unwrap_or_default())
}

/// What `/help` prints.
pub fn help() -> Vec<String> {
    let line = |(name, argument, about): &(&str, &str, &str)| {
        format!("  {:<22} {about}", format!("/{name} {argument}"))
    };
    let mut lines: Vec<String> = ALL.iter().map(line).collect();
    lines.push(
        "  Alt+Enter begins another line. What you send while the agent works reaches it at its next step."
            .into(),
    );
    lines
}

/// Completes the name of a command.
pub fn complete(line: &mut Line) {
    let text = line.text();
    let Some(start) = text.strip_prefix('/').filter(|start| !start.contains(char::is_whitespace)) else {
        return;
    };
    let names: Vec<&str> =
        ALL.iter().map(|(name, ..)| *name).filter(|name| name.starts_with(start)).collect();
    match names[..] {
        [one] => line.replace(&format!("/{one} ")),
        [first, ..] => {
            let is_common = |end: &usize| names.iter().all(|name| name.starts_with(&first[..*end]));
            let end = (start.len()..=first.len()).rev().find(is_common).unwrap_or(start.len());
            line.replace(&format!("/{}", &first[..end]));
        }
        [] => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_help_exists_and_paths_are_no_commands() {
        for (name, argument, _) in ALL {
            let argument = if argument.starts_with('[') || argument.is_empty() { "" } else { "x" };
            let parsed = parse(&format!("/{name} {argument}"));
            assert!(!matches!(parsed, None | Some(Slash::Wrong(_))), "{name}: {parsed:?}");
        }
        for text in ["hello", "/etc/hosts is wrong", "/", "// x", "/Users"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["/nonsense", "/rename", "/run", "/plan maybe"] {
            assert!(matches!(parse(text), Some(Slash::Wrong(_))), "{text}");
        }
        assert_eq!(parse("/run echo  hi\nls"), Some(Slash::Run("echo  hi\nls".into())));
    }

    #[test]
    fn tab_completes_as_far_as_it_is_clear() {
        let completed = |text: &str| {
            let mut line = Line::default();
            line.replace(text);
            complete(&mut line);
            line.text()
        };
        assert_eq!(completed("/st"), "/st");
        assert_eq!(completed("/sta"), "/status ");
        assert_eq!(completed("/x"), "/x");
        assert_eq!(completed("a"), "a");
    }
}
