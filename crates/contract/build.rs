//! Generates the contract's code from `proto/`, in pure Rust: no `protoc` on the machine is needed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let proto = "headwater/worker/v1/worker.proto";
    println!("cargo:rerun-if-changed=../../proto/{proto}");
    let files = protox::compile([proto], ["../../proto"])?;
    tonic_prost_build::configure().bytes(".").codec_path("crate::codec::LeanCodec").compile_fds(files)?;
    Ok(())
}
