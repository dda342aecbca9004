//! Generates the messages from the copies in `proto/`, as the contract crate does; no services.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let protos = ["worker", "files", "trees", "builds", "terminals", "languages"]
        .map(|name| format!("headwater/worker/v1/{name}.proto"));
    let files = protox::compile(&protos, ["proto"])?;
    tonic_prost_build::configure().build_client(false).build_server(false).compile_fds(files)?;
    Ok(())
}
