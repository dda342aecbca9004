//! Messages of compilers with ranges, options and fixes.

use anyhow::Result;
use headwater_tests::Fixture;
use serde_json::json;

use crate::calls::{Builds, one};

#[tokio::test]
async fn errors_and_warnings_have_ranges_options_notes_and_fixes() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "lib/x.h", "struct Point { int width; };\n")?;
    let text =
        "#include \"lib/x.h\"\nint main() {\n  int unused = 1;\n  Point p;\n  p.widht = 2;\n  return 0\n}\n";
    fixture.write(&session, "main.cpp", text)?;
    let built = fixture.build(&one(&session, &["-Wall"])).await?;
    assert_eq!(built["status"], "failed", "{built}");
    assert!(built["stderr"].as_str().is_some_and(|text| text.contains("main.cpp:5:5: error:")), "{built}");
    let all = built["diagnostics"].as_array().cloned().unwrap_or_default();
    let find = |line: i64| all.iter().find(|found| found["line"] == line).cloned().unwrap_or_default();
    let typo = find(5);
    assert_eq!(
        (&typo["severity"], &typo["file"]),
        (&json!("error"), &json!("/workspace/main.cpp")),
        "{built}"
    );
    assert_eq!((&typo["column"], &typo["end_column"]), (&json!(5), &json!(10)), "{typo}");
    assert_eq!(typo["fixes"][0]["text"], "width", "{typo}");
    let semicolon = find(6);
    assert_eq!(semicolon["fixes"][0]["text"], ";", "{built}");
    assert_eq!(semicolon["fixes"][0]["range"]["column"], semicolon["fixes"][0]["range"]["end_column"]);
    let unused = find(3);
    assert_eq!(
        (&unused["severity"], &unused["option"]),
        (&json!("warning"), &json!("-Wunused-variable")),
        "{built}"
    );
    Ok(())
}

#[tokio::test]
async fn an_undefined_reference_is_an_error() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", "int gone();\nint main() { return gone(); }\n")?;
    let built = fixture.build(&one(&session, &[])).await?;
    assert_eq!(built["status"], "failed", "{built}");
    let said = built["diagnostics"].to_string();
    assert!(said.contains("undefined reference to") && said.contains("\"severity\":\"error\""), "{built}");
    Ok(())
}

#[tokio::test]
async fn a_file_name_that_looks_like_a_message_or_a_command_is_only_a_name() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let name = "a;touch pwned;'$(touch pwned)\" error: x.cpp";
    fixture.write(&session, name, "int main() { return 0 }\n")?;
    let request = json!({"session_id": session, "source_files": [name], "output_binary": "-o out", "flags": ["-DX=$(touch pwned)"]});
    let built = fixture.build(&request).await?;
    assert_eq!(built["status"], "failed", "{built}");
    assert_eq!(built["diagnostics"][0]["file"], format!("/workspace/{name}"), "{built}");
    fixture.write(&session, name, "int main() { return 0; }\n")?;
    fixture.built(&request).await?;
    assert!(fixture.read(&session, "-o out").is_ok() && fixture.read(&session, "pwned").is_err());
    Ok(())
}
