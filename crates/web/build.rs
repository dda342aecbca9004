//! Embeds the web app again if it was built again. Without Node there is no `web/dist`, and the crate is empty.

fn main() {
    println!("cargo::rerun-if-changed=../../web/dist");
}
