//! The tool calls that the client has.

use headwater_protocol::ExecutionId;
use headwater_protocol::conversation::{
    Approval, ApprovalDecision, ConversationEvent, ToolCall, ToolCallState,
};
use serde_json::Value;

use super::chunk::{ApprovalDescriptor, Chunk, ToolMetadata};
use super::encoder::{Output, Waiting};
use super::result::CallEnd;

/// A call that the client has.
#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    /// None while the model writes them.
    input: Option<Value>,
    /// The step in which it began.
    step: u32,
    metadata: ToolMetadata,
    /// The question that the client has, if it is not answered.
    question: Option<String>,
    is_running: bool,
    is_over: bool,
}

/// All of them, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

impl Calls {
    /// Whether a person's consent is what they wait for.
    pub(super) fn waiting(&self) -> Waiting {
        let is_busy = |call: &&Call| call.is_running || call.input.is_none();
        let open = || self.0.iter().filter(|call| !call.is_over && call.question.is_none());
        if !self.0.iter().any(|call| call.question.is_some()) || open().any(|call| is_busy(&call)) {
            return Waiting::No;
        }
        if open().next().is_some() { Waiting::Perhaps } else { Waiting::Yes }
    }

    /// Forgets the calls of a step, which the client has removed.
    pub(super) fn discard(&mut self, step: u32) {
        self.0.retain(|call| call.step != step);
    }

    /// The executions whose output is progress of a call.
    pub(super) fn followed(&self) -> Vec<Output> {
        let running = self.0.iter().filter(|call| !call.is_over);
        running.flat_map(|call| call.metadata.execution_ids.iter().map(|id| follow(&call.id, *id))).collect()
    }

    /// An event of a call. One of an unknown call, or of one that has ended, adds nothing.
    pub(super) fn event(&mut self, event: &ConversationEvent, step: u32, out: &mut Vec<Output>) {
        use ConversationEvent as E;
        match event {
            E::ToolCallStarted { tool_call_id, tool, .. } => {
                self.start(tool_call_id, tool, step, out);
            }
            E::ToolCallDelta { tool_call_id, text }
                if self.find(tool_call_id).is_some_and(|call| call.input.is_none()) =>
            {
                let (tool_call_id, input_text_delta) = (tool_call_id.clone(), text.clone());
                out.push(Chunk::ToolInputDelta { tool_call_id, input_text_delta }.into());
            }
            E::ToolCallReady { tool_call_id, tool, input, .. } => {
                if !self.0.iter().any(|call| call.id == *tool_call_id) {
                    self.add(tool_call_id, tool, step);
                }
                if let Some(call) = self.find(tool_call_id) {
                    call.input = Some(input.clone());
                    out.push(call.available());
                }
            }
            E::ToolCallRunning { tool_call_id, execution_id, child_id } => {
                if let Some(call) = self.find(tool_call_id) {
                    call.run(*execution_id, child_id.as_ref(), out);
                }
            }
            E::ApprovalRequested { tool_call_id, approval } => {
                if let Some(call) = self.find(tool_call_id) {
                    call.ask(approval, out);
                }
            }
            E::ApprovalAnswered { tool_call_id, approval_id, decision, reason, .. } => {
                let call = self.find(tool_call_id);
                if let Some(call) = call.filter(|call| call.question.as_ref() == Some(approval_id)) {
                    call.answer(approval_id, *decision, reason.clone(), out);
                }
            }
            E::ToolCallEnded { tool_call_id, state, output, execution_ids } => {
                if let Some(call) = self.find(tool_call_id) {
                    call.add_executions(execution_ids);
                    let metadata = call.metadata.clone();
                    call.end(CallEnd::new(tool_call_id, *state, output.clone(), metadata), out);
                }
            }
            _ => {}
        }
    }

    /// A call as it is now.
    pub(super) fn part(&mut self, part: &ToolCall, step: u32, out: &mut Vec<Output>) {
        let id = &part.tool_call_id;
        let Some(input) = &part.input else {
            if let Some(call) = self.start(id, &part.tool, step, out) {
                let (tool_call_id, input_text_delta) = (id.clone(), part.input_text.clone());
                if !input_text_delta.is_empty() {
                    out.push(Chunk::ToolInputDelta { tool_call_id, input_text_delta }.into());
                }
                call.end_of(part, out);
            }
            return;
        };
        self.add(id, &part.tool, step);
        let Some(call) = self.find(id) else { return };
        call.input = Some(input.clone());
        out.push(call.available());
        if let Some(approval) = &part.approval {
            call.ask(approval, out);
            if let Some(decision) = approval.decision {
                call.answer(&approval.approval_id, decision, approval.reason.clone(), out);
            }
        }
        call.is_running = part.state == ToolCallState::Running;
        call.metadata =
            ToolMetadata { execution_ids: part.execution_ids.clone(), child_id: part.child_id.clone() };
        if call.has_metadata() {
            out.push(call.available());
        }
        if call.is_running {
            out.extend(part.execution_ids.iter().map(|execution| follow(id, *execution)));
        }
        call.end_of(part, out);
    }

