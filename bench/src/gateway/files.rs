//! A large file through the API, written and read, compared with `cp` of the same file on the same disk.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::bench_server::{BenchServer, roomy_session};
use super::http::Http;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::median;

const MIB: u64 = 1 << 20;
const GB: f64 = 1e9;
/// How much the client reads and sends at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (bytes, turns) = effort.pick((1024 * MIB, 5), (128 * MIB, 2));
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = roomy_session(&mut http).await?;
    let (source, copy, back) =
        (site.scratch().join("source"), site.scratch().join("copy"), site.scratch().join("back"));
    make(&source, bytes)?;
    let route = format!("/v1/sessions/{session}/files/content?path=large");
    let (mut cp, mut write, mut read) = (Vec::new(), Vec::new(), Vec::new());
    // The first turn warms everything up, and does not count.
    for turn in 0..=turns {
        let rates = [
            rate(bytes, async || copied(&source, &copy)).await?,
            rate(bytes, async || written(&site, &route, &source, bytes).await).await?,
            rate(bytes, async || taken(&site, &route, &back, bytes).await).await?,
        ];
        if turn > 0 {
            for (all, rate) in [&mut cp, &mut write, &mut read].into_iter().zip(rates) {
                all.push(rate);
            }
        }
        for file in [&copy, &back] {
            fs::remove_file(file)?;
        }
        http = site.http().await?;
        let path = format!("/v1/sessions/{session}/files?path=large");
        http.call("DELETE", &path, "", 204).await?;
    }
    let (cp, write, read) = (median(&mut cp), median(&mut write), median(&mut read));
    let title = format!("a file of {} MiB written and read beside `cp`, {turns} turns, medians", bytes / MIB);
    let mut report = Report::new("http_files", title);
    report.value("cp", cp / GB, "GB/s");
    report.value("written through the API", write / GB, "GB/s");
    report.value("read through the API", read / GB, "GB/s");
    report.ratio("write beside cp", write / cp, Goal::AtLeast(0.5));
    report.ratio("read beside cp", read / cp, Goal::AtLeast(0.5));
    report.note("the client reads the file that it sends, and writes the one that it gets, as `cp` does");
    Ok(report)
}

async fn rate(bytes: u64, run: impl AsyncFnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    run().await?;
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

fn make(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create(path)?;
    let piece: Vec<u8> = (0..CHUNK_BYTES).map(|n| u8::try_from(n * 31 % 251).unwrap_or(0)).collect();
    for _ in 0..bytes / CHUNK_BYTES as u64 {
        file.write_all(&piece)?;
    }
    Ok(file.sync_all()?)
}

fn copied(from: &Path, to: &Path) -> Result<()> {
    let done = Command::new("cp").arg("--reflink=never").arg(from).arg(to).status()?;
    ensure!(done.success(), "cp failed");
    Ok(())
}

async fn written(site: &BenchServer, route: &str, source: &Path, bytes: u64) -> Result<()> {
    let mut http: Http = site.http().await?;
    http.begin("PUT", route, bytes).await?;
    let (mut file, mut piece) = (File::open(source)?, vec![0; CHUNK_BYTES]);
    loop {
        let n = file.read(&mut piece)?;
        if n == 0 {
            break;
        }
        http.more(&piece[..n]).await?;
    }
    let status = http.head().await?;
    let answer = http.body().await?;
    ensure!(status == 201, "{status}: {}", String::from_utf8_lossy(&answer));
    Ok(())
}

async fn taken(site: &BenchServer, route: &str, to: &Path, bytes: u64) -> Result<()> {
    let mut http = site.http().await?;
    http.stream("GET", route, "", "").await?;
    let (mut file, mut got) = (File::create(to)?, 0);
    while let Some(piece) = http.piece().await.context("reading the file")? {
        file.write_all(piece)?;
        got += piece.len() as u64;
    }
    ensure!(got == bytes, "{got} bytes came of {bytes}");
    Ok(())
}
