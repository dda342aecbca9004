//! Prompts for common work.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

/// The longest argument that is put into a prompt, in bytes.
const MAX_ARGUMENT_BYTES: usize = 4096;

/// Returns the value of an argument, if it was given.
type Given<'a> = dyn Fn(&str) -> Option<String> + 'a;

struct Argument {
    name: &'static str,
    description: &'static str,
    required: bool,
}

struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    text: fn(&Given<'_>) -> String,
}

const TEMPLATES: &[Template] = &[
    Template {
        name: "fix_tests",
        title: "Run the tests and fix what fails",
        description: "Runs the tests, fixes the cause of each failure, and runs them again.",
        arguments: &[Argument {
            name: "command",
            description: "The command that runs the tests.",
            required: false,
        }],
        text: |argument| {
            let find = "Find out how this project runs its tests: read its README, its build files and its CI \
                configuration. Then run all of them.";
            let run = argument("command")
                .map_or_else(|| find.to_owned(), |command| format!("Run the tests with `{command}`."));
            format!(
                "{run}\n\nUse `exec_command`. If the tests outlive the call, use one `wait` with the session ID; do \
                not poll. Read the failures in full with `read_output` and its `grep`, because the result of a call \
                may be shortened.\n\nThen, for each failure:\n1. Find the cause in the code. Do not guess: read the \
                test and the code that it calls.\n2. Fix the code if it is wrong, or the test if the test is wrong. \
                Say which, and why. Do not skip, delete or weaken a test to make it pass.\n3. Run that test alone \
                until it passes.\n\nAt the end run all tests again. Report what failed, what the cause was and what \
                you changed. If a test still fails, say so."
            )
        },
    },
    Template {
        name: "explain_failure",
        title: "Explain why a command failed",
        description: "Reads the output of a command from its log and explains its end.",
        arguments: &[Argument {
            name: "execution",
            description: "The session ID that a tool returned, or the ID of the execution (exe_…). Without one, the last command that failed.",
            required: false,
        }],
        text: |argument| {
            let which = argument("execution").map_or_else(
                || "the newest command that did not exit with 0; `list_executions` shows it".to_owned(),
                |id| format!("the command with the session ID {id}"),
            );
            format!(
                "Explain why a command failed: {which}.\n\nRead its output with `read_output`: first the end, \
                then search it for the first error with `grep`, because later errors are often consequences of the \
                first. If it was ended by a signal or a limit (time, memory, output), say which.\n\nAnswer with: what \
                it tried to do, the first thing that went wrong with the lines that show it, the cause, and what to \
                change. Do not change anything yet."
            )
        },
    },
    Template {
        name: "background_server",
        title: "Start a server and check that it works",
        description: "Starts a server in the background, waits until it listens, and requests a page.",
        arguments: &[
            Argument { name: "command", description: "The command that starts the server.", required: true },
            Argument { name: "port", description: "The port that it listens on.", required: false },
        ],
        text: |argument| {
            let command = argument("command").unwrap_or_default();
            let wait = argument("port").map_or_else(
                || "Find out which port it listens on, and wait for it with `wait` and `until: {\"port\": N}`.".to_owned(),
                |port| format!("Pass `wait_for: {{\"port\": {port}}}`, so that the call returns as soon as it listens."),
            );
            format!(
                "Start this server in the background and leave it running:\n\n{command}\n\nUse `exec_command`, not a \
                shell with `&` or `nohup`: a command keeps running after its call, and its output is kept. {wait} If \
                it exits instead, read its output and say why.\n\nThen request a page of it with `curl -sS -i` from \
                within the session, and report the status and the first lines. Give me the session ID, with which \
                `read_output` shows its log and `kill` ends it."
            )
        },
    },
    Template {
        name: "bisect_change",
        title: "Find the change that broke something",
        description: "Finds the commit that made a command fail, by git bisect.",
        arguments: &[
            Argument {
                name: "command",
                description: "A command that fails now and passed before.",
                required: true,
            },
            Argument {
                name: "good",
                description: "A commit, tag or branch where it passed.",
                required: false,
            },
        ],
        text: |argument| {
            let command = argument("command").unwrap_or_default();
            let good = argument("good").map_or_else(
                || {
                    "Find a commit where it passes: try the last tag first, then go back in larger steps."
                        .to_owned()
                },
                |good| format!("It passed at `{good}`; check that first."),
            );
            format!(
                "Find the commit that broke this command:\n\n{command}\n\n{good} Commit or stash nothing: if the \
                working tree has changes, work in a new worktree below the system's temporary folder and remove it \
                at the end.\n\nUse `git bisect run` with the command, in one `exec_command`, and one `wait` for its \
                end. A commit that does not build is skipped (exit code 125).\n\nReport the commit, what it changed, \
                and why that breaks the command. Propose a fix, but do not apply it yet."
            )
        },
    },
];

