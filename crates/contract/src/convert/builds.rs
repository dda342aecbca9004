//! Conversions of builds: what to compile, and the result.

use headwater_protocol::build::{
    BuildResult, BuildStatus, CompileSpec, Compiled, Diagnostic, Fix, Note, Range, Severity,
};

use super::invalid;
use crate::error::Fault;
use crate::v1;

impl From<&CompileSpec> for v1::CompileSpec {
    fn from(spec: &CompileSpec) -> Self {
        Self {
            language: match spec.language {
                Compiled::Cpp => v1::CompiledLanguage::Cpp,
                Compiled::C => v1::CompiledLanguage::C,
            }
            .into(),
            source_files: spec.source_files.clone(),
            output_binary: spec.output_binary.clone(),
            compiler: spec.compiler.clone(),
            flags: spec.flags.clone(),
            sanitize: spec.sanitize.clone(),
            timeout_ms: spec.timeout_ms,
        }
    }
}

impl TryFrom<v1::CompileSpec> for CompileSpec {
    type Error = Fault;

    fn try_from(spec: v1::CompileSpec) -> Result<Self, Fault> {
        Ok(Self {
            language: match v1::CompiledLanguage::try_from(spec.language) {
                Ok(v1::CompiledLanguage::Cpp) => Compiled::Cpp,
                Ok(v1::CompiledLanguage::C) => Compiled::C,
                Ok(v1::CompiledLanguage::Unspecified) | Err(_) => {
                    return Err(invalid("a build in an unknown language"));
                }
            },
            source_files: spec.source_files,
            output_binary: spec.output_binary,
            compiler: spec.compiler,
            flags: spec.flags,
            sanitize: spec.sanitize,
            timeout_ms: spec.timeout_ms,
        })
    }
}

impl From<&BuildResult> for v1::BuildResult {
    fn from(result: &BuildResult) -> Self {
        Self {
            status: v1::BuildStatus::from(result.status).into(),
            stdout: result.stdout.clone(),
            stderr: result.stderr.clone(),
            artifacts: result.artifacts.clone(),
            diagnostics: result.diagnostics.iter().map(Into::into).collect(),
            cached: result.cached,
            cached_objects: result.cached_objects,
            duration_ms: result.duration_ms,
            truncated: result.truncated,
        }
    }
}

impl TryFrom<v1::BuildResult> for BuildResult {
    type Error = Fault;

    fn try_from(result: v1::BuildResult) -> Result<Self, Fault> {
        Ok(Self {
            status: status(result.status())?,
            stdout: result.stdout,
            stderr: result.stderr,
            artifacts: result.artifacts,
            diagnostics: result.diagnostics.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            cached: result.cached,
            cached_objects: result.cached_objects,
            duration_ms: result.duration_ms,
            truncated: result.truncated,
        })
    }
}

impl From<BuildStatus> for v1::BuildStatus {
    fn from(status: BuildStatus) -> Self {
        match status {
            BuildStatus::Running => Self::Running,
            BuildStatus::Success => Self::Success,
            BuildStatus::Failed => Self::Failed,
            BuildStatus::Cancelled => Self::Cancelled,
            BuildStatus::TimedOut => Self::TimedOut,
            BuildStatus::Lost => Self::Lost,
        }
    }
}

fn status(status: v1::BuildStatus) -> Result<BuildStatus, Fault> {
    Ok(match status {
        v1::BuildStatus::Unspecified => return Err(invalid("a build in an unknown state")),
        v1::BuildStatus::Running => BuildStatus::Running,
        v1::BuildStatus::Success => BuildStatus::Success,
        v1::BuildStatus::Failed => BuildStatus::Failed,
        v1::BuildStatus::Cancelled => BuildStatus::Cancelled,
        v1::BuildStatus::TimedOut => BuildStatus::TimedOut,
        v1::BuildStatus::Lost => BuildStatus::Lost,
    })
}

