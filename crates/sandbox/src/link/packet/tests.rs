//! Tests of packets: over real socket pairs.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};

use super::*;

fn pair() -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
}

fn message(received: Received<String>) -> (String, Vec<OwnedFd>) {
    match received {
        Received::Message(message, fds) => (message, fds),
        Received::Closed => panic!("the link is closed"),
    }
}

#[test]
fn small_messages_arrive_one_by_one() {
    let (ours, theirs) = pair();
    send(ours.as_fd(), &"one", &[]).unwrap();
    send(ours.as_fd(), &"two", &[]).unwrap();
    assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, "one");
    assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, "two");
}

#[test]
fn messages_around_the_inline_limit_and_far_above_it_arrive_whole() {
    let (ours, theirs) = pair();
    for length in [INLINE_BYTES - 4, INLINE_BYTES - 3, INLINE_BYTES - 2, INLINE_BYTES, 2 * 1024 * 1024] {
        let text = "x".repeat(length);
        send(ours.as_fd(), &text, &[]).unwrap();
        let (got, fds) = message(recv(theirs.as_fd()).unwrap());
        assert!(got == text, "{length}");
        assert!(fds.is_empty());
    }
}

#[test]
fn a_message_above_the_bound_is_refused_by_the_sender() {
    let (ours, _theirs) = pair();
    let text = "x".repeat(MAX_MESSAGE_BYTES);
    assert!(matches!(send(ours.as_fd(), &text, &[]), Err(LinkError::TooLong { .. })));
}

#[test]
fn a_memfd_that_is_not_sealed_or_too_large_is_refused_by_the_receiver() {
    let (ours, theirs) = pair();
    let file = tempfile::tempfile().unwrap();
    send_packet(ours.as_fd(), &[IN_MEMFD], &[file.as_fd()]).unwrap();
    assert!(matches!(recv::<String>(theirs.as_fd()), Err(LinkError::NotSealed)));

    let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
    let large = rustix::fs::memfd_create("large", flags).unwrap();
    rustix::fs::ftruncate(&large, MAX_MESSAGE_BYTES as u64 + 1).unwrap();
    rustix::fs::fcntl_add_seals(&large, memfd::SEALS).unwrap();
    send_packet(ours.as_fd(), &[IN_MEMFD], &[large.as_fd()]).unwrap();
    assert!(matches!(recv::<String>(theirs.as_fd()), Err(LinkError::TooLong { .. })));
}

#[test]
fn descriptors_arrive_close_on_exec_and_work_with_small_and_large_messages() {
    let (ours, theirs) = pair();
    for length in [1, 2 * 1024 * 1024] {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let text = "x".repeat(length);
        send(ours.as_fd(), &text, &[writer.as_fd(), reader.as_fd()]).unwrap();
        drop((reader, writer));
        let (got, mut fds) = message(recv(theirs.as_fd()).unwrap());
        assert!(got == text);
        assert_eq!(fds.len(), 2);
        for fd in &fds {
            assert!(rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        }
        let mut reader = std::fs::File::from(fds.pop().unwrap());
        let mut writer = std::fs::File::from(fds.pop().unwrap());
        writer.write_all(b"through").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }
}

#[test]
fn too_many_descriptors_are_refused_on_both_sides() {
    let (ours, theirs) = pair();
    let many = [ours.as_fd(); MAX_FDS + 8];
    assert!(matches!(send(ours.as_fd(), &"x", &many), Err(LinkError::TooManyFds(_))));

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS + 8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&many)));
    rustix::net::sendmsg(&ours, &[IoSlice::new(&[INLINE, 0])], &mut control, SendFlags::empty()).unwrap();
    let lost = recv::<String>(theirs.as_fd());
    assert!(matches!(lost, Err(LinkError::FdsLost)), "{lost:?}");
}

#[test]
fn an_empty_link_would_block_and_a_full_one_too_without_losing_what_was_sent() {
    let (ours, theirs) = pair();
    assert!(matches!(recv::<String>(theirs.as_fd()), Err(LinkError::WouldBlock)));
    let text = "x".repeat(8000);
    let mut sent = 0;
    let refused = loop {
        match send(ours.as_fd(), &text, &[]) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, LinkError::WouldBlock), "{refused}");
    for _ in 0..sent {
        assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, text);
    }
    assert!(matches!(recv::<String>(theirs.as_fd()), Err(LinkError::WouldBlock)));
}

#[test]
fn a_closed_link_is_reported_after_everything_sent_has_arrived() {
    let (ours, theirs) = pair();
    send(ours.as_fd(), &"last", &[]).unwrap();
    drop(ours);
    assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, "last");
    assert!(matches!(recv::<String>(theirs.as_fd()), Ok(Received::Closed)));
    assert!(matches!(send(theirs.as_fd(), &"x", &[]), Err(LinkError::Closed)));
}

#[test]
fn sent_packets_arrive_even_if_the_sender_closed_without_reading_everything() {
    let (ours, theirs) = pair();
    send(theirs.as_fd(), &"unread", &[]).unwrap();
    send(ours.as_fd(), &"one", &[]).unwrap();
    send(ours.as_fd(), &"two", &[]).unwrap();
    drop(ours);
    assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, "one");
    assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, "two");
    assert!(matches!(recv::<String>(theirs.as_fd()), Ok(Received::Closed)));
}

#[test]
fn a_spoiled_packet_costs_only_itself() {
    let (ours, theirs) = pair();
    rustix::net::send(&ours, &[7, 7, 7], SendFlags::empty()).unwrap();
    rustix::net::send(&ours, &[INLINE, 200, 200], SendFlags::empty()).unwrap();
    rustix::net::send(&ours, &vec![INLINE; INLINE_BYTES + 2], SendFlags::empty()).unwrap();
    send(ours.as_fd(), &"good", &[]).unwrap();
    for _ in 0..3 {
        assert!(recv::<String>(theirs.as_fd()).unwrap_err().spoils_one_message());
    }
    assert_eq!(message(recv(theirs.as_fd()).unwrap()).0, "good");
}
