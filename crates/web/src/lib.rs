//! The files of the web app, as `npm run build` wrote them to `web/dist`, embedded in the binary. A binary that was built
//! without Node has none.

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// The page of the app, for every route that it shows.
pub const INDEX: &str = "index.html";

/// Whether the binary contains the app.
pub fn is_built() -> bool {
    Files::get(INDEX).is_some()
}

/// A file, by its path below `web/dist`.
pub fn file(path: &str) -> Option<Cow<'static, [u8]>> {
    Some(Files::get(path)?.data)
}

/// The paths of all files.
pub fn paths() -> impl Iterator<Item = Cow<'static, str>> {
    Files::iter()
}
