//! Conversions between the generated messages and the types of the protocol crate.
//!
//! Outward conversions cannot fail. Inward ones can, because the other side may be another version or another
//! program: they return a [`Fault`] that names the field.

mod builds;
mod detail;
mod place;

use std::collections::{BTreeMap, HashMap};

use headwater_protocol::{
    Children, Command, Event, EventKind, Execution, ExecutionState, Limits, Network, OnOutputLimit, Process,
    Reason, SandboxKind, Seq, Session, SessionSpec, SessionState, SessionUsage, StartSpec, Stdin, Stream,
    TtySize, Usage, Verdict,
};

use crate::error::{Fault, FaultKind};
use crate::v1;

fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Invalid, message)
}

fn outward(map: &BTreeMap<String, String>) -> HashMap<String, String> {
    map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn inward(map: HashMap<String, String>) -> BTreeMap<String, String> {
    map.into_iter().collect()
}

impl From<&Limits> for v1::Limits {
    fn from(limits: &Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            cpus: limits.cpus,
            pids: limits.pids,
            open_files: limits.open_files,
            file_bytes: limits.file_bytes,
            disk_bytes: limits.disk_bytes,
            inodes: limits.inodes,
            output_bytes: limits.output_bytes,
            wall_ms: limits.wall_ms,
            cpu_ms: limits.cpu_ms,
        }
    }
}

impl From<v1::Limits> for Limits {
    fn from(limits: v1::Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            cpus: limits.cpus,
            pids: limits.pids,
            open_files: limits.open_files,
            file_bytes: limits.file_bytes,
            disk_bytes: limits.disk_bytes,
            inodes: limits.inodes,
            output_bytes: limits.output_bytes,
            wall_ms: limits.wall_ms,
            cpu_ms: limits.cpu_ms,
        }
    }
}

impl From<&SessionSpec> for v1::SessionSpec {
    fn from(spec: &SessionSpec) -> Self {
        Self {
            name: spec.name.clone(),
            env: outward(&spec.env),
            limits: Some((&spec.limits).into()),
            idle_timeout_ms: spec.idle_timeout_ms,
            metadata: outward(&spec.metadata),
            one_shot: spec.one_shot,
            network: spec.network.name().to_owned(),
            place: spec.place.as_ref().map(Into::into),
            secret_env: spec.secret_env.iter().cloned().collect(),
        }
    }
}

impl TryFrom<v1::SessionSpec> for SessionSpec {
    type Error = Fault;