/// All prompts.
pub(crate) fn list() -> Vec<Prompt> {
    let argument = |argument: &Argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    };
    let prompt = |template: &Template| {
        let arguments = template.arguments.iter().map(argument).collect();
        Prompt::new(template.name, Some(template.description), Some(arguments)).with_title(template.title)
    };
    TEMPLATES.iter().map(prompt).collect()
}

/// One prompt with its arguments.
pub(crate) fn get(name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let invalid = |message: String| ErrorData::invalid_params(message, None);
    let template = TEMPLATES.iter().find(|template| template.name == name).ok_or_else(|| {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        invalid(format!("unknown prompt {name:?}: the prompts are {}", names.join(", ")))
    })?;
    let given = |name: &str| match arguments.and_then(|arguments| arguments.get(name)) {
        Some(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    for argument in template.arguments {
        match given(argument.name) {
            None if argument.required => {
                return Err(invalid(format!("the argument {:?} is missing", argument.name)));
            }
            Some(text) if text.len() > MAX_ARGUMENT_BYTES => {
                return Err(invalid(format!(
                    "the argument {:?} has more than {MAX_ARGUMENT_BYTES} bytes",
                    argument.name
                )));
            }
            _ => {}
        }
    }
    let message = PromptMessage::new_text(Role::User, (template.text)(&given));
    Ok(GetPromptResult::new(vec![message]).with_description(template.description))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(name: &str, arguments: &Value) -> Result<String, String> {
        let result = get(name, arguments.as_object()).map_err(|error| error.message.into_owned())?;
        Ok(serde_json::to_value(&result.messages[0]).unwrap()["content"]["text"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_prompt_contains_its_arguments() {
        assert!(text("fix_tests", &json!({"command": "make check"})).unwrap().contains("`make check`"));
        assert!(text("fix_tests", &json!({})).unwrap().contains("Find out how this project runs its tests"));
        let server = text("background_server", &json!({"command": "npm start", "port": "3000"})).unwrap();
        assert!(server.contains("npm start") && server.contains("\"port\": 3000"), "{server}");
        assert!(text("explain_failure", &json!({"execution": 4711})).unwrap().contains("4711"));
    }

    #[test]
    fn every_prompt_is_listed_and_can_be_read() {
        for prompt in list() {
            let all: JsonObject = prompt
                .arguments
                .unwrap()
                .iter()
                .map(|argument| (argument.name.clone(), json!("x")))
                .collect();
            assert!(get(&prompt.name, Some(&all)).is_ok(), "{}", prompt.name);
        }
    }

    #[test]
    fn a_missing_argument_and_an_unknown_prompt_are_refused_by_name() {
        assert!(
            text("background_server", &json!({"command": " "}))
                .unwrap_err()
                .contains("\"command\" is missing")
        );
        assert!(text("none", &json!({})).unwrap_err().contains("fix_tests"));
        assert!(text("fix_tests", &json!({"command": "x".repeat(5000)})).unwrap_err().contains("4096"));
    }
}