    /// A call begins, unless the client has it.
    fn start(&mut self, id: &str, tool: &str, step: u32, out: &mut Vec<Output>) -> Option<&mut Call> {
        if self.0.iter().any(|call| call.id == id) {
            return None;
        }
        let (tool_call_id, tool_name) = (id.to_owned(), tool.to_owned());
        out.push(
            Chunk::ToolInputStart { tool_call_id, tool_name, dynamic: true, provider_executed: true }.into(),
        );
        Some(self.add(id, tool, step))
    }

    fn add(&mut self, id: &str, tool: &str, step: u32) -> &mut Call {
        let (id, tool) = (id.to_owned(), tool.to_owned());
        let at = self.0.len();
        self.0.push(Call {
            id,
            tool,
            input: None,
            step,
            metadata: ToolMetadata::default(),
            question: None,
            is_running: false,
            is_over: false,
        });
        &mut self.0[at]
    }

    /// A call that has not ended.
    fn find(&mut self, id: &str) -> Option<&mut Call> {
        self.0.iter_mut().rev().find(|call| call.id == id && !call.is_over)
    }
}

impl Call {
    fn available(&self) -> Output {
        let chunk = Chunk::ToolInputAvailable {
            tool_call_id: self.id.clone(),
            tool_name: self.tool.clone(),
            input: self.input.clone().unwrap_or_default(),
            dynamic: true,
            provider_executed: true,
            tool_metadata: self.has_metadata().then(|| self.metadata.clone()),
        };
        chunk.into()
    }

    fn has_metadata(&self) -> bool {
        self.metadata != ToolMetadata::default()
    }

    fn run(
        &mut self,
        execution: Option<ExecutionId>,
        child: Option<&headwater_protocol::conversation::ConversationId>,
        out: &mut Vec<Output>,
    ) {
        let before = self.metadata.clone();
        self.is_running = true;
        self.question = None;
        self.metadata.child_id = child.cloned().or(self.metadata.child_id.take());
        self.add_executions(execution.as_slice());
        if self.metadata != before {
            out.push(self.available());
        }
        if let Some(execution) = execution.filter(|id| !before.execution_ids.contains(id)) {
            out.push(follow(&self.id, execution));
        }
    }

    fn add_executions(&mut self, ids: &[ExecutionId]) {
        for id in ids {
            if !self.metadata.execution_ids.contains(id) {
                self.metadata.execution_ids.push(*id);
            }
        }
    }

    fn ask(&mut self, approval: &Approval, out: &mut Vec<Output>) {
        self.question = Some(approval.approval_id.clone());
        self.is_running = false;
        let chunk = Chunk::ToolApprovalRequest {
            approval_id: approval.approval_id.clone(),
            tool_call_id: self.id.clone(),
            reason: approval.text.clone(),
            approval_descriptor: approval.rule_text.clone().map(|rule_text| ApprovalDescriptor { rule_text }),
        };
        out.push(chunk.into());
    }

    fn answer(
        &mut self,
        approval_id: &str,
        decision: ApprovalDecision,
        reason: Option<String>,
        out: &mut Vec<Output>,
    ) {
        self.question = None;
        let (approval_id, approved) = (approval_id.to_owned(), decision != ApprovalDecision::Deny);
        // Either it runs now, or its refusal is recorded: the stream does not end in between.
        self.is_running = true;
        out.push(Chunk::ToolApprovalResponse { approval_id, approved, reason }.into());
    }

    /// The end of a call that has one.
    fn end_of(&mut self, part: &ToolCall, out: &mut Vec<Output>) {
        if let (true, Some(output)) = (part.state.is_end(), &part.output) {
            let metadata =
                ToolMetadata { execution_ids: part.execution_ids.clone(), child_id: part.child_id.clone() };
            self.end(CallEnd::new(&self.id, part.state, output.clone(), metadata), out);
        }
    }

    fn end(&mut self, end: CallEnd, out: &mut Vec<Output>) {
        (self.is_over, self.is_running, self.question) = (true, false, None);
        match end.without_log() {
            Some(chunk) => out.push(chunk.into()),
            None => out.push(Output::Result(Box::new(end))),
        }
    }
}

fn follow(call: &str, execution_id: ExecutionId) -> Output {
    Output::Follow { tool_call_id: call.to_owned(), execution_id }
}
