//! Tests of the policy, by examples and by properties of random ones.

use super::*;

const NOW: u64 = 1_000_000_000_000;
const MINUTE: u64 = 60_000;

fn rules() -> Rules {
    let none = Bounds::default();
    Rules { keep_at_least: Duration::from_mins(5), age: None, session: none, owner: none, all: none }
}

fn session(n: u128) -> SessionId {
    format!("ses_{n:032x}").parse().unwrap()
}

/// A log that ended the given number of minutes ago.
fn log(owner: &str, in_session: u128, minutes: u64, bytes: u64) -> Kept {
    Kept {
        id: ExecutionId::random(),
        session: session(in_session),
        owner: owner.into(),
        ended_at_ms: Some(NOW - minutes * MINUTE),
        bytes,
        is_read: false,
    }
}

fn running(owner: &str, in_session: u128, bytes: u64) -> Kept {
    Kept { ended_at_ms: None, ..log(owner, in_session, 0, bytes) }
}

fn at(chosen: &[(usize, Why)]) -> Vec<usize> {
    chosen.iter().map(|(n, _)| *n).collect()
}

#[test]
fn without_bounds_nothing_is_ever_removed() {
    let kept: Vec<_> = (0..50).map(|n| log("ann", 1, 10_000 * n, 1 << 40)).collect();
    assert_eq!(choose(&kept, &rules(), NOW), []);
}

#[test]
fn old_logs_are_removed_and_younger_ones_stay() {
    let rules = Rules { age: Some(Duration::from_hours(1)), ..rules() };
    let kept = [log("ann", 1, 61, 1), log("ann", 1, 59, 1), running("ann", 1, 1), log("bob", 2, 600, 1)];
    assert_eq!(choose(&kept, &rules, NOW), [(3, Why::Age), (0, Why::Age)]);
}

#[test]
fn a_session_over_its_number_loses_its_oldest_and_no_other_session_does() {
    let rules = Rules { session: Bounds { logs: Some(2), bytes: None }, ..rules() };
    let kept = [log("ann", 1, 10, 1), log("ann", 1, 30, 1), log("ann", 2, 90, 1), log("ann", 1, 20, 1)];
    assert_eq!(choose(&kept, &rules, NOW), [(1, Why::Number)]);
}

#[test]
fn an_owner_over_its_bytes_loses_its_oldest_and_what_runs_counts_but_stays() {
    let rules = Rules { owner: Bounds { logs: None, bytes: Some(100) }, ..rules() };
    let kept = [running("ann", 1, 80), log("ann", 2, 10, 15), log("ann", 3, 20, 15), log("bob", 4, 99, 100)];
    assert_eq!(choose(&kept, &rules, NOW), [(2, Why::Size)]);
    let only_running = [running("ann", 1, 500)];
    assert_eq!(choose(&only_running, &rules, NOW), []);
}

#[test]
fn over_the_bound_of_all_the_largest_owner_pays_and_a_small_one_keeps_its_older_log() {
    let rules = Rules { all: Bounds { logs: None, bytes: Some(300) }, ..rules() };
    let mut kept = vec![log("bob", 9, 5_000, 50)];
    kept.extend((0..4).map(|n| log("ann", 1, 100 - n, 100)));
    assert_eq!(at(&choose(&kept, &rules, NOW)), [1, 2]);
    let rules = Rules { all: Bounds { logs: Some(3), bytes: None }, ..rules };
    assert_eq!(choose(&kept, &rules, NOW), [(1, Why::Number), (2, Why::Number)]);
}

#[test]
fn logs_that_just_ended_or_are_being_read_are_kept_whatever_the_bounds() {
    let tight = Bounds { logs: Some(0), bytes: Some(0) };
    let rules = Rules { age: Some(Duration::ZERO), session: tight, owner: tight, all: tight, ..rules() };
    let read = Kept { is_read: true, ..log("ann", 1, 60, 9) };
    let kept = [log("ann", 1, 4, 9), read, running("ann", 1, 9), log("ann", 1, 6, 9)];
    assert_eq!(choose(&kept, &rules, NOW), [(3, Why::Age)]);
    assert_eq!(at(&choose(&kept, &Rules { keep_at_least: Duration::ZERO, ..rules }, NOW)), [3, 0]);
}

#[test]
fn after_a_sweep_every_bound_holds_and_a_second_sweep_finds_nothing() {
    let mut seed = 7_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..200 {
        let mut kept: Vec<_> = (0..next(60))
            .map(|_| {
                let owner = ["ann", "bob", "eve"][usize::try_from(next(3)).unwrap()];
                log(owner, u128::from(next(6)), 5 + next(500), next(100))
            })
            .collect();
        let rules = Rules {
            age: Some(Duration::from_mins(next(600))),
            session: Bounds { logs: Some(next(12)), bytes: Some(next(500)) },
            owner: Bounds { logs: Some(next(20)), bytes: Some(next(900)) },
            all: Bounds { logs: Some(next(40)), bytes: Some(next(1500)) },
            ..rules()
        };
        let chosen = at(&choose(&kept, &rules, NOW));
        let mut n = 0;
        kept.retain(|_| {
            n += 1;
            !chosen.contains(&(n - 1))
        });
        let mut total = Sum::default();
        for one in &kept {
            total.add(1, one.bytes);
        }
        assert_eq!(rules.all.exceeded_by(total), None);
        assert_eq!(choose(&kept, &rules, NOW), [], "the choice is stable");
    }
}

#[test]
fn a_prune_without_options_applies_the_configured_rules() {
    let rules = Rules { age: Some(Duration::from_hours(1)), ..rules() };
    let kept = [log("ann", 1, 63, 1), log("bob", 2, 62, 1), log("ann", 3, 61, 1)];
    let filter = Filter { owner: Some("ann".into()), ..Filter::default() };
    assert_eq!(at(&prune(&kept, &filter, &rules, NOW)), [0, 2]);
    let filter = Filter { session: Some(session(3)), ..filter };
    assert_eq!(at(&prune(&kept, &filter, &rules, NOW)), [2]);
}

#[test]
fn a_prune_by_time_or_number_is_not_held_back_by_the_floor_but_by_readers() {
    let read = Kept { is_read: true, ..log("ann", 1, 60, 1) };
    let kept = [log("ann", 1, 1, 1), log("ann", 1, 3, 1), read, running("ann", 1, 1), log("bob", 2, 2, 1)];
    let of_ann = Filter { owner: Some("ann".into()), ..Filter::default() };
    let all = Filter { all: true, ..of_ann.clone() };
    assert_eq!(at(&prune(&kept, &all, &rules(), NOW)), [1, 0]);
    let keep = Filter { keep: Some(1), ..of_ann.clone() };
    assert_eq!(at(&prune(&kept, &keep, &rules(), NOW)), [1]);
    let old = Filter { older_than_ms: Some(2 * MINUTE), ..of_ann };
    assert_eq!(at(&prune(&kept, &old, &rules(), NOW)), [1]);
}
