//! `headwater languages`: the languages, and which package provides those that are missing.

use std::time::Duration;

use headwater_protocol::api::LanguageBody;

use crate::args::LanguagesArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::escape::printable;
use crate::output::print_list;
use crate::view::Table;

/// How long to wait for tools that report their version for the first time.
const VERSIONS: Duration = Duration::from_secs(2);

/// Prints a table or JSON.
pub async fn languages(place: &Place, args: &LanguagesArgs) -> Result<u8, CommandError> {
    let all = place.engine().await?.languages(VERSIONS).await?;
    print_list(&all, args.json, table)?;
    Ok(0)
}

fn table(all: &[LanguageBody]) -> Vec<String> {
    let mut table = Table::new(&["LANGUAGE", "STATE", "VERSION", "FILES", "PACKAGE"]);
    let or_none = |text: Option<&str>| printable(text.filter(|text| !text.is_empty()).unwrap_or("-"));
    for one in all {
        let state = if one.available { "available" } else { "missing" };
        let painted = if one.available { table.style().green(state) } else { table.style().yellow(state) };
        let suffixes: Vec<_> = one.suffixes.iter().map(|suffix| format!(".{suffix}")).collect();
        let plain = |text: String| (text.clone(), text);
        table.painted_row([
            plain(printable(&one.name)),
            (state.to_owned(), painted),
            plain(or_none(one.version.as_deref())),
            plain(or_none(Some(&suffixes.join(" ")))),
            plain(or_none(one.package.as_deref())),
        ]);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_table_matches_its_snapshot() {
        let language = |name: &str, version: Option<&str>, suffixes: &[&str]| {
            let value = serde_json::json!({
                "name": name, "version": version, "available": version.is_some(), "suffixes": suffixes,
                "package": format!("{name}-package"),
            });
            serde_json::from_value::<LanguageBody>(value).unwrap()
        };
        let all = [language("cpp", None, &["cpp", "cc"]), language("python", Some("3.13.5"), &["py"])];
        snapshot::assert("languages", &table(&all).join("\n"));
    }
}
