//! Names of all kinds make the round trip; what is no path is refused.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result, ensure};
use headwater_protocol::api::{FileBody, path_bytes, percent_encoded};
use headwater_tests::Fixture;
use headwater_tests::http::{error_code, json_of};
use serde_json::json;

use crate::calls::Files;

#[tokio::test]
async fn names_of_any_bytes_make_the_round_trip_over_every_verb() -> Result<()> {
    let fixture = Fixture::new().await?;
    let long = "n".repeat(255);
    let names: [&[u8]; 11] = [
        b"plain",
        "größe 文件 \u{202e}".as_bytes(),
        b"\xff\xfe not text",
        b"new\nline\r\nX-Evil: 1",
        b"\x1b[2J",
        b"a+b&c=d%20e#f?g",
        b"-rf *",
        b"\"quote\\",
        b"...",
        b"workspace",
        long.as_bytes(),
    ];
    for name in names {
        let url = percent_encoded(name);
        let made: FileBody = serde_json::from_value(json_of(&fixture.write(&url, name).await?, 201)?)?;
        ensure!(path_bytes(&made.path, made.encoding).as_deref() == Some(name), "{made:?}");
        let on_disk = std::fs::read(fixture.workspace().join(OsStr::from_bytes(name)))?;
        ensure!(on_disk == name, "{made:?}");
        let got = fixture.read(&url).await?;
        ensure!(got.status == 200 && got.body == name && got.header("x-evil").is_none(), "{}", got.head);
        // As it is listed it can be asked for, in a query and in a body.
        let page = fixture.list("").await?;
        let item = page["items"][0].clone();
        let listed: FileBody = serde_json::from_value(item.clone())?;
        let again = format!("{}{}", percent_encoded(listed.path.as_bytes()), encoding(&listed));
        ensure!(fixture.read(&again).await?.body == name, "{listed:?}");
        let mut body = json!({ "path": item["path"], "mode": "600" });
        if let Some(encoding) = item.get("encoding") {
            body["encoding"] = encoding.clone();
        }
        json_of(&fixture.change("chmod", &body).await?, 200)?;
        json_of(&fixture.remove(&again).await?, 204)?;
    }
    ensure!(fixture.list("").await?["items"].as_array().context("no items")?.is_empty());
    Ok(())
}

fn encoding(file: &FileBody) -> &'static str {
    if file.encoding.is_some() { "&encoding=percent" } else { "" }
}

#[tokio::test]
async fn an_invalid_path_is_refused_by_every_verb() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("own", b"x").await?, 201)?;
    let long = "n".repeat(256);
    let deep = "d/".repeat(2500);
    for path in
        ["..", "../x", "a/../../x", "a/..", "%00", "a%00b", &long, &deep, "%2e%2e/x", "/workspace/../x"]
    {
        for (method, rest) in [
            ("GET", format!("/content?path={path}")),
            ("HEAD", format!("/content?path={path}")),
            ("PUT", format!("/content?path={path}")),
            ("PUT", format!("/content?path={path}&mode=append")),
            ("GET", format!("/stat?path={path}")),
            ("GET", format!("?path={path}")),
            ("DELETE", format!("?path={path}&recursive=true")),
        ] {
            let answer = fixture.request(method, &fixture.route(&rest), &[], b"").await?;
            ensure!(answer.status == 400, "{method} {path}: {}", answer.status);
        }
        let text = path.replace("%00", "\0").replace("%2e", ".");
        for (what, body) in [
            ("folders", json!({ "path": text })),
            ("chmod", json!({ "path": text, "mode": "644" })),
            ("move", json!({ "from": text, "to": "x" })),
            ("move", json!({ "from": "own", "to": text })),
            ("copy", json!({ "from": text, "to": "x" })),
            ("copy", json!({ "from": "own", "to": text })),
        ] {
            let answer = fixture.change(what, &body).await?;
            ensure!(answer.status == 400, "{what} {path}: {}", answer.text());
        }
    }
    for rest in ["/content", "/content?path=", "/content?path=%", "/content?path=%f", "/content?path=/"] {
        let answer = fixture.request("PUT", &fixture.route(rest), &[], b"x").await?;
        error_code(&answer, 400)?;
    }
    Ok(())
}
