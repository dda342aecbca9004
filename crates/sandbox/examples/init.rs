//! Init as a separate program, for the tests: descriptors 3 and 4 are its listener and its worker.

fn main() -> std::process::ExitCode {
    headwater_sandbox::init::main().into()
}
