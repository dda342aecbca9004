//! What the cache on the disk keeps, drops, and does not believe.

use std::time::Duration;

use super::*;

fn cache(most_bytes: u64) -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("build-cache"), most_bytes, Arc::default()).unwrap();
    (folder, cache)
}

fn entry(byte: u8, bytes: usize) -> Entry {
    let output = CompileOutput {
        system: vec![("/usr/include/x.h".into(), Key::of(b"x"))],
        text: "warning".into(),
        truncated: false,
        diagnostics: Vec::new(),
    };
    Entry { output, blob: vec![byte; bytes] }
}

#[test]
fn a_stored_entry_is_found_even_after_a_restart() {
    let (folder, cache) = cache(1 << 20);
    let key = Key::of(b"key");
    assert_eq!(cache.get(Kind::Object, key), None);
    cache.put(Kind::Object, key, &entry(7, 1000));
    assert_eq!(cache.get(Kind::Object, key), Some(entry(7, 1000)));
    assert_eq!(cache.get(Kind::Binary, key), None);
    drop(cache);
    let new = folder.path().join("build-cache/new/half");
    fs::write(&new, "half an entry").unwrap();
    let cache = Cache::open(folder.path().join("build-cache"), 1 << 20, Arc::default()).unwrap();
    assert_eq!(cache.get(Kind::Object, key), Some(entry(7, 1000)));
    assert!(cache.counter.bytes.load(Ordering::Relaxed) > 1000 && !new.exists());
}

#[test]
fn a_damaged_or_misnamed_entry_is_a_miss() {
    let (_folder, cache) = cache(1 << 20);
    let key = Key::of(b"key");
    cache.put(Kind::Binary, key, &entry(1, 300));
    let path = cache.entry_path(Kind::Binary, key);
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(13) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert_eq!(cache.get(Kind::Binary, key), None, "byte {at}");
        assert!(!path.exists());
        fs::write(&path, &good[..at]).unwrap();
        assert_eq!(cache.get(Kind::Binary, key), None, "cut at {at}");
    }
    let other = Key::of(b"other");
    create_private_folder(cache.entry_path(Kind::Binary, other).parent().unwrap()).unwrap();
    fs::write(cache.entry_path(Kind::Binary, other), &good).unwrap();
    assert_eq!(cache.get(Kind::Binary, other), None);
    fs::write(&path, &good).unwrap();
    assert_eq!(cache.get(Kind::Binary, key), Some(entry(1, 300)));
}

#[test]
fn the_least_recently_used_entry_is_removed_first() {
    let (_folder, cache) = cache(10_000);
    let keys: Vec<_> = (0..4_u8).map(|n| Key::of(&[n])).collect();
    for (n, key) in keys.iter().enumerate() {
        cache.put(Kind::Object, *key, &entry(0, 2000));
        let used = SystemTime::now() - Duration::from_secs(100 - n as u64);
        File::open(cache.entry_path(Kind::Object, *key)).unwrap().set_modified(used).unwrap();
    }
    assert!(cache.get(Kind::Object, keys[0]).is_some()); // and so it is the newest
    cache.put(Kind::Object, Key::of(b"more"), &entry(0, 2000));
    assert!(cache.get(Kind::Object, keys[0]).is_some());
    assert!(cache.get(Kind::Object, keys[1]).is_none());
    assert!(cache.counter.bytes.load(Ordering::Relaxed) <= 10_000);
    cache.put(Kind::Object, Key::of(b"huge"), &entry(0, 20_000));
    assert!(cache.get(Kind::Object, Key::of(b"huge")).is_none());
}
