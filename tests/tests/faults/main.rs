//! Faults: what is killed, filled up, cut off or never read, and that nothing is lost by it.
//!
//! `HEADWATER_FAULTS_SCALE` makes the long ones longer: 1 is what every change is tested with.

mod descriptors;
mod disk_full;
mod flood;
mod followers;
mod gateway_killed;
mod gateway_readers;
mod init_killed;
mod last_words;
mod lines;
mod restart;
mod retention;
mod server_full;
mod supervisor;
mod trees;
mod worker_killed;

use anyhow::Result;
use headwater_tests::{Options, TestWorker};

/// How many times longer than usual.
fn scale() -> u64 {
    std::env::var("HEADWATER_FAULTS_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A worker that prepares no more than the test needs.
async fn worker() -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(1), ..Options::default() }).await
}

/// Numbers that differ from run to run; the seed is printed, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let given = std::env::var("HEADWATER_FAULTS_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(1, |now| u64::from(now.subsec_nanos()) + 1)
        });
        println!("HEADWATER_FAULTS_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