    fn try_from(spec: v1::SessionSpec) -> Result<Self, Fault> {
        let network = match spec.network.as_str() {
            "" => Network::None,
            name => Network::ALL
                .into_iter()
                .find(|network| network.name() == name)
                .ok_or_else(|| invalid(format!("`{name}` is not a network mode")))?,
        };
        Ok(Self {
            name: spec.name,
            env: inward(spec.env),
            secret_env: spec.secret_env.into_iter().collect(),
            limits: spec.limits.map(Into::into).unwrap_or_default(),
            idle_timeout_ms: spec.idle_timeout_ms,
            metadata: inward(spec.metadata),
            one_shot: spec.one_shot,
            network,
            place: spec.place.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<&Session> for v1::Session {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.to_string(),
            spec: Some((&session.spec).into()),
            sandbox: session.sandbox.name().to_owned(),
            created_at_ms: session.created_at_ms,
            ended_at_ms: match session.state {
                SessionState::Ready | SessionState::Hibernated => None,
                SessionState::Ended { ended_at_ms } => Some(ended_at_ms),
            },
            running: session.running,
            hibernated: session.state == SessionState::Hibernated,
        }
    }
}

impl TryFrom<v1::Session> for Session {
    type Error = Fault;

    fn try_from(session: v1::Session) -> Result<Self, Fault> {
        Ok(Self {
            id: session.id.parse()?,
            spec: session.spec.map(TryInto::try_into).transpose()?.unwrap_or_default(),
            sandbox: match session.sandbox.as_str() {
                "full" => SandboxKind::Full,
                "none" => SandboxKind::None,
                other => return Err(invalid(format!("`{other}` is not a sandbox kind"))),
            },
            state: match session.ended_at_ms {
                Some(ended_at_ms) => SessionState::Ended { ended_at_ms },
                None if session.hibernated => SessionState::Hibernated,
                None => SessionState::Ready,
            },
            created_at_ms: session.created_at_ms,
            running: session.running,
        })
    }
}

impl From<TtySize> for v1::TtySize {
    fn from(size: TtySize) -> Self {
        Self { rows: size.rows.into(), cols: size.cols.into() }
    }
}

impl TryFrom<v1::TtySize> for TtySize {
    type Error = Fault;

    fn try_from(size: v1::TtySize) -> Result<Self, Fault> {
        let within = |n: u32, what| match u16::try_from(n) {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(invalid(format!("a terminal cannot have {n} {what}"))),
        };
        Ok(Self { rows: within(size.rows, "rows")?, cols: within(size.cols, "columns")? })
    }
}

impl From<&StartSpec> for v1::StartSpec {
    fn from(spec: &StartSpec) -> Self {
        use v1::start_spec::{Command as Said, Stdin as Input};
        Self {
            command: Some(match &spec.command {
                Command::Argv(args) => Said::Argv(v1::Argv { args: args.clone() }),
                Command::Shell(line) => Said::Shell(line.clone()),
                Command::Code { language, code, file, args } => Said::Code(v1::Code {
                    language: language.clone(),
                    code: code.clone(),
                    file: file.clone(),
                    args: args.clone(),
                }),
            }),
            cwd: spec.cwd.clone(),
            env: outward(&spec.env),
            stdin: match &spec.stdin {
                Stdin::None => None,
                Stdin::Given(bytes) => Some(Input::StdinGiven(bytes.clone())),
                Stdin::Open => Some(Input::StdinOpen(true)),
            },
            tty: spec.tty.map(Into::into),
            merge_output: spec.merge_output,
            timeout_ms: spec.timeout_ms,
            grace_ms: spec.grace_ms,
            limits: Some((&spec.limits).into()),
            children: match spec.children {
                Children::Keep => v1::Children::Keep,
                Children::Kill => v1::Children::Kill,
            }
            .into(),
            on_output_limit: match spec.on_output_limit {
                OnOutputLimit::Trim => v1::OnOutputLimit::Trim,
                OnOutputLimit::Stop => v1::OnOutputLimit::Stop,
            }
            .into(),
            metadata: outward(&spec.metadata),
        }
    }
}

impl TryFrom<v1::StartSpec> for StartSpec {
    type Error = Fault;

    fn try_from(spec: v1::StartSpec) -> Result<Self, Fault> {
        use v1::start_spec::{Command as Said, Stdin as Input};
        let command = spec.command.ok_or_else(|| {
            invalid("nothing to run").hint("give one of `argv`, `shell`, or `language` with `code`")
        })?;
        Ok(Self {
            children: match v1::Children::try_from(spec.children) {
                Ok(v1::Children::Keep) => Children::Keep,
                Ok(v1::Children::Kill) => Children::Kill,
                Err(_) => return Err(invalid("`children` must be `keep` or `kill`")),
            },
            on_output_limit: match v1::OnOutputLimit::try_from(spec.on_output_limit) {
                Ok(v1::OnOutputLimit::Trim) => OnOutputLimit::Trim,
                Ok(v1::OnOutputLimit::Stop) => OnOutputLimit::Stop,
                Err(_) => return Err(invalid("`on_output_limit` must be `trim` or `stop`")),
            },
            command: match command {
                Said::Argv(argv) => Command::Argv(argv.args),
                Said::Shell(line) => Command::Shell(line),
                Said::Code(code) => Command::Code {
                    language: code.language,
                    code: code.code,
                    file: code.file,
                    args: code.args,
                },
            },
            cwd: spec.cwd,
            env: inward(spec.env),
            stdin: match spec.stdin {
                None | Some(Input::StdinOpen(false)) => Stdin::None,
                Some(Input::StdinGiven(bytes)) => Stdin::Given(bytes),
                Some(Input::StdinOpen(true)) => Stdin::Open,
            },
            tty: spec.tty.map(TryInto::try_into).transpose()?,
            merge_output: spec.merge_output,
            timeout_ms: spec.timeout_ms,
            grace_ms: spec.grace_ms,
            limits: spec.limits.map(Into::into).unwrap_or_default(),
            metadata: inward(spec.metadata),
        })
    }
}

impl From<&Verdict> for v1::Verdict {
    fn from(verdict: &Verdict) -> Self {
        Self {
            reason: verdict.reason.name().to_owned(),
            code: verdict.code,
            signal: verdict.signal,
            message: verdict.message.clone(),
            duration_ms: verdict.duration_ms,
            cpu_ms: verdict.usage.cpu_ms,
            max_rss_bytes: verdict.usage.max_rss_bytes,
            stdout_bytes: verdict.stdout_bytes,
            stderr_bytes: verdict.stderr_bytes,
            output_bytes: verdict.output_bytes,
            detail: verdict.detail.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<v1::Verdict> for Verdict {
    type Error = Fault;

    fn try_from(verdict: v1::Verdict) -> Result<Self, Fault> {
        Ok(Self {
            reason: Reason::from_name(&verdict.reason)
                .ok_or_else(|| invalid(format!("`{}` is not an exit reason", verdict.reason)))?,
            code: verdict.code,
            signal: verdict.signal,
            message: verdict.message,
            detail: verdict.detail.map(Into::into),
            duration_ms: verdict.duration_ms,
            usage: Usage { cpu_ms: verdict.cpu_ms, max_rss_bytes: verdict.max_rss_bytes },
            stdout_bytes: verdict.stdout_bytes,
            stderr_bytes: verdict.stderr_bytes,
            output_bytes: verdict.output_bytes,
        })
    }
}

impl From<&Execution> for v1::Execution {
    fn from(execution: &Execution) -> Self {
        let (state, pid) = match execution.state {
            ExecutionState::Queued => (v1::ExecutionState::Queued, None),
            ExecutionState::Running { pid } => (v1::ExecutionState::Running, Some(pid)),
            ExecutionState::Exited { .. } => (v1::ExecutionState::Exited, None),
            ExecutionState::Closed { .. } => (v1::ExecutionState::Closed, None),
        };
        Self {
            id: execution.id.to_string(),
            session_id: execution.session_id.to_string(),
            spec: Some((&execution.spec).into()),
            state: state.into(),
            pid,
            verdict: execution.state.verdict().map(Into::into),
            started_at_ms: execution.started_at_ms,
            stdout_bytes: execution.stdout_bytes,
            stderr_bytes: execution.stderr_bytes,
            output_bytes: execution.output_bytes,
            last_seq: execution.last_seq.0,
        }
    }
}

impl TryFrom<v1::Execution> for Execution {
    type Error = Fault;

    fn try_from(execution: v1::Execution) -> Result<Self, Fault> {
        let verdict = || -> Result<Verdict, Fault> {
            execution
                .verdict
                .clone()
                .ok_or_else(|| invalid("an ended execution without a verdict"))?
                .try_into()
        };
        let state = match v1::ExecutionState::try_from(execution.state) {
            Ok(v1::ExecutionState::Queued) => ExecutionState::Queued,
            Ok(v1::ExecutionState::Running) => ExecutionState::Running { pid: execution.pid.unwrap_or(0) },
            Ok(v1::ExecutionState::Exited) => ExecutionState::Exited { verdict: verdict()? },
            Ok(v1::ExecutionState::Closed) => ExecutionState::Closed { verdict: verdict()? },
            Err(_) => return Err(invalid("an execution in an unknown state")),
        };
        Ok(Self {
            id: execution.id.parse()?,
            session_id: execution.session_id.parse()?,
            spec: execution.spec.ok_or_else(|| invalid("an execution without a spec"))?.try_into()?,
            state,
            started_at_ms: execution.started_at_ms,
            stdout_bytes: execution.stdout_bytes,
            stderr_bytes: execution.stderr_bytes,
            output_bytes: execution.output_bytes,
            last_seq: Seq(execution.last_seq),
            log_removed: None,
        })
    }
}

impl From<Stream> for v1::Stream {
    fn from(stream: Stream) -> Self {
        match stream {
            Stream::Stdout => Self::Stdout,
            Stream::Stderr => Self::Stderr,
            Stream::Output => Self::Output,
        }
    }
}

/// The stream of this number.
pub fn stream(number: i32) -> Result<Stream, Fault> {
    u8::try_from(number)
        .ok()
        .and_then(Stream::from_number)
        .ok_or_else(|| invalid(format!("there is no stream of number {number}")))
}

impl From<Event> for v1::Event {
    fn from(event: Event) -> Self {
        use v1::event::Kind;
        let kind = match event.kind {
            EventKind::Started { execution_id, pid } => {
                Kind::Started(v1::Started { execution_id: execution_id.to_string(), pid })
            }
            EventKind::Output { stream, offset, bytes } => {
                Kind::Output(v1::Output { stream: v1::Stream::from(stream).into(), offset, data: bytes })
            }
            EventKind::Gap { stream, from_byte, to_byte } => {
                Kind::Gap(v1::Gap { stream: v1::Stream::from(stream).into(), from_byte, to_byte })
            }
            EventKind::Exited(verdict) => Kind::Exited((&verdict).into()),
            EventKind::Closed => Kind::Closed(v1::Closed {}),
        };
        Self { seq: event.seq.0, at_ms: event.at_ms, kind: Some(kind) }
    }
}

impl TryFrom<v1::Event> for Event {
    type Error = Fault;

    fn try_from(event: v1::Event) -> Result<Self, Fault> {
        use v1::event::Kind;
        let kind = match event.kind.ok_or_else(|| invalid("an event without a kind"))? {
            Kind::Started(started) => {
                EventKind::Started { execution_id: started.execution_id.parse()?, pid: started.pid }
            }
            Kind::Output(output) => EventKind::Output {
                stream: stream(output.stream)?,
                offset: output.offset,
                bytes: output.data,
            },
            Kind::Gap(gap) => {
                EventKind::Gap { stream: stream(gap.stream)?, from_byte: gap.from_byte, to_byte: gap.to_byte }
            }
            Kind::Exited(verdict) => EventKind::Exited(verdict.try_into()?),
            Kind::Closed(_) => EventKind::Closed,
        };
        Ok(Self { seq: Seq(event.seq), at_ms: event.at_ms, kind })
    }
}

impl From<&Process> for v1::Process {
    fn from(process: &Process) -> Self {
        Self { pid: process.pid, ppid: process.ppid, name: process.name.clone() }
    }
}

impl From<v1::Process> for Process {
    fn from(process: v1::Process) -> Self {
        Self { pid: process.pid, ppid: process.ppid, name: process.name }
    }
}

impl From<&SessionUsage> for v1::GetUsageResponse {
    fn from(usage: &SessionUsage) -> Self {
        Self {
            hibernated: usage.hibernated,
            memory_bytes: usage.memory_bytes,
            cpu_ms: usage.cpu_ms,
            pids: usage.pids,
            disk_bytes: usage.disk_bytes,
            limits: Some((&usage.limits).into()),
        }
    }
}

impl From<v1::GetUsageResponse> for SessionUsage {
    fn from(usage: v1::GetUsageResponse) -> Self {
        Self {
            hibernated: usage.hibernated,
            memory_bytes: usage.memory_bytes,
            cpu_ms: usage.cpu_ms,
            pids: usage.pids,
            disk_bytes: usage.disk_bytes,
            limits: usage.limits.map(Into::into).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{ExecutionId, ExitDetail, SessionId};

    use super::*;

    #[test]
    fn a_start_spec_survives_the_wire() {
        let mut spec = StartSpec::code("python", "print(1)");
        spec.stdin = Stdin::Given("abc".into());
        spec.tty = Some(TtySize { rows: 3, cols: 4 });
        spec.env.insert("A".into(), "b".into());
        spec.limits.cpus = Some(0.5);
        spec.children = Children::Kill;
        spec.on_output_limit = OnOutputLimit::Stop;
        assert_eq!(StartSpec::try_from(v1::StartSpec::from(&spec)), Ok(spec));
    }

    #[test]
    fn a_session_spec_survives_the_wire() {
        let mut spec =
            SessionSpec { name: Some("n".into()), network: Network::Packages, ..SessionSpec::default() };
        spec.env = [("A", "b"), ("KEY", "secret")].map(|(name, value)| (name.into(), value.into())).into();
        spec.secret_env.insert("KEY".into());
        assert_eq!(SessionSpec::try_from(v1::SessionSpec::from(&spec)), Ok(spec));
    }

    #[test]
    fn an_execution_and_its_verdict_survive_the_wire() {
        let verdict = Verdict {
            reason: Reason::TimedOut,
            code: None,
            signal: Some(15),
            message: Some("after 1 s".into()),
            detail: Some(ExitDetail::TimedOut { after_ms: 1000 }),
            duration_ms: 1,
            usage: Usage { cpu_ms: 2, max_rss_bytes: 3 },
            stdout_bytes: 4,
            stderr_bytes: 5,
            output_bytes: 6,
        };
        let execution = Execution {
            id: ExecutionId::random(),
            session_id: SessionId::random(),
            spec: StartSpec::shell("x"),
            state: ExecutionState::Closed { verdict },
            started_at_ms: 7,
            stdout_bytes: 4,
            stderr_bytes: 5,
            output_bytes: 6,
            last_seq: Seq(9),
            log_removed: None,
        };
        assert_eq!(Execution::try_from(v1::Execution::from(&execution)), Ok(execution));
    }

    #[test]
    fn the_usage_of_a_session_survives_the_wire_and_what_is_not_counted_stays_absent() {
        let limits = Limits { pids: Some(4), cpus: Some(0.5), ..Limits::default() };
        let (cpu_ms, pids, disk_bytes) = (Some(0), Some(2), Some(3));
        let usage = SessionUsage { hibernated: true, memory_bytes: None, cpu_ms, pids, disk_bytes, limits };
        assert_eq!(SessionUsage::from(v1::GetUsageResponse::from(&usage)), usage);
    }

    #[test]
    fn an_invalid_message_is_refused_and_names_the_field() {
        let fault = StartSpec::try_from(v1::StartSpec::default()).unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Invalid, "nothing to run"));
        assert!(TtySize::try_from(v1::TtySize { rows: 0, cols: 1 }).is_err());
        assert!(stream(0).is_err() && stream(4).is_err() && stream(-1).is_err());
        let verdict = v1::Verdict { reason: "because".into(), ..v1::Verdict::default() };
        assert!(Verdict::try_from(verdict).unwrap_err().message.contains("because"));
    }
}
