//! Check of the server's store: whether this version can read it, and whether it is intact.

use std::path::Path;

use headwater_sandbox::doctor::Check;
use headwater_store::{SqliteStore, StoreError, StoreFacts};

const NAME: &str = "store";
/// The name of the store in the data folder.
const FILE: &str = "store.db";

/// Reads the store without changing it.
pub fn check(data: &Path) -> Check {
    let path = data.join(FILE);
    if !path.exists() {
        return Check::fine(NAME, "not created yet; `headwater serve` creates it");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => result(runtime.block_on(SqliteStore::examine(&path))),
        Err(error) => Check::fine(NAME, format!("unknown: {error}")),
    }
}

fn result(examined: Result<StoreFacts, StoreError>) -> Check {
    match examined {
        Ok(facts) => {
            let StoreFacts { version, executions, bytes } = facts;
            let detail =
                format!("intact: schema {version}, {} KiB, {executions} executions", bytes.div_ceil(1024));
            Check::fine(NAME, detail)
        }
        Err(StoreError::Busy { .. }) => Check::fine(NAME, "in use; it was not checked"),
        Err(error) => {
            // The message ends with the advice.
            let text = error.to_string();
            let (detail, fix) = text.split_once("; ").unwrap_or((text.as_str(), "restore it from a backup"));
            Check::failure(NAME, detail, fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_store_is_fine_and_a_damaged_one_fails_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check(folder.path()).detail.contains("not created yet"));
        std::fs::write(
            folder.path().join(FILE),
            "no database at all, but long enough for a header".repeat(99),
        )
        .unwrap();
        let damaged = check(folder.path());
        assert!(!damaged.ok && damaged.fix.unwrap().contains("backup"), "{}", damaged.detail);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn an_intact_store_is_described_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            use headwater_store::Store as _;
            let store = SqliteStore::open(&folder.path().join(FILE)).await.unwrap();
            store.close().await.unwrap();
        });
        let before = std::fs::read_dir(folder.path()).unwrap().count();
        let checked = check(folder.path());
        assert!(checked.ok && checked.detail.starts_with("intact: schema "), "{checked:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before);
    }
}
