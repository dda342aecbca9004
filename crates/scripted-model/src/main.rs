//! `scripted-model SCRIPT [--port N]`: serves a scripted model until it is ended, and prints its address.

use std::io::Write;

use clap::Parser;
use headwater_scripted_model::{Script, ScriptedModel};

/// A model endpoint that follows a script.
#[derive(Debug, Parser)]
struct Args {
    /// A file, or JSON text.
    script: String,
    /// The port; by default a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let is_json = args.script.trim_start().starts_with(['{', '[']);
    let text = if is_json { args.script } else { std::fs::read_to_string(&args.script)? };
    let script: Script = text.parse()?;
    let model = ScriptedModel::start_at(script, args.port).await?;
    writeln!(std::io::stdout(), "{}", model.url())?;
    model.serve().await;
    Ok(())
}
