//! Looking through a workspace.

use anyhow::{Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::http::{error_of, texts};
use serde_json::{Value, json};

use crate::new;

async fn searchable() -> Result<Fixture> {
    let fixture = new().await?;
    fixture
        .run(
            "mkdir -p src/deep build && printf 'one\\nthe Needle here\\n' > src/a.py && echo needle > src/deep/b.rs \
             && printf 'needle\\0' > src/binary && echo needle > build/out && echo build/ > .gitignore \
             && echo needle > .hidden && ln -s /etc/passwd link && ln -s /etc outside && mkfifo fifo",
        )
        .await?;
    Ok(fixture)
}

#[tokio::test]
async fn names_and_lines_are_found_and_nothing_outside_is() -> Result<()> {
    let fixture = searchable().await?;
    let search = async |query: &str| fixture.json(&fixture.path(&format!("files/search?{query}"))).await;
    let found = search("content=needle").await?;
    assert_eq!(texts(&found, "path"), ["src/deep/b.rs"]);
    assert_eq!(found["summary"], json!({"matches": 1, "files": 3, "skipped": 1}));
    let found = search("content=ne%2Bdle&ignore_case=true&name=*.py").await?;
    let line = &found["items"][0];
    assert_eq!((&line["path"], &line["line"], &line["column"]), (&json!("src/a.py"), &json!(2), &json!(5)));
    assert_eq!(line["text"], "the Needle here");
    let found = search("content=needle&gitignore=false&hidden=true").await?;
    assert_eq!(texts(&found, "path"), [".hidden", "build/out", "src/deep/b.rs"]);
    assert_eq!(texts(&search("name=**/*.rs").await?, "path"), ["src/deep/b.rs"]);
    assert_eq!(texts(&search("name=b*&path=src").await?, "path"), ["src/binary", "src/deep/b.rs"]);
    // The host has both: a search that followed the links would find them.
    ensure!(std::fs::read_to_string("/etc/passwd")?.contains("root"));
    assert_eq!(search("content=root").await?["items"], json!([]));
    assert_eq!(search("name=passwd").await?["items"], json!([]));
    let found = search("content=.&limit=1").await?;
    assert_eq!((texts(&found, "path").len(), &found["summary"]["stopped"]), (1, &json!("limit")));
    Ok(())
}

#[tokio::test]
async fn matches_come_as_lines_of_json_if_asked_for() -> Result<()> {
    let fixture = searchable().await?;
    fixture.run("seq 3000 > numbers").await?;
    let path = fixture.path("files/search?content=7&limit=5000");
    let answer = fixture.request("GET", &path, &[("Accept", "application/x-ndjson")], b"").await?;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = answer.text().lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let expected = (1..=3000).filter(|n: &u32| n.to_string().contains('7')).count();
    assert_eq!(lines.len(), expected + 1);
    assert_eq!(lines[expected]["summary"]["matches"], expected);
    assert_eq!((&lines[0]["path"], &lines[0]["line"]), (&json!("numbers"), &json!(7)));
    Ok(())
}

#[tokio::test]
async fn an_invalid_search_is_refused() -> Result<()> {
    let fixture = searchable().await?;
    for (query, status) in [
        ("", 400),
        ("content=(", 400),
        ("name=%5Ba", 400),
        ("content=x&limit=0", 400),
        ("content=x&limit=99999", 400),
        ("content=x&path=..", 400),
        ("content=x&nonsense=1", 400),
        ("content=x&path=none", 404),
        ("content=x&path=outside", 409),
        ("content=(((%5Cw%7B1000%7D)%7B1000%7D)%7B1000%7D)", 400),
    ] {
        let answer = fixture.get(&fixture.path(&format!("files/search?{query}"))).await?;
        error_of(&answer, status).map_err(|error| error.context(query))?;
    }
    Ok(())
}

#[tokio::test]
async fn a_line_that_is_shown_in_part_says_so_and_where_the_part_begins() -> Result<()> {
    let fixture = new().await?;
    fixture
        .run("(printf '%01000d' 0; printf needle; printf '%01000d' 0) > long; echo a needle > short")
        .await?;
    let found = fixture.json(&fixture.path("files/search?content=needle")).await?;
    let of = |path: &str| {
        let mut items = found["items"].as_array().into_iter().flatten();
        items.find(|item| item["path"] == path).cloned().unwrap_or_default()
    };
    let long = of("long");
    assert_eq!((&long["text_truncated"], &long["column"]), (&json!(true), &json!(1001)), "{long}");
    let text = long["text"].as_str().unwrap_or_default();
    let offset = usize::try_from(long["text_offset"].as_u64().unwrap_or_default())?;
    assert_eq!((text.len(), text.find("needle")), (400, Some(1000 - offset)), "{long}");
    assert_eq!((&of("short")["text"], &of("short")["text_truncated"]), (&json!("a needle"), &Value::Null));
    Ok(())
}
