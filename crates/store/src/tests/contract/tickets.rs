//! Tests of tickets.

use crate::tests::samples::NOW;
use crate::{Store, TicketRow, TicketUse};

fn ticket(number: u8, owner: &str) -> TicketRow {
    TicketRow {
        hash: [number; 32],
        owner: owner.into(),
        credential: "token:00".into(),
        binding: None,
        opened_by: None,
        used_at_ms: NOW + u64::from(number),
        expires_at_ms: NOW + 1000,
    }
}

fn first(binding: &str, at_ms: u64) -> TicketUse {
    TicketUse { binding: binding.into(), opened_by: "one".into(), at_ms, expires_at_ms: NOW + 9000 }
}

pub(crate) async fn a_ticket_is_bound_once_and_found_with_its_stream(store: &dyn Store) {
    store.put_ticket(&ticket(1, "ann"), 10).await.unwrap();
    assert_eq!(store.ticket(&[1; 32]).await.unwrap(), Some(ticket(1, "ann")));
    let (one, two) = (first("a", NOW + 5), first("b", NOW + 5));
    let (one, two) = tokio::join!(store.open_ticket(&[1; 32], &one), store.open_ticket(&[1; 32], &two));
    assert!(one.unwrap() != two.unwrap());
    let found = store.ticket(&[1; 32]).await.unwrap().unwrap();
    assert!(found.binding.is_some());
    assert_eq!(
        (found.opened_by.as_deref(), found.used_at_ms, found.expires_at_ms),
        (Some("one"), NOW + 5, NOW + 9000)
    );
    let again =
        TicketUse { opened_by: "two".into(), at_ms: NOW + 7, expires_at_ms: NOW + 9999, ..first("c", 0) };
    store.touch_ticket(&[1; 32], &again).await.unwrap();
    let touched = store.ticket(&[1; 32]).await.unwrap().unwrap();
    assert_eq!(touched.binding, found.binding);
    assert_eq!((touched.opened_by.as_deref(), touched.used_at_ms), (Some("two"), NOW + 7));
    assert!(!store.open_ticket(&[9; 32], &first("a", NOW)).await.unwrap(), "it does not exist");
    store.put_ticket(&ticket(2, "ann"), 10).await.unwrap();
    assert!(!store.open_ticket(&[2; 32], &first("a", NOW + 1000)).await.unwrap(), "it has expired");
}

pub(crate) async fn expired_tickets_and_those_past_an_owners_number_are_removed(store: &dyn Store) {
    store.put_ticket(&TicketRow { expires_at_ms: NOW, ..ticket(1, "ann") }, 3).await.unwrap();
    store.put_ticket(&ticket(9, "bob"), 3).await.unwrap();
    for number in 2..=5 {
        store.put_ticket(&ticket(number, "ann"), 3).await.unwrap();
    }
    let mut kept = Vec::new();
    for number in 1..=9 {
        if store.ticket(&[number; 32]).await.unwrap().is_some() {
            kept.push(number);
        }
    }
    assert_eq!(kept, [3, 4, 5, 9]);
}
