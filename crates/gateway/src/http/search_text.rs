//! The text of a search in a list: the parameter `q`.

use crate::error::ApiError;

/// The longest text to search for, in characters.
const MAX_TEXT_CHARS: usize = 200;

/// Checks the text of a search. A blank one selects everything.
pub(crate) fn search_text(q: Option<String>) -> Result<Option<String>, ApiError> {
    let Some(text) = q.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let length = text.chars().count();
    if length > MAX_TEXT_CHARS {
        let message = format!("`q` has {length} characters: it may have at most {MAX_TEXT_CHARS}");
        return Err(ApiError::invalid(message).hint("search for a part of the text"));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_and_a_blank_one_selects_everything() {
        assert_eq!(search_text(None).unwrap(), None);
        assert_eq!(search_text(Some(" \t".into())).unwrap(), None);
        assert_eq!(search_text(Some("ä".repeat(200))).unwrap().unwrap().chars().count(), 200);
        let error = search_text(Some("ä".repeat(201))).unwrap_err();
        assert_eq!(error.status, 400);
        assert!(error.message.contains("`q`"), "{error:?}");
    }
}
