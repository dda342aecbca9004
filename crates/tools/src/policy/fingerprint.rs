//! Binds a consent to one command.

use std::fmt::Write as _;

use super::Wanted;

impl Wanted {
    /// A digest of everything that a person consents to. Two commands that differ in an argument, the working
    /// directory, the environment, the input, the session or what they want besides have different digests.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        // Each value has its length before it, and each list its count: no two different commands give the same
        // bytes.
        let mut list = |values: &[&str]| {
            hasher.update(&(values.len() as u64).to_le_bytes());
            for value in values {
                hasher.update(&(value.len() as u64).to_le_bytes());
                hasher.update(value.as_bytes());
            }
        };
        list(&texts(&self.argv));
        list(&[&self.workdir]);
        list(&self.env.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect::<Vec<_>>());
        list(&self.input.as_deref().into_iter().collect::<Vec<_>>());
        list(&[&self.session]);
        list(&texts(&self.extra.read));
        list(&texts(&self.extra.write));
        for (limit, _) in self.extra.limits.all() {
            hasher.update(&[u8::from(limit.is_some())]);
            hasher.update(&limit.unwrap_or_default().to_le_bytes());
        }
        hasher.update(&[u8::from(self.extra.unsandboxed), u8::from(self.extra.network)]);
        let mut text = String::new();
        for byte in hasher.finalize().as_bytes() {
            let _ = write!(text, "{byte:02x}"); // writing to a string cannot fail
        }
        text
    }
}

fn texts(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}
