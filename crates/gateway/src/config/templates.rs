//! `[templates.NAME]`: what a session can start from, besides the built-in templates.

use std::collections::BTreeMap;
use std::path::Path;

use headwater_protocol::settings::FileLimits;
use serde::{Deserialize, Serialize};

use crate::templates::{Files, Template};

const MAX_NAME: usize = 64;

/// A template in the form of the file.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileTemplate {
    title: Option<String>,
    description: Option<String>,
    language: Option<String>,
    open: Option<String>,
    folder: Option<String>,
    limits: FileLimits,
}

pub(super) type FileTemplates = BTreeMap<String, FileTemplate>;

/// Reads all templates of the file. Folders are relative to the data folder.
pub(super) fn parse(templates: FileTemplates, data: &Path) -> Result<BTreeMap<String, Template>, String> {
    let read = |(name, template): (String, FileTemplate)| {
        let parsed = template.parse(&name, data).map_err(|error| format!("templates.{name}: {error}"))?;
        Ok((name, parsed))
    };
    templates.into_iter().map(read).collect()
}

/// All templates in the form of the file.
pub(super) fn written(templates: &BTreeMap<String, Template>) -> FileTemplates {
    templates.iter().map(|(name, template)| (name.clone(), template.into())).collect()
}

impl FileTemplate {
    fn parse(self, name: &str, data: &Path) -> Result<Template, String> {
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if name.is_empty() || name.len() > MAX_NAME || !is_name(name) {
            return Err(format!("a name has 1 to {MAX_NAME} letters, digits, `-` and `_`"));
        }
        let limits = self.limits.parse()?;
        if let Some(error) = limits.first_invalid() {
            return Err(error.to_string());
        }
        let files = match self.folder.map(|folder| data.join(folder)) {
            None => Files::None,
            Some(folder) if folder.is_dir() => Files::Folder(folder),
            Some(folder) => return Err(format!("`{}` is not a folder", folder.display())),
        };
        Ok(Template {
            title: self.title.unwrap_or_else(|| name.to_owned()),
            description: self.description.unwrap_or_default(),
            language: self.language,
            open: self.open,
            limits,
            files,
        })
    }
}

impl From<&Template> for FileTemplate {
    fn from(template: &Template) -> Self {
        let folder = match &template.files {
            Files::Folder(folder) => Some(folder.display().to_string()),
            Files::None | Files::BuiltIn(_) => None,
        };
        Self {
            title: Some(template.title.clone()),
            description: Some(template.description.clone()),
            language: template.language.clone(),
            open: template.open.clone(),
            folder,
            limits: (&template.limits).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, data: &Path) -> Result<BTreeMap<String, Template>, String> {
        parse(toml::from_str(text).unwrap(), data)
    }

    #[test]
    fn a_template_is_read_and_written_in_the_same_form() {
        let data = tempfile::tempdir().unwrap();
        std::fs::create_dir(data.path().join("service")).unwrap();
        let text = "[service]\nopen = \"main.py\"\nfolder = \"service\"\nlimits = { memory = \"1Gi\" }";
        let templates = read(text, data.path()).unwrap();
        let service = &templates["service"];
        assert_eq!((service.title.as_str(), service.limits.memory_bytes), ("service", Some(1 << 30)));
        assert_eq!(service.files, Files::Folder(data.path().join("service")));
        assert_eq!(parse(written(&templates), Path::new("/")).unwrap(), templates);
    }

    #[test]
    fn invalid_templates_are_named() {
        for (text, says) in [
            ("[\"a b\"]", "templates.a b: a name"),
            ("[x]\nlimits = { memory = \"much\" }", "templates.x: limits.memory"),
            ("[x]\nlimits = { pids = 0 }", "templates.x: "),
            ("[x]\nfolder = \"nowhere\"", "is not a folder"),
        ] {
            let error = read(text, Path::new("/")).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
