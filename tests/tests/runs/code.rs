//! Code in files: saved in the workspace, too long for an argument, with its own arguments.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use anyhow::Result;
use headwater_contract::FaultKind;
use headwater_protocol::{Command, StartSpec, Stdin};
use headwater_tests::{Options, TestWorker};

use crate::{refused, worker};

/// Code with a place to be saved at and arguments.
fn code(language: &str, code: &str, file: Option<&str>, args: &[&str]) -> StartSpec {
    StartSpec::new(Command::Code {
        language: language.into(),
        code: code.into(),
        file: file.map(Into::into),
        args: args.iter().map(ToString::to_string).collect(),
    })
}

/// The same code with at least this many bytes of comments before it.
fn padded(remark: &str, bytes: usize, code: &str) -> String {
    let line = format!("{remark} {}\n", "x".repeat(60));
    format!("{}{code}", line.repeat(bytes / line.len() + 1))
}

const LANGUAGES: [(&str, &str, &str, &str); 3] = [
    ("bash", "sh", "#", "printf '[%s]' \"$@\""),
    ("python", "py", "#", "import sys\nprint(''.join(f'[{a}]' for a in sys.argv[1:]), end='')"),
    ("node", "js", "//", "process.stdout.write(process.argv.slice(2).map(a => `[${a}]`).join(''))"),
];

#[tokio::test]
async fn saved_code_stays_in_the_workspace_and_is_what_ran() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let text = "import sys\nprint(__file__, sys.argv[1:], open(__file__).read() == sys.stdin.read())\n";
    for path in ["/src/deep/main.py", "/workspace/src/deep/main.py", "src/deep/main.py"] {
        let mut spec = code("python", text, Some(path), &["a b", "-c"]);
        spec.stdin = Stdin::Given(text.into());
        let seen = worker.run_in(session, &spec).await?;
        assert_eq!(seen.text(), "/workspace/src/deep/main.py ['a b', '-c'] True\n", "{}", seen.errors());
    }
    let workspace = worker.workspace(session);
    let file = workspace.join("src/deep/main.py");
    assert_eq!(std::fs::read_to_string(&file)?, text);
    for (path, mode) in [(workspace.join("src"), 0o755), (workspace.join("src/deep"), 0o755), (file, 0o644)] {
        let there = std::fs::metadata(&path)?;
        assert_eq!(there.permissions().mode() & 0o7777, mode, "{path:?}");
        assert_eq!(there.uid(), std::fs::metadata(&workspace)?.uid(), "{path:?} belongs to the session");
    }
    // It is the session's own: it may change it, and what it finds beside it is found.
    let line = "echo 'ANSWER = 42' >src/deep/beside.py; echo >>src/deep/main.py; ls -A src/deep";
    assert_eq!(worker.run_in(session, &StartSpec::shell(line)).await?.text(), "beside.py\nmain.py\n");
    let again = code("python", "import beside; print(beside.ANSWER)", Some("src/deep/main.py"), &[]);
    assert_eq!(worker.run_in(session, &again).await?.text(), "42\n");
    Ok(())
}

#[tokio::test]
async fn arguments_have_the_same_positions_in_saved_short_and_long_code() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    for (language, suffix, remark, text) in LANGUAGES {
        let (file, long) = (format!("args.{suffix}"), padded(remark, 200_000, text));
        for spec in [
            code(language, text, None, &["one", "--two", "3 4", "-"]),
            code(language, text, Some(&file), &["one", "--two", "3 4", "-"]),
            code(language, &long, None, &["one", "--two", "3 4", "-"]),
        ] {
            let seen = worker.run_in(session, &spec).await?;
            assert_eq!(seen.text(), "[one][--two][3 4][-]", "{language}: {}", seen.errors());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_megabyte_of_code_runs_in_its_working_directory_and_leaves_no_file() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("echo 'X = 6' >six.py; echo 'exports.x = 7' >seven.js")).await?;
    let listing = StartSpec::shell("ls -A /tmp; ls -A");
    let before = worker.run_in(session, &listing).await?.text();
    for (language, remark, text, says) in [
        ("bash", "#", "ls /tmp | grep -c ^headwater-; echo $(pwd)", "1\n/workspace\n"),
        (
            "python",
            "#",
            "import six, os\nprint(six.X, len([f for f in os.listdir('/tmp') if f.startswith('headwater-')]), __name__)",
            "6 1 __main__\n",
        ),
        (
            "node",
            "//",
            "console.log(require('./seven.js').x, require('fs').readdirSync('/tmp').filter(f => f.startsWith('headwater-')).length)",
            "7 1\n",
        ),
    ] {
        let seen = worker.run_in(session, &code(language, &padded(remark, 1 << 20, text), None, &[])).await?;
        assert_eq!(seen.text(), says, "{language}: {}", seen.errors());
    }
    worker.run_in(session, &StartSpec::shell("rm -rf __pycache__")).await?;
    assert_eq!(worker.run_in(session, &listing).await?.text(), before);
    Ok(())
}

