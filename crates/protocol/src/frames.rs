//! The binary frames and the close codes of a WebSocket. The first byte of a frame is its kind; numbers in it are
//! little-endian.

crate::documented! {
    /// The kind of a binary frame.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FrameKind: u8 {
        /// From the server: output. The stream (1 byte: 1 stdout, 2 stderr, 3 output), the `seq` (8 bytes), the bytes.
        Output = 0x01,
        /// From the server: any other event, as JSON.
        Event = 0x02,
        /// From the client: bytes for standard input.
        Stdin = 0x10,
        /// From the client: the end of standard input.
        Eof = 0x11,
        /// From the client: a new size of the terminal. Rows (2 bytes), columns (2 bytes).
        Resize = 0x12,
        /// From the client: a signal for the foreground process group. Its number (1 byte).
        Signal = 0x13,
        /// From the client: how many more bytes of output the server may send (4 bytes). After the first credit, the
        /// server sends no more output than was granted.
        Credit = 0x14,
    }
}

/// [`FrameKind::Output`], for patterns.
pub const OUTPUT: u8 = FrameKind::Output.value();
/// [`FrameKind::Event`], for patterns.
pub const EVENT: u8 = FrameKind::Event.value();
/// [`FrameKind::Stdin`], for patterns.
pub const STDIN: u8 = FrameKind::Stdin.value();
/// [`FrameKind::Eof`], for patterns.
pub const EOF: u8 = FrameKind::Eof.value();
/// [`FrameKind::Resize`], for patterns.
pub const RESIZE: u8 = FrameKind::Resize.value();
/// [`FrameKind::Signal`], for patterns.
pub const SIGNAL: u8 = FrameKind::Signal.value();
/// [`FrameKind::Credit`], for patterns.
pub const CREDIT: u8 = FrameKind::Credit.value();

crate::documented! {
    /// Why the server closes a WebSocket.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CloseCode: u16 {
        /// After the last event. Nothing follows.
        Done = 1000,
        /// The client answered no pings. Reconnect with `after=`.
        Silent = 1001,
        /// The client sent something that is not a WebSocket frame.
        Protocol = 1002,
        /// The credential that opened the socket is no longer valid.
        Credential = 1008,
        /// The client sent a message over 1 MiB.
        TooLarge = 1009,
        /// The rest of the log cannot be read. An `error` event comes first; the reason is its code.
        Failed = 1011,
        /// The server is shutting down, or cannot continue now. Reconnect with `after=`.
        Restart = 1012,
    }
}
