//! Every language of the box, in the same way: as code, from a file, with arguments and input, with an exit code and with
//! a mistake. A missing language is refused with the package to install.

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::http::{error_of, json_of};
use serde_json::{Value, json};

use crate::calls::{Languages, fixture};

/// Prints its arguments and what it reads, complains and ends with 7; then something that cannot be run.
const EVERY: &[(&str, &str, &str)] = &[
    ("bash", "echo args \"$@\"; read line; echo \"read $line\"; echo oops >&2; exit 7", "if ("),
    (
        "python",
        "import sys\nprint('args', *sys.argv[1:])\nprint('read', input())\nprint('oops', file=sys.stderr)\nsys.exit(7)",
        "print(",
    ),
    (
        "node",
        "console.log('args', ...process.argv.slice(2)); console.log('read', require('fs').readFileSync(0, 'utf8').trim()); \
         console.error('oops'); process.exit(7)",
        "console.log(",
    ),
    (
        "typescript",
        "declare const require: any, process: any;\nconst args: string[] = process.argv.slice(2);\n\
         console.log('args', ...args);\nconsole.log('read', require('fs').readFileSync(0, 'utf8').trim());\n\
         console.error('oops');\nprocess.exit(7)",
        "console.log(",
    ),
    (
        "c",
        "#include <stdio.h>\nint main(int n, char **v) { char b[99] = \"\"; printf(\"args\"); for (int i = 1; i < n; i++) \
         printf(\" %s\", v[i]); printf(\"\\n\"); scanf(\"%98[^\\n]\", b); printf(\"read %s\\n\", b); \
         fprintf(stderr, \"oops\\n\"); return 7; }",
        "int main( {",
    ),
    (
        "cpp",
        "#include <iostream>\n#include <string>\nint main(int n, char **v) { std::cout << \"args\"; for (int i = 1; i < n; i++) \
         std::cout << ' ' << v[i]; std::string b; std::getline(std::cin, b); std::cout << \"\\nread \" << b << \"\\n\"; \
         std::cerr << \"oops\\n\"; return 7; }",
        "int main( {",
    ),
    (
        "rust",
        "fn main() { let args: Vec<String> = std::env::args().skip(1).collect(); println!(\"args {}\", args.join(\" \")); \
         let mut b = String::new(); std::io::stdin().read_line(&mut b).unwrap(); println!(\"read {}\", b.trim()); \
         eprintln!(\"oops\"); std::process::exit(7) }",
        "fn main( {",
    ),
    (
        "go",
        "package main\nimport (\"bufio\"; \"fmt\"; \"os\"; \"strings\")\nfunc main() { fmt.Println(\"args\", \
         strings.Join(os.Args[1:], \" \")); b, _ := bufio.NewReader(os.Stdin).ReadString('\\n'); fmt.Println(\"read\", \
         strings.TrimSpace(b)); fmt.Fprintln(os.Stderr, \"oops\"); os.Exit(7) }",
        "package main\nfunc main( {",
    ),
    (
        "java",
        "class Any { public static void main(String[] args) throws Exception { System.out.println(\"args \" + \
         String.join(\" \", args)); System.out.println(\"read \" + new java.util.Scanner(System.in).nextLine()); \
         System.err.println(\"oops\"); System.exit(7); } }",
        "class Any {",
    ),
    (
        "ruby",
        "puts \"args #{ARGV.join(' ')}\"; puts \"read #{$stdin.gets.chomp}\"; warn 'oops'; exit 7",
        "puts (",
    ),
    (
        "perl",
        "print \"args @ARGV\\n\"; my $b = <STDIN>; chomp $b; print \"read $b\\n\"; print STDERR \"oops\\n\"; exit 7",
        "print (",
    ),
    (
        "lua",
        "print('args ' .. table.concat(arg, ' ')) print('read ' .. io.read()) io.stderr:write('oops\\n') os.exit(7)",
        "print(",
    ),
    (
        "php",
        "<?php echo 'args ', implode(' ', array_slice($argv, 1)), \"\\nread \", trim(fgets(STDIN)), \"\\n\"; \
         fwrite(STDERR, \"oops\\n\"); exit(7);",
        "<?php echo (",
    ),
    (
        "r",
        "cat('args', commandArgs(TRUE)); cat('\\nread', readLines(file('stdin'), 1)); cat('\\n'); message('oops'); \
         quit(status = 7)",
        "cat(",
    ),
];

/// What `make test` sees to, so that most ways of running code are tried everywhere.
const ALWAYS: [&str; 6] = ["bash", "python", "node", "perl", "c", "cpp"];