#[tokio::test]
async fn long_code_is_gone_after_its_end_even_if_the_worker_was_killed_meanwhile() -> Result<()> {
    let mut worker = worker().await?;
    let session = worker.session().await?;
    let text = padded("#", 150_000, "import sys\nprint('ready', flush=True)\nprint(sys.stdin.readline())");
    let mut spec = code("python", &text, None, &[]);
    spec.stdin = Stdin::Open;
    let id = worker.begin_in(session, &spec).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("ready").await?;
    let count = StartSpec::shell("ls /tmp | grep -c headwater-exe");
    assert_eq!(worker.run_in(session, &count).await?.text(), "1\n");
    worker.kill();
    worker.start_again().await?;
    assert_eq!(worker.run_in(session, &count).await?.text(), "1\n", "it runs on and may read it");
    worker.client().await?.stdin(id).await?.write("on\n".into()).await?;
    assert_eq!(watcher.rest().await?.text(), "ready\non\n\n");
    assert_eq!(worker.run_in(session, &count).await?.text(), "0\n");
    Ok(())
}

#[tokio::test]
async fn long_code_is_returned_whole_for_one_execution_and_shortened_in_lists() -> Result<()> {
    let mut worker = worker().await?;
    let session = worker.session().await?;
    let text = padded("#", 5 << 20, "echo ran");
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(worker.begin_in(session, &code("bash", &text, None, &[])).await?);
    }
    for id in &ids {
        assert_eq!(worker.read(*id).await?.text(), "ran\n");
    }
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    for info in client.executions(Some(session), false).await? {
        let Command::Code { code, .. } = info.spec.command else { panic!("{:?}", info.spec.command) };
        assert!(code.len() < 8192 && code.contains(&format!("{} bytes in all", text.len())), "{code}");
    }
    let info = client.execution(ids[0]).await?;
    assert!(matches!(info.spec.command, Command::Code { code, .. } if code == text), "the whole code");
    Ok(())
}

#[tokio::test]
async fn an_invalid_path_and_code_that_is_too_large_are_refused_and_nothing_runs() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let client = worker.client().await?;
    let (long_path, long_name) = ("a/".repeat(2100) + "b", "n".repeat(256));
    for path in
        ["", "/", "/workspace", "..", "../x.py", "a/../../x.py", "src/", "a\0b", &long_path, &long_name]
    {
        let fault = refused(client.start(session, None, &code("python", "1", Some(path), &[])).await);
        assert_eq!(fault.kind, FaultKind::Invalid, "{path:?}: {fault:?}");
    }
    let fault = refused(client.start(session, None, &code("python", "1", Some("../x.py"), &[])).await);
    assert!(fault.message.contains("../x.py") && fault.hint.is_some(), "{fault:?}");
    let much = "#".repeat((8 << 20) + 1);
    for file in [None, Some("much.py")] {
        let fault = refused(client.start(session, None, &code("python", &much, file, &[])).await);
        assert_eq!(fault.kind, FaultKind::Invalid);
        assert!(fault.message.contains("8388608") && fault.hint.is_some(), "{fault:?}");
    }
    assert_eq!(client.executions(Some(session), false).await?, []);
    assert_eq!(std::fs::read_dir(worker.workspace(session))?.count(), 0);
    let seen = worker.run_in(session, &code("bash", &"#".repeat(8 << 20), None, &[])).await?;
    assert_eq!(seen.verdict().code, Some(0), "the control: {:?}", seen.verdict());
    Ok(())
}

#[tokio::test]
async fn without_walls_code_is_saved_and_run_too() -> Result<()> {
    let options = Options { pool: Some(1), no_walls: true, ..Options::default() };
    let worker = TestWorker::with(options).await?;
    let session = worker.session().await?;
    let spec = code("python", "print(__file__)", Some("/workspace/a/b.py"), &[]);
    let file = worker.workspace(session).join("a/b.py");
    let seen = worker.run_in(session, &spec).await?;
    assert_eq!(seen.text(), format!("{}\n", std::fs::canonicalize(&file)?.display()), "{}", seen.errors());
    assert_eq!(std::fs::read_to_string(&file)?, "print(__file__)");
    let text = padded("#", 150_000, "import sys; print(sys.argv)");
    let seen = worker.run_in(session, &code("python", &text, None, &["x"])).await?;
    assert_eq!(seen.text(), "['-c', 'x']\n", "{}", seen.errors());
    Ok(())
}

#[tokio::test]
async fn a_language_of_the_configuration_says_how_its_files_are_run() -> Result<()> {
    let config = "[languages.perl]\ninterpreters = [\"perl\"]\nargs = [\"-we\", \"{code}\", \"--\"]\n\
                  suffix = \"pl\"\nrun_file = [\"-w\", \"{file}\"]\n";
    let options = Options { pool: Some(1), config: Some(config.into()), ..Options::default() };
    let worker = TestWorker::with(options).await?;
    let text = "print \"$^W @ARGV $0\\n\"";
    for (spec, says) in [
        (code("perl", text, None, &["-x"]), "1 -x -e\n"),
        (code("perl", text, Some("a.pl"), &["-x"]), "1 -x /workspace/a.pl\n"),
    ] {
        let seen = worker.run(&spec).await?;
        assert_eq!(seen.text(), says, "{}", seen.errors());
    }
    let seen = worker.run(&code("perl", &padded("#", 150_000, text), None, &["-x"])).await?;
    let said = seen.text();
    assert!(
        said.starts_with("1 -x /tmp/headwater-exe_") && said.ends_with(".pl\n"),
        "{said}{}",
        seen.errors()
    );
    Ok(())
}
