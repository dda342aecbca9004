//! Templates: the files and limits that a session starts with. Some are built in; `[templates.NAME]` in the
//! configuration adds others, or replaces a built-in one.

mod built_in;
mod folder;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_contract::v1::write_file_head::Place;
use headwater_contract::{ContractError, v1};
use headwater_protocol::{Limits, SessionId};

use crate::error::ApiError;
use crate::state::Gateway;

pub(crate) use built_in::built_in;
pub(crate) use folder::{TemplateFile, read_folder};

/// What a session can start from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Template {
    /// A title for people.
    pub title: String,
    /// What the template is for.
    pub description: String,
    /// The language that must be installed.
    pub language: Option<String>,
    /// The file to open first.
    pub open: Option<String>,
    /// The limits of the session, unless the request has others.
    pub limits: Limits,
    /// The files.
    pub files: Files,
}

/// Where the files of a template are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Files {
    /// It has none.
    #[default]
    None,
    /// In this binary: paths and contents.
    BuiltIn(&'static [(&'static str, &'static str)]),
    /// In this folder of the server.
    Folder(PathBuf),
}

impl Gateway {
    /// All templates by their names.
    pub(crate) fn templates(&self) -> BTreeMap<String, Template> {
        let mut all = built_in();
        all.extend(self.config.templates.clone());
        all
    }

    /// The template of this name.
    pub(crate) fn template(&self, name: &str) -> Result<Template, ApiError> {
        self.templates().remove(name).ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            ApiError::invalid(format!("there is no template `{name}`"))
                .hint("`GET /v1/templates` lists the existing ones")
        })
    }

    /// Writes the files of a template into a new session.
    pub(crate) async fn write_template(
        self: &Arc<Self>,
        id: SessionId,
        files: Vec<TemplateFile>,
    ) -> Result<(), ContractError> {
        for file in files {
            let head = v1::WriteFileHead {
                session_id: id.to_string(),
                path: file.path.into(),
                place: Some(Place::Whole(true)),
                expect: None,
                mode: Some(file.mode),
                size: u64::try_from(file.content.len()).ok(),
            };
            let mut writer = self.worker.once().write_file(head).await;
            writer.write(file.content).await?;
            writer.finish().await?;
        }
        Ok(())
    }
}

impl Template {
    /// Reads the files. `name` is that of the template, for the error.
    pub(crate) async fn read_files(&self, name: &str) -> Result<Vec<TemplateFile>, ApiError> {
        let folder = match &self.files {
            Files::None => return Ok(Vec::new()),
            Files::BuiltIn(files) => return Ok(files.iter().map(TemplateFile::from).collect()),
            Files::Folder(folder) => folder.clone(),
        };
        let read = tokio::task::spawn_blocking(move || read_folder(&folder)).await;
        read.map_err(|error| ApiError::internal(&error))?.map_err(|cause| {
            let message = format!("the files of the template `{name}` cannot be read: {cause}");
            ApiError::conflict(message, format!("ask the operator to check `[templates.{name}]`"))
        })
    }
}