#[tokio::test]
async fn every_language_runs_code_and_files_or_says_which_package_brings_it() -> Result<()> {
    let fixture = fixture("").await?;
    let known = fixture.languages().await?;
    let names: Vec<_> = known.iter().filter_map(|known| known["name"].as_str()).collect();
    let mut expected: Vec<_> = EVERY.iter().map(|row| row.0).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    for (name, code, broken) in EVERY.iter().copied() {
        let info = known.iter().find(|known| known["name"] == name).context("not known")?;
        if info["available"] == true {
            runs(&fixture, info, code, broken).await.with_context(|| name.to_owned())?;
        } else {
            ensure!(!ALWAYS.contains(&name), "`{name}` is missing here: `scripts/setup.sh` installs it");
            is_refused(&fixture, info, code).await.with_context(|| name.to_owned())?;
        }
    }
    Ok(())
}

async fn runs(fixture: &Fixture, info: &Value, code: &str, broken: &str) -> Result<()> {
    let (name, suffix) = (info["name"].as_str(), info["suffixes"][0].as_str().context("no suffix")?);
    ensure!(info["interpreter"].as_str().is_some_and(|path| path.starts_with('/')), "{info}");
    let file = format!("src/some code.{suffix}");
    for file in [None, Some(file.as_str())] {
        let mut body =
            json!({"language": name, "code": code, "args": ["-x", "b c"], "stdin": {"text": "some words\n"}});
        if let Some(file) = file {
            body["file"] = json!(file);
        }
        let ran = fixture.run_code(&body).await?;
        assert_eq!(
            (ran.stdout.as_str(), ran.code()),
            ("args -x b c\nread some words\n", Some(7)),
            "{body} {ran:?}"
        );
        assert!(ran.stderr.contains("oops"), "{ran:?}");
    }
    assert_eq!(fixture.run(&format!("cat '{file}'")).await?, code);
    let ran = fixture.run_code(&json!({"language": name, "code": broken})).await?;
    assert!(ran.code().is_some_and(|code| code != 0), "{ran:?}");
    assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran:?}");
    for alias in info["aliases"].as_array().into_iter().flatten() {
        let body = json!({"session_id": "session-1", "language": name, "code": code});
        let path = format!("/v1/sessions/execute/{}", alias.as_str().unwrap_or_default().replace('+', "%2B"));
        let started = json_of(&fixture.post(&path, &body).await?, 200)?;
        fixture.end(started["execution_id"].as_str().context("no id")?).await?;
        let info = fixture
            .json(&format!("/v1/executions/{}", started["execution_id"].as_str().unwrap_or_default()))
            .await?;
        assert_eq!(info["command"]["code"]["language"], json!(name), "{info}");
    }
    Ok(())
}

async fn is_refused(fixture: &Fixture, info: &Value, code: &str) -> Result<()> {
    let package = info["package"].as_str().context("no package")?;
    ensure!(info["interpreter"].is_null() && info["version"].is_null(), "{info}");
    let name = &info["name"];
    let body = json!({"language": name, "code": code});
    let error = error_of(&fixture.post(&fixture.path("executions"), &body).await?, 400)?;
    assert_eq!(error["hint"], json!(format!("apt-get install {package}")));
    let body = json!({"session_id": "session-1", "code": code});
    let path = format!("/v1/sessions/execute/{}", name.as_str().unwrap_or_default());
    let error = error_of(&fixture.post(&path, &body).await?, 400)?;
    assert_eq!(error["hint"], json!(format!("apt-get install {package}")));
    Ok(())
}

#[tokio::test]
async fn the_list_has_suffixes_aliases_icons_and_versions() -> Result<()> {
    let fixture = fixture("").await?;
    let cpp = fixture.language("cpp").await?;
    assert!(cpp["aliases"].as_array().is_some_and(|all| all.contains(&json!("c++"))), "{cpp}");
    assert!(cpp["suffixes"].as_array().is_some_and(|all| all.contains(&json!("cc"))), "{cpp}");
    assert_eq!(
        (&cpp["icon"], &cpp["can_build"], &cpp["package"]),
        (&json!("cpp"), &json!(true), &json!("g++"))
    );
    let info = async || {
        fixture.language("python").await.is_ok_and(|python| {
            python["version"].as_str().is_some_and(|version| version.starts_with("Python 3"))
        })
    };
    headwater_tests::host::eventually("python's version is listed", info).await?;
    assert_eq!(fixture.language("python").await?["can_build"], json!(false));
    Ok(())
}
