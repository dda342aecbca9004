//! Followers that attach and then never read, each on its own connection.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use headwater_contract::{FollowOptions, connect};
use headwater_protocol::ExecutionId;
use tokio::sync::oneshot;

/// They run in a thread whose runtime is blocked, so that not even their sockets are read.
#[derive(Debug)]
pub struct StalledFollowers {
    leave: mpsc::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl StalledFollowers {
    /// Attaches this many followers to an execution's log.
    pub async fn gather(socket: &Path, id: ExecutionId, size: usize) -> Result<Self> {
        let socket = socket.to_owned();
        let (attached, all_attached) = oneshot::channel();
        let (leave, left) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let followers = runtime.block_on(async {
                let mut followers = Vec::new();
                for _ in 0..size {
                    let client = connect(&socket).await?;
                    let mut follower = client.follow(id, FollowOptions::default()).await?;
                    follower.next().await?; // it is attached: it has seen `started`
                    followers.push(follower);
                }
                anyhow::Ok(followers)
            })?;
            let _ = attached.send(());
            let _ = left.recv(); // from here on nothing is read
            drop(followers);
            Ok(())
        });
        if all_attached.await.is_err() {
            thread.join().map_err(|_| anyhow!("the crowd failed"))??;
            return Err(anyhow!("the crowd did not attach"));
        }
        Ok(Self { leave, thread })
    }

    /// Disconnects them and ends their thread.
    pub fn leave(self) -> Result<()> {
        drop(self.leave);
        self.thread.join().map_err(|_| anyhow!("the crowd failed"))?
    }
}
