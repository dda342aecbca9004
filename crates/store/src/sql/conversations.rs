//! The table `conversations`.

use headwater_protocol::conversation::ConversationId;

use super::{Columns, Select, Statement, Value, damaged, from_json, json, page_size, time};
use crate::{
    ConversationChange, ConversationFilter, ConversationRow, ConversationState, PageRequest, StoreError,
};

const COLUMNS: &str = "number, id, owner, title, session_id, parent_id, root_id, settings, is_archived, is_running, \
                       is_waiting, excerpt, log_bytes, created_at_ms, last_activity_at_ms, activity FROM conversations";
/// More conversations than are ever asked for at once.
const ALL: u32 = 1_000_000;

pub(crate) fn put(row: &ConversationRow) -> Result<Statement, StoreError> {
    let values = [
        row.id.as_str().into(),
        row.owner.as_str().into(),
        row.title.as_deref().into(),
        row.session_id.map_or(Value::Text(None), |id| id.to_string().into()),
        row.parent_id.as_ref().map(ConversationId::as_str).into(),
        row.root_id.as_str().into(),
        json("settings", &row.settings)?.into(),
        row.is_archived.into(),
        row.state.is_running.into(),
        row.state.is_waiting.into(),
        row.excerpt.as_deref().into(),
        row.log_bytes.into(),
        row.created_at_ms.into(),
        row.last_activity_at_ms.into(),
    ];
    Ok(Statement::new(
        "INSERT INTO conversations (id, owner, title, session_id, parent_id, root_id, settings, is_archived, \
         is_running, is_waiting, excerpt, log_bytes, created_at_ms, last_activity_at_ms, activity) \
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
         (SELECT COALESCE(MAX(activity), 0) + 1 FROM conversations) \
         WHERE NOT EXISTS (SELECT 1 FROM conversations WHERE id = $1)",
        values,
    ))
}

pub(crate) fn get(id: &ConversationId) -> Statement {
    Select::new(COLUMNS).when("id =", Some(id.as_str())).page("number", 1)
}

pub(crate) fn list(filter: &ConversationFilter, page: PageRequest) -> Statement {
    let mut select = Select::new(COLUMNS)
        .when("owner =", filter.owner.as_deref())
        .when("id =", filter.id.as_ref().map(ConversationId::as_str))
        .when("is_archived =", filter.is_archived.map(i64::from));
    select = match &filter.parent_id {
        Some(parent) => select.when("parent_id =", Some(parent.as_str())),
        // Members share the whole tree; a list shows its top.
        None => select.only("parent_id IS NULL"),
    };
    if let Some(member) = filter.member.as_deref() {
        select = select.within(
            "id IN (SELECT conversation_id FROM conversation_members WHERE member =",
            member,
            ")",
        );
    }
    if let Some(words) = filter.text.as_deref().and_then(words) {
        select = select.within(
            "number IN (SELECT conversation FROM conversation_texts WHERE number IN \
             (SELECT rowid FROM conversation_search WHERE conversation_search MATCH",
            &words,
            "))",
        );
    }
    select.when("activity <", page.cursor).page("activity DESC", page_size(page.limit) + 1)
}

/// The text of a search as a query of the index: each word is quoted, so that it has no meaning but its letters, and finds
/// the words that begin with it. `None` if there is no word.
fn words(text: &str) -> Option<String> {
    let is_part = |ch: char| ch.is_alphanumeric();
    let words = text.split(|ch| !is_part(ch)).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"*")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

pub(crate) fn children(parent: &ConversationId) -> Statement {
    Select::new("id FROM conversations").when("parent_id =", Some(parent.as_str())).page("number", ALL)
}

pub(crate) fn running() -> Statement {
    Select::new("id FROM conversations").only("is_running = 1").page("number", ALL)
}

pub(crate) fn count(owner: &str) -> Statement {
    Statement::new(
        "SELECT COUNT(*) AS number FROM conversations WHERE owner = $1 AND parent_id IS NULL",
        [owner.into()],
    )
}

pub(crate) fn update(id: &ConversationId, change: &ConversationChange) -> Result<Statement, StoreError> {
    let settings = change.settings.as_ref().map(|settings| json("settings", settings)).transpose()?;
    let values = [
        id.as_str().into(),
        change.session_id.map_or(Value::Text(None), |id| id.to_string().into()),
        settings.as_deref().into(),
        change.is_archived.map(i64::from).into(),
    ];
    Ok(Statement::new(
        "UPDATE conversations SET session_id = COALESCE($2, session_id), settings = COALESCE($3, settings), \
         is_archived = COALESCE($4, is_archived) WHERE id = $1",
        values,
    ))
}

pub(crate) fn remove(id: &ConversationId) -> Statement {
    Statement::new("DELETE FROM conversations WHERE id = $1", [id.as_str().into()])
}

/// Converts a row; returns its place in the order of activity, too.
pub(crate) fn read(row: &impl Columns) -> Result<(i64, ConversationRow), StoreError> {
    let flag = |name| Ok::<_, StoreError>(row.some_number(name)? != 0);
    let session = row.text("session_id")?.map(|text| text.parse()).transpose();
    let conversation = ConversationRow {
        number: row.some_number("number")?,
        id: read_id(row)?,
        owner: row.some_text("owner")?,
        title: row.text("title")?,
        session_id: session.map_err(|why| damaged("session_id", why))?,
        parent_id: row.text("parent_id")?.map(|text| parse("parent_id", &text)).transpose()?,
        root_id: parse("root_id", &row.some_text("root_id")?)?,
        settings: from_json(row, "settings")?,
        is_archived: flag("is_archived")?,
        state: ConversationState { is_running: flag("is_running")?, is_waiting: flag("is_waiting")? },
        excerpt: row.text("excerpt")?,
        log_bytes: time(row, "log_bytes")?,
        created_at_ms: time(row, "created_at_ms")?,
        last_activity_at_ms: time(row, "last_activity_at_ms")?,
    };
    Ok((row.some_number("activity")?, conversation))
}

pub(crate) fn read_id(row: &impl Columns) -> Result<ConversationId, StoreError> {
    parse("id", &row.some_text("id")?)
}

pub(super) fn parse(column: &'static str, text: &str) -> Result<ConversationId, StoreError> {
    text.parse().map_err(|why| damaged(column, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_search_have_no_meaning_but_their_letters() {
        assert_eq!(
            words("Foo NOT b*r\" AND (x").as_deref(),
            Some("\"Foo\"* \"NOT\"* \"b\"* \"r\"* \"AND\"* \"x\"*")
        );
        assert_eq!(words(" -- \"*\" "), None);
    }
}
