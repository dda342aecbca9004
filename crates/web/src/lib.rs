//! The files of the web app, as `npm run build` wrote them to `web/dist`, embedded in the binary. A binary that was built
//! without Node has none.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
// Scripts and styles are 15 MB, and the build writes compressed copies of them.
#[exclude = "assets/*.js"]
#[exclude = "assets/*.css"]
#[exclude = ".vite/*"]
struct Files;

/// The page of the app, for every route that it shows.
pub const INDEX: &str = "index.html";

/// Whether the binary contains the app.
pub fn is_built() -> bool {
    Files::get(INDEX).is_some()
}

/// A file, by its path below `web/dist`.
pub fn file(path: &str) -> Option<Cow<'static, [u8]>> {
    if let Some(file) = Files::get(path) {
        return Some(file.data);
    }
    let mut plain = Vec::new();
    GzDecoder::new(&*Files::get(&format!("{path}.gz"))?.data).read_to_end(&mut plain).ok()?;
    Some(Cow::Owned(plain))
}

/// The paths of all files.
pub fn paths() -> impl Iterator<Item = Cow<'static, str>> {
    Files::iter()
}
