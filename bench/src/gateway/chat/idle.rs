//! Conversations that nobody uses: what each costs at rest, while somebody has it open, and what they cost others.

use std::fs;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Chat, conversation, follow, on, say};
use crate::bench_worker::Effort;
use crate::gateway::http::Http;
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Conversations before counting, so that one-time costs are not counted.
const WARM_UP: usize = 20;
/// Time for temporary memory to be freed.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// The server drops a conversation from memory when nobody has used it for a minute.
const REST_PATIENCE: Duration = Duration::from_mins(3);

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let count = effort.pick(1000, 100);
    let rounds = effort.pick(300, 60);
    let answer = json!([{ "text": "A sentence or two, as an answer has. It does not need any tool." }]);
    let chat = Chat::start(&json!([on("question", &answer)])).await?;
    let mut http = chat.site.http().await?;
    make(&mut http, WARM_UP).await?;
    Answers::take(&mut http, rounds / 3).await?;
    let empty = Answers::take(&mut http, rounds).await?;
    rest(&mut http).await?;
    let before = (chat.site.rss_mib().await?, Disk::of(&chat)?);
    let all = make(&mut http, count).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let used = chat.site.rss_mib().await?;
    rest(&mut http).await?;
    let rests = (chat.site.rss_mib().await?, Disk::of(&chat)?);
    let resting = Answers::take(&mut http, rounds).await?;
    let readers = open(&chat, &all).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let opened = chat.site.rss_mib().await?;
    let followed = Answers::take(&mut http, rounds).await?;
    drop(readers);
    let title = format!("{count} conversations with a question and its answer");
    let mut report = Report::new("chat_idle", title);
    for (name, answers) in [("without them", &empty), ("at rest", &resting), ("all of them open", &followed)]
    {
        report.times(format!("GET /v1/info, {name}"), &answers.info);
        report.times(format!("a turn, {name}"), &answers.turn);
    }
    let each = |mib: f64| (mib - before.0) * 1024.0 / count as f64;
    report.value("memory of the server without them (RSS)", before.0, "MiB");
    report.value("memory for each, used just now", each(used), "KiB");
    report.value("memory for each, at rest", each(rests.0), "KiB");
    report.value("memory for each, open in a browser", each(opened), "KiB");
    report.value("disk for each", (rests.1.store - before.1.store) / 1024.0 / count as f64, "KiB");
    report.value(
        "the journal of the store, whose size is bounded",
        rests.1.journal / f64::from(1 << 20),
        "MiB",
    );
    let beside = |one: &Samples, other: &Samples| one.p50() / other.p50();
    report.ratio("memory at rest beside the server without them", rests.0 / before.0, Goal::None);
    report.ratio(
        "GET /v1/info, at rest beside without",
        beside(&resting.info, &empty.info),
        Goal::AtMost(2.0),
    );
    report.ratio("a turn, at rest beside without", beside(&resting.turn, &empty.turn), Goal::AtMost(2.0));
    report.ratio("GET /v1/info, open beside without", beside(&followed.info, &empty.info), Goal::AtMost(2.0));
    report.ratio("a turn, open beside without", beside(&followed.turn, &empty.turn), Goal::AtMost(2.0));
    Ok(report)
}

/// Makes conversations with a turn each; returns their paths.
async fn make(http: &mut Http, count: usize) -> Result<Vec<String>> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let path = conversation(http).await?;
        say(http, &path, "a question").await?;
        all.push(path);
    }
    Ok(all)
}

/// Waits until no conversation is in memory.
async fn rest(http: &mut Http) -> Result<()> {
    let deadline = Instant::now() + REST_PATIENCE;
    while in_memory(http).await? > 0 {
        ensure!(Instant::now() < deadline, "conversations stay in memory");
        tokio::time::sleep(SETTLE_TIME).await;
    }
    tokio::time::sleep(SETTLE_TIME).await;
    Ok(())
}

/// How many conversations are in memory.
async fn in_memory(http: &mut Http) -> Result<u64> {
    http.stream("GET", "/metrics", "", "").await?;
    let text = String::from_utf8(http.body().await?)?;
    let line = text.lines().find_map(|line| line.strip_prefix("headwater_conversations "));
    Ok(line.context("the metrics do not have the conversations")?.trim().parse()?)
}

/// Bytes on the disk.
struct Disk {
    store: f64,
    journal: f64,
}

impl Disk {
    fn of(chat: &Chat) -> Result<Self> {
        let size = |name| anyhow::Ok(fs::metadata(chat.site.data().join(name))?.len() as f64);
        Ok(Self { store: size("store.db")?, journal: size("store.db-wal")? })
    }
}

/// Follows each conversation, as a browser does that has it open. The connections stay open until they are dropped.
async fn open(chat: &Chat, all: &[String]) -> Result<Vec<TcpStream>> {
    let mut readers = Vec::with_capacity(all.len());
    for path in all {
        let mut http = chat.site.http().await?;
        follow(&mut http, path).await?;
        http.until("\"turn_ended\"").await?;
        readers.push(http.into_wire().abandon()?);
    }
    Ok(readers)
}

/// Response times of the server.
struct Answers {
    info: Samples,
    turn: Samples,
}

impl Answers {
    async fn take(http: &mut Http, rounds: usize) -> Result<Self> {
        let (mut info, mut turn) = (Samples::default(), Samples::default());
        let path = conversation(http).await?;
        for _ in 0..rounds {
            let begun = Instant::now();
            http.call("GET", "/v1/info", "", 200).await?;
            info.add(begun.elapsed());
            let begun = Instant::now();
            say(http, &path, "a question").await?;
            turn.add(begun.elapsed());
        }
        Ok(Self { info, turn })
    }
}
