//! A login shell that marks its prompts, its commands and its folder in its output, with a secret.

use headwater_protocol::ExecutionId;
use headwater_sandbox::wire::CodeFile;
use std::path::Path;

use crate::executions::program::Program;

const BASH: [&str; 2] = ["/bin/bash", "/usr/bin/bash"];
const SCRIPT: &str = include_str!("shell.bash");

/// Whether this asks for a login shell: `bash -l`.
pub(super) fn is_login_shell(argv: &[String]) -> bool {
    matches!(argv, [bash, login] if (bash == "bash" || BASH.contains(&bash.as_str())) && login == "-l")
}

/// The login shell; a plain one if bash is not installed.
pub(super) fn integrated(secret: &str, id: ExecutionId) -> Program {
    let bash = BASH.into_iter().find(|path| Path::new(path).exists());
    with(bash, secret, id)
}

fn with(bash: Option<&str>, secret: &str, id: ExecutionId) -> Program {
    let Some(bash) = bash else {
        return Program {
            argv: vec!["/bin/sh".into(), "-l".into()],
            save: None,
            code_file: None,
            scratch: None,
        };
    };
    // In the session, and removed as soon as the shell has read it: other programs must not learn the secret.
    let path = format!("/tmp/headwater-{id}.bashrc");
    let argv = [bash, "--rcfile", &path, "-i"].map(str::to_owned).to_vec();
    let text = SCRIPT.replace("@SECRET@", secret);
    Program { argv, save: None, code_file: Some(CodeFile { path, text }), scratch: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_shell_is_what_was_asked_for_as_one() {
        let is = |argv: &[&str]| is_login_shell(&argv.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
        assert!(is(&["bash", "-l"]) && is(&["/bin/bash", "-l"]));
        assert!(
            !is(&["bash"]) && !is(&["bash", "-l", "x"]) && !is(&["/tmp/bash", "-l"]) && !is(&["zsh", "-l"])
        );
    }

    #[test]
    fn without_bash_there_is_a_plain_shell() {
        let plain = with(None, "s", ExecutionId::random());
        assert_eq!((plain.argv, plain.code_file), (vec!["/bin/sh".to_owned(), "-l".into()], None));
    }

    #[test]
    fn the_secret_is_in_the_file_and_not_among_the_arguments() {
        let shell = with(Some("/bin/bash"), "5ecre7", ExecutionId::random());
        assert!(!shell.argv.concat().contains("5ecre7"));
        assert!(shell.code_file.unwrap().text.contains("5ecre7"));
    }
}
