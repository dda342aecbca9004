//! The scripted model in a thread of its own: it must not wait for the client that measures.

use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use headwater_scripted_model::{Script, ScriptedModel};
use tokio::sync::oneshot;

/// A model that follows a script until this is dropped.
#[derive(Debug)]
pub(super) struct ModelThread {
    address: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl ModelThread {
    /// Starts it.
    pub(super) fn start(script: &str) -> Result<Self> {
        let script: Script = script.parse().map_err(|why| anyhow!("the script is wrong: {why}"))?;
        let (stop, stopped) = oneshot::channel();
        let (started, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let model = ScriptedModel::start(script).await?;
                started.send(model.url())?;
                let _ = stopped.await; // an error means the same
                anyhow::Ok(())
            })
        });
        let url: String = address.recv().context("the model did not start")?;
        let address = url.trim_start_matches("http://").to_owned();
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens: an address of this machine, and a port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for ModelThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
