//! Messages with descriptors between worker and init, one per packet. The messages are defined in
//! [`wire`](crate::wire).

mod memfd;
mod packet;

pub(crate) use memfd::memfd_create;
pub use packet::{LinkError, MAX_MESSAGE_BYTES, Received, recv, send};
