//! Generates the contract's code from `proto/`, in pure Rust: no `protoc` on the machine is needed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let protos = ["worker", "files", "trees", "builds", "terminals", "languages"]
        .map(|name| format!("headwater/worker/v1/{name}.proto"));
    for proto in &protos {
        println!("cargo:rerun-if-changed=../../proto/{proto}");
    }
    let files = protox::compile(&protos, ["../../proto"])?;
    tonic_prost_build::configure().bytes(".").codec_path("crate::codec::LeanCodec").compile_fds(files)?;
    Ok(())
}
