//! The tables of docs/api.md that list what the types define: codes, reasons, limits, events, frames and routes.
//! Each replaces the text between its two comments in the page.

use headwater_protocol::api::{ErrorCode, EventBody};
use headwater_protocol::frames::{CloseCode, FrameKind};
use headwater_protocol::{ExitDetail, Limits, Reason};
use utoipa::PartialSchema;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Object, RefOr, Schema};

use super::router::openapi_document;
use super::terminals::{LineMessage, ServerMessage, TerminalEvent};
use crate::streams::socket::frames::TextCommand;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");

#[test]
fn the_tables_of_the_api_page_are_the_committed_ones() {
    let committed = std::fs::read_to_string(PAGE).unwrap();
    let page =
        tables().into_iter().fold(committed.clone(), |page, (name, table)| replaced(&page, name, &table));
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    assert!(page == committed, "a type has changed: run `make openapi`, and commit docs/api.md");
}

/// All tables, by their name in the page.
fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("error codes", error_codes()),
        ("exit reasons", exit_reasons()),
        ("exit details", variants("kind", &ExitDetail::schema())),
        ("limits", limits()),
        ("events", variants("type", &EventBody::schema())),
        ("binary frames", binary_frames()),
        ("client messages", variants("type", &TextCommand::schema())),
        ("line messages", variants("type", &LineMessage::schema())),
        ("terminal messages", variants("type", &ServerMessage::schema())),
        ("terminal events", variants("type", &TerminalEvent::schema())),
        ("close codes", close_codes()),
        ("routes", routes()),
    ]
}

/// The page with another text between the comments of a table.
fn replaced(page: &str, name: &str, table: &str) -> String {
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("docs/api.md lacks {begin:?}"));
    let (_, after) = rest.split_once("<!-- end -->\n").expect("the table has an end");
    format!("{before}{begin}\n{table}\n<!-- end -->\n{after}")
}

fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.map(str::to_owned)) + &line(head.map(|_| "---".to_owned()));
    text.extend(rows.into_iter().map(|cells| line(cells.map(|cell| on_one_line(&cell)))));
    text
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn error_codes() -> String {
    let row =
        |code: ErrorCode| [code.status().to_string(), format!("`{}`", code.name()), code.about().to_owned()];
    table(["status", "code", "meaning"], ErrorCode::ALL.map(row))
}

fn exit_reasons() -> String {
    let row = |reason: Reason| [format!("`{}`", reason.name()), reason.about().to_owned()];
    table(["reason", "meaning"], Reason::ALL.map(row))
}

fn close_codes() -> String {
    let row = |code: CloseCode| [code.value().to_string(), code.about().to_owned()];
    table(["code", "meaning"], CloseCode::ALL.map(row))
}

fn binary_frames() -> String {
    let row = |kind: FrameKind| [format!("`{:#04x}`", kind.value()), kind.about().to_owned()];
    table(["first byte", "meaning"], FrameKind::ALL.map(row))
}

fn limits() -> String {
    let RefOr::T(Schema::Object(limits)) = Limits::schema() else { panic!("limits are an object") };
    let row = |(name, field): (&String, &RefOr<Schema>)| {
        let RefOr::T(Schema::Object(field)) = field else { panic!("a limit is a number") };
        let number = |bound: &utoipa::Number| serde_json::to_string(bound).unwrap();
        let range = match (&field.minimum, &field.maximum) {
            (Some(least), Some(most)) => format!("{} to {}", number(least), number(most)),
            (Some(least), None) => format!("at least {}", number(least)),
            _ => String::new(),
        };
        [format!("`{name}`"), range, field.description.clone().unwrap_or_default()]
    };
    table(["limit", "value", "of what"], limits.properties.iter().map(row).collect::<Vec<_>>())
}

/// The variants of an enum, by their tag.
fn variants(tag: &str, schema: &RefOr<Schema>) -> String {
    let items = match schema {
        RefOr::T(Schema::OneOf(some)) => some.items.as_slice(),
        _ => std::slice::from_ref(schema),
    };
    let row = |item: &RefOr<Schema>| {
        let objects = objects(item);
        let mut tags = objects.iter().filter_map(|object| value_of(object.properties.get(tag)?));
        let name = tags.next_back().expect("a variant has a tag");
        let fields = objects.iter().flat_map(|object| {
            object.properties.keys().filter(move |field| *field != tag).map(move |field| {
                let optional = if object.required.contains(field) { "" } else { "?" };
                format!("`{field}{optional}`")
            })
        });
        [format!("`{name}`"), fields.collect::<Vec<_>>().join(", "), about(item)]
    };
    // `other` stands for what a later version sends.
    let rows = items.iter().map(row).filter(|row| row[0] != "`other`");
    table([tag, "fields", "meaning"], rows.collect::<Vec<_>>())
}

/// The objects that a variant is made of.
fn objects(schema: &RefOr<Schema>) -> Vec<Object> {
    match schema {
        RefOr::T(Schema::Object(object)) => vec![object.clone()],
        RefOr::T(Schema::AllOf(all)) => all.items.iter().flat_map(objects).collect(),
        _ => panic!("a variant is an object"),
    }
}

fn value_of(tag: &RefOr<Schema>) -> Option<String> {
    let RefOr::T(Schema::Object(tag)) = tag else { return None };
    let value = tag.enum_values.as_ref()?.first()?;
    value.as_str().map(str::to_owned)
}

fn about(schema: &RefOr<Schema>) -> String {
    let text = match schema {
        RefOr::T(Schema::Object(object)) => object.description.clone(),
        RefOr::T(Schema::AllOf(all)) => all.description.clone(),
        _ => None,
    };
    text.unwrap_or_default()
}

fn routes() -> String {
    let document = openapi_document();
    let tags: Vec<_> = document.tags.into_iter().flatten().collect();
    let mut all = Vec::new();
    for (path, item) in &document.paths.paths {
        all.extend(operations(item).into_iter().map(|(method, operation)| (method, path, operation)));
    }
    let of_tag = |name: &str| {
        let found = all.iter().filter(|(.., operation)| {
            operation.tags.as_ref().is_some_and(|tags| tags.iter().any(|tag| tag == name))
        });
        let row = |(method, path, operation): &(&str, &String, &Operation)| {
            let is_socket = operation.responses.responses.contains_key("101");
            let method = if is_socket { format!("{method}, WebSocket") } else { (*method).to_owned() };
            [method, format!("`{path}`"), operation.summary.clone().unwrap_or_default()]
        };
        table(["method", "path", "does"], found.map(row).collect::<Vec<_>>())
    };
    let section = |tag: &utoipa::openapi::Tag| {
        format!("**{}.** {}\n\n{}", tag.name, tag.description.clone().unwrap_or_default(), of_tag(&tag.name))
    };
    tags.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn operations(item: &PathItem) -> Vec<(&'static str, &Operation)> {
    let all = [
        ("GET", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?))).collect()
}
