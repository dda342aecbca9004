//! Reads our standard input, or a file, as input for a program.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::error::CommandError;
use crate::system;
use crate::terminal::DETACH_KEYS;

/// Bytes per read: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;
/// Chunks that may be queued.
const QUEUE: usize = 4;

/// The input of a program; the end of the channel is the end of the input.
pub type Input = mpsc::Receiver<Bytes>;

/// Our standard input, read by a thread that lives until the process exits, since a blocked read cannot be interrupted.
pub fn own() -> Input {
    read_in_thread(system::read_stdin)
}

/// The keys typed at our terminal. An empty chunk is Ctrl+D at the start of a line: the end of the program's input, but
/// not of the keys.
pub fn keys() -> Input {
    let mut ends = 0;
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Ok(count) = system::read_stdin(&mut buffer) {
            // A terminal that was closed ends again and again.
            ends = if count == 0 { ends + 1 } else { 0 };
            if ends > 1 || sender.blocking_send(Bytes::copy_from_slice(&buffer[..count])).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The contents of a file.
pub fn file(path: &Path) -> Result<Input, CommandError> {
    let mut file = File::open(path)
        .map_err(|error| CommandError::usage(format!("cannot read `{}`: {error}", path.display())))?;
    Ok(read_in_thread(move |buffer| file.read(buffer)))
}

fn read_in_thread(mut read: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static) -> Input {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK_BYTES];
        // A read error ends the input, as in `cat`.
        while let Ok(count @ 1..) = read(&mut buffer) {
            if sender.blocking_send(Bytes::copy_from_slice(&buffer[..count])).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Appends the chunks that are already queued: each write costs a round trip.
pub fn with_queued(first: Bytes, input: &mut Input) -> Bytes {
    let Ok(next) = input.try_recv() else { return first };
    let mut all = BytesMut::from(first);
    all.extend_from_slice(&next);
    while let Ok(next) = input.try_recv() {
        all.extend_from_slice(&next);
        if all.len() >= QUEUE * CHUNK_BYTES {
            break;
        }
    }
    all.freeze()
}

/// Detects Ctrl+P Ctrl+Q in the input. A Ctrl+P is held back until the next key arrives.
#[derive(Debug, Default)]
pub struct DetachKeys {
    pressed_first: bool,
}

impl DetachKeys {
    const FIRST: u8 = DETACH_KEYS[0];
    const SECOND: u8 = DETACH_KEYS[1];

    /// Returns the keys for the program, and whether the user wants to detach.
    pub fn pass(&mut self, keys: &[u8]) -> (Vec<u8>, bool) {
        let mut pass = Vec::with_capacity(keys.len() + 1);
        for &key in keys {
            if std::mem::take(&mut self.pressed_first) {
                if key == Self::SECOND {
                    return (pass, true);
                }
                pass.push(Self::FIRST);
            }
            if key == Self::FIRST {
                self.pressed_first = true;
            } else {
                pass.push(key);
            }
        }
        (pass, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_p_ctrl_q_detaches_however_the_keys_arrive() {
        assert_eq!(DetachKeys::default().pass(b"ab\x10\x11c"), (b"ab".to_vec(), true));
        let mut keys = DetachKeys::default();
        assert_eq!(keys.pass(b"a\x10"), (b"a".to_vec(), false));
        assert_eq!(keys.pass(b"\x11"), (vec![], true));
    }

    #[test]
    fn every_other_key_reaches_the_program_unchanged() {
        let mut keys = DetachKeys::default();
        assert_eq!(keys.pass(b"\x10x\x11\x10\x10"), (b"\x10x\x11\x10".to_vec(), false));
        assert_eq!(keys.pass(b"y"), (b"\x10y".to_vec(), false));
    }

    #[tokio::test]
    async fn a_file_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        let content: Vec<u8> = (0..200_000u32).map(|n| n.to_le_bytes()[0]).collect();
        std::fs::write(&path, &content).unwrap();
        let mut input = file(&path).unwrap();
        let mut read = Vec::new();
        while let Some(chunk) = input.recv().await {
            read.extend_from_slice(&with_queued(chunk, &mut input));
        }
        assert_eq!(read, content);
        assert!(file(&folder.path().join("missing")).unwrap_err().message.contains("missing"));
    }
}