impl From<&Diagnostic> for v1::Diagnostic {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            at: Some((&diagnostic.at).into()),
            severity: match diagnostic.severity {
                Severity::Error => v1::Severity::Error,
                Severity::Warning => v1::Severity::Warning,
                Severity::Note => v1::Severity::Note,
            }
            .into(),
            message: diagnostic.message.clone(),
            option: diagnostic.option.clone(),
            fixes: diagnostic.fixes.iter().map(Into::into).collect(),
            notes: diagnostic.notes.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<v1::Diagnostic> for Diagnostic {
    type Error = Fault;

    fn try_from(diagnostic: v1::Diagnostic) -> Result<Self, Fault> {
        Ok(Self {
            severity: match diagnostic.severity() {
                v1::Severity::Unspecified => return Err(invalid("a diagnostic of an unknown severity")),
                v1::Severity::Error => Severity::Error,
                v1::Severity::Warning => Severity::Warning,
                v1::Severity::Note => Severity::Note,
            },
            at: range(diagnostic.at),
            message: diagnostic.message,
            option: diagnostic.option,
            fixes: diagnostic.fixes.into_iter().map(Into::into).collect(),
            notes: diagnostic.notes.into_iter().map(Into::into).collect(),
        })
    }
}

impl From<&Note> for v1::DiagnosticNote {
    fn from(note: &Note) -> Self {
        Self {
            at: Some((&note.at).into()),
            message: note.message.clone(),
            fixes: note.fixes.iter().map(Into::into).collect(),
        }
    }
}

impl From<v1::DiagnosticNote> for Note {
    fn from(note: v1::DiagnosticNote) -> Self {
        Self {
            at: range(note.at),
            message: note.message,
            fixes: note.fixes.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<&Fix> for v1::SourceFix {
    fn from(fix: &Fix) -> Self {
        Self { range: Some((&fix.range).into()), text: fix.text.clone() }
    }
}

impl From<v1::SourceFix> for Fix {
    fn from(fix: v1::SourceFix) -> Self {
        Self { range: range(fix.range), text: fix.text }
    }
}

impl From<&Range> for v1::SourceRange {
    fn from(range: &Range) -> Self {
        Self {
            file: range.file.clone(),
            line: range.line,
            column: range.column,
            end_line: range.end_line,
            end_column: range.end_column,
        }
    }
}

/// A missing range is an empty one, as in JSON.
fn range(range: Option<v1::SourceRange>) -> Range {
    let range = range.unwrap_or_default();
    Range {
        file: range.file,
        line: range.line,
        column: range.column,
        end_line: range.end_line,
        end_column: range.end_column,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compile_order_survives_the_wire() {
        let whole = CompileSpec {
            language: Compiled::C,
            source_files: vec!["a.c".into(), "b.c".into()],
            output_binary: "out".into(),
            compiler: Some("clang".into()),
            flags: vec!["-O2".into()],
            sanitize: vec!["address".into()],
            timeout_ms: Some(0),
        };
        for spec in [whole, CompileSpec::default()] {
            assert_eq!(CompileSpec::try_from(v1::CompileSpec::from(&spec)), Ok(spec));
        }
    }

    #[test]
    fn every_result_of_a_build_survives_the_wire() {
        let at = Range { file: Some("a.c".into()), line: 1, column: 2, end_line: 3, end_column: 4 };
        let fix = Fix { range: Range { file: None, ..at.clone() }, text: ";".into() };
        let note = Note { at: Range::default(), message: "here".into(), fixes: vec![fix.clone()] };
        let of = |severity| Diagnostic {
            at: at.clone(),
            severity,
            message: "wrong".into(),
            option: Some("-Wx".into()),
            fixes: vec![fix.clone()],
            notes: vec![note.clone()],
        };
        for status in [
            BuildStatus::Running,
            BuildStatus::Success,
            BuildStatus::Failed,
            BuildStatus::Cancelled,
            BuildStatus::TimedOut,
            BuildStatus::Lost,
        ] {
            let result = BuildResult {
                stdout: "o".into(),
                artifacts: vec!["/workspace/out".into()],
                diagnostics: [Severity::Error, Severity::Warning, Severity::Note].map(of).into(),
                cached: true,
                cached_objects: 5,
                duration_ms: 6,
                truncated: true,
                ..BuildResult::ended(status, "e")
            };
            assert_eq!(BuildResult::try_from(v1::BuildResult::from(&result)), Ok(result));
        }
    }

    #[test]
    fn a_value_added_by_a_later_version_is_refused_by_name() {
        let later = v1::BuildResult { status: 99, ..v1::BuildResult::default() };
        assert_eq!(BuildResult::try_from(later).unwrap_err().message, "a build in an unknown state");
        let severe = v1::Diagnostic { severity: 99, ..v1::Diagnostic::default() };
        assert_eq!(Diagnostic::try_from(severe).unwrap_err().message, "a diagnostic of an unknown severity");
        let spec = v1::CompileSpec { language: 99, ..v1::CompileSpec::default() };
        assert_eq!(CompileSpec::try_from(spec).unwrap_err().message, "a build in an unknown language");
    }
}
