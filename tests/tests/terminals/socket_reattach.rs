//! Coming back to a terminal: what an emulator shows that was fed by a viewer that came and went is what one shows that
//! was fed the whole log.

use anyhow::{Context, Result};
use headwater_screen::{Options, Screen};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::viewer::{READS_KEYS, Viewer};

/// Colours, a scroll region, a title, the cursor here and there, wide characters; as many lines as each input asks for.
const DRAW: &str = "i=0; while read -r n; do for k in $(seq $n); do i=$((i+1)); \
    printf '\\033[3%dm%d\\033[0m \\033[1mwide \\xe6\\xbc\\xa2\\033[0m\\n' $((i%8)) $i; \
    [ $((i%7)) = 0 ] && printf '\\0337\\033[%d;10Hhere\\0338' $((i%20+1)); done; echo at-$i; done";

fn screen() -> Screen {
    Screen::new(&Options { rows: 24, cols: 80, buffer_bytes: 1 << 20, secret: String::new() })
}

/// What an emulator shows, scrollback, colours and modes included.
fn drawn(bytes: &[u8]) -> (Vec<String>, String) {
    let mut screen = screen();
    screen.feed(bytes);
    (screen.lines(), String::from_utf8_lossy(&screen.snapshot(None)).into_owned())
}

async fn whole_log(api: &Api, id: &str) -> Result<Vec<u8>> {
    Ok(api.get(&format!("/v1/executions/{id}/output?stream=output")).await?.body)
}

async fn begin(api: &Api, session: &str) -> Result<(Viewer, String)> {
    let mut viewer = Viewer::open(api, session, "frames=binary").await?;
    let id = viewer.hears("attached").await?["execution_id"].as_str().context("no id")?.to_owned();
    // Keys that are typed before the loop reads go to the shell.
    viewer.keys(format!("stty -echo; echo reads-$((1 + 1)); {DRAW}\r").as_bytes()).await?;
    viewer.shows("reads-2").await?;
    viewer.keys(b"5\r").await?;
    viewer.shows("at-5\r").await?;
    Ok((viewer, id))
}

/// Goes on where a viewer was.
async fn come_back(api: &Api, session: &str, old: Viewer, id: &str) -> Result<Viewer> {
    let query = format!("frames=binary&after={}&execution_id={id}", old.seq);
    let mut new = Viewer::open(api, session, &query).await?;
    new.goes_on_from(old);
    new.hears("attached").await?;
    Ok(new)
}

fn was_sent_a_screen(viewer: &Viewer) -> bool {
    viewer.info.iter().any(|info| info["type"] == "snapshot")
}

async fn ends_like_its_log(api: &Api, mut viewers: Vec<Viewer>, id: &str) -> Result<()> {
    viewers[0].keys(b"\x04").await?; // the end of what the loop reads
    viewers[0].shows(READS_KEYS).await?;
    viewers[0].keys(b"exit\r").await?;
    for viewer in &mut viewers {
        viewer.hears("exited").await?;
    }
    let expected = drawn(&whole_log(api, id).await?);
    for (i, viewer) in viewers.iter().enumerate() {
        assert_eq!(drawn(&viewer.shown), expected, "viewer {i}");
    }
    Ok(())
}

#[tokio::test]
async fn over_kills_of_gateway_and_worker_the_screen_is_that_of_an_uninterrupted_viewer() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let (mut viewer, id) = begin(&api, &session).await?;
    // The gateway goes while it prints; the viewer comes back for the rest.
    viewer.keys(b"300\r").await?;
    viewer.shows("100\u{1b}[0m").await?;
    server.kill();
    server.start_again().await?;
    let mut viewer = come_back(&api, &session, viewer, &id).await?;
    viewer.shows("at-305\r").await?;
    // The worker goes while it prints; the socket stays.
    viewer.keys(b"300\r").await?;
    viewer.shows("400\u{1b}[0m").await?;
    server.kill_worker().await?;
    viewer.shows("at-605\r").await?;
    // One that begins with the screen, after both; and one that does so while something is printed.
    let late = Viewer::open(&api, &session, "frames=binary").await?;
    viewer.keys(b"200\r").await?;
    let later = Viewer::open(&api, &session, "frames=binary").await?;
    viewer.shows("at-805\r").await?;
    ends_like_its_log(&api, vec![viewer, late, later], &id).await
}

#[tokio::test]
async fn little_that_is_missing_comes_as_it_was_printed_and_much_as_the_screen() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let (viewer, id) = begin(&api, &session).await?;
    let mut other = Viewer::open(&api, &session, "").await?;
    other.command("20").await?;
    other.shows("at-25\r").await?;
    let mut viewer = come_back(&api, &session, viewer, &id).await?;
    viewer.shows("at-25\r").await?;
    assert!(!was_sent_a_screen(&viewer), "some hundred bytes");
    let away = viewer;
    other.command("15000").await?;
    other.shows("at-15025\r").await?;
    let mut viewer = come_back(&api, &session, away, &id).await?;
    let head = viewer.hears("snapshot").await?;
    assert_eq!((&head["rows"], &head["cols"]), (&Value::from(24), &Value::from(80)));
    viewer.shows("at-15025").await?;
    viewer.keys(b"3\r").await?;
    viewer.shows("at-15028\r").await?;
    // A viewer of an earlier terminal gets the screen of this one.
    let query = "frames=binary&after=3&execution_id=exe_00000000000000000000000000000000";
    let mut stranger = Viewer::open(&api, &session, query).await?;
    stranger.hears("snapshot").await?;
    ends_like_its_log(&api, vec![viewer, stranger], &id).await
}
