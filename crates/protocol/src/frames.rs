//! The kinds of binary WebSocket frames. The first byte of a frame is its kind; numbers in it are little-endian.

/// From the server: output. The stream's number (1 byte), the `seq` (8 bytes), the bytes.
pub const OUTPUT: u8 = 0x01;
/// From the server: any other event, as JSON.
pub const EVENT: u8 = 0x02;
/// From the client: bytes for standard input.
pub const STDIN: u8 = 0x10;
/// From the client: the end of standard input.
pub const EOF: u8 = 0x11;
/// From the client: a new size of the terminal. Rows (2 bytes), columns (2 bytes).
pub const RESIZE: u8 = 0x12;
/// From the client: a signal for the foreground process group. Its number (1 byte).
pub const SIGNAL: u8 = 0x13;
/// From the client: how many more bytes of output the server may send (4 bytes).
pub const CREDIT: u8 = 0x14;
