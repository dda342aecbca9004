// A conversation and the events of its log, as the API sends them (crates/protocol/src/conversation).

export type Delivery = 'steer' | 'queue';
export type TurnOutcome = 'completed' | 'stopped' | 'failed' | 'step_limit';
export type ApprovalDecision = 'allow_once' | 'allow_conversation' | 'deny';
export type ApprovalPolicy = 'never' | 'on-failure' | 'on-request' | 'unless-trusted';
export type Mode = 'default' | 'plan';
export type ToolCallState = 'writing' | 'ready' | 'waiting' | 'running' | 'succeeded' | 'failed' | 'denied' | 'stopped';

/** A file of the workspace. */
export interface Attachment {
  name: string;
  path: string;
  media_type: string;
  size_bytes: number;
}

/** The result of a tool call: what the model gets. */
export interface ToolOutput {
  text: string;
  is_error?: boolean;
  structured?: unknown;
  image?: Attachment | null;
}

export interface Approval {
  approval_id: string;
  /** The exact command, and why the person is asked. */
  text: string;
  rule_text?: string | null;
  fingerprint: string;
  decision?: ApprovalDecision | null;
  reason?: string | null;
  decided_by?: string | null;
}

export interface InputQuestion {
  id: string;
  header: string;
  question: string;
  options?: { label: string; description?: string }[];
}

export interface Answer {
  id: string;
  answer: string;
}

export interface InputRequest {
  questions: InputQuestion[];
  answers?: Answer[] | null;
}

export interface ToolCall {
  tool_call_id: string;
  tool: string;
  state: ToolCallState;
  /** The arguments as far as the model has written them. */
  input_text?: string;
  input?: unknown;
  execution_ids?: string[];
  approval?: Approval | null;
  input_request?: InputRequest | null;
  child_id?: string | null;
  output?: ToolOutput | null;
  started_at_ms?: number | null;
  ended_at_ms?: number | null;
}

export interface TextPart {
  part_id?: string;
  text: string;
  is_streaming?: boolean;
}

export type Part =
  | ({ type: 'text' } & TextPart)
  | ({ type: 'reasoning' } & TextPart)
  | ({ type: 'tool_call' } & ToolCall)
  | ({ type: 'attachment' } & Attachment)
  | { type: 'step'; number: number }
  | { type: 'notice'; text: string };

export type ToolCallPart = Extract<Part, { type: 'tool_call' }>;

export interface ModelUsage {
  input_tokens: number;
  cached_tokens?: number;
  output_tokens: number;
  cost_usd?: number | null;
}

/** Messages with the same parent are branches of each other. */
export interface Message {
  id: string;
  parent_id?: string | null;
  role: 'user' | 'assistant';
  author?: string | null;
  created_at_ms?: number;
  parts?: Part[];
  usage?: ModelUsage | null;
}

export interface PlanStep {
  step: string;
  status: 'pending' | 'in_progress' | 'completed';
}

export interface QueuedMessage {
  message_id: string;
  parts: Part[];
  author?: string | null;
  delivery: Delivery;
}

export interface Turn {
  turn_id: string;
  model?: string | null;
  first_seq: number;
  started_at_ms: number;
  outcome?: TurnOutcome | null;
  error?: string | null;
}

/** What a conversation is, without its messages. */
export interface ConversationInfo {
  id: string;
  title?: string | null;
  owner: string;
  session_id?: string | null;
  model?: string | null;
  approval_policy: ApprovalPolicy;
  mode: Mode;
  instructions?: string | null;
  parent_id?: string | null;
  is_archived: boolean;
  wakes: boolean;
  web_search: boolean;
  is_running: boolean;
  /** Whether a person is asked something. */
  is_waiting: boolean;
  created_at: string;
  last_activity_at: string;
  excerpt?: string | null;
}

/** A conversation with all its messages, as of one event of its log. */
export interface Snapshot extends ConversationInfo {
  last_seq: number;
  leaf_id?: string | null;
  messages: Message[];
  turn?: Turn | null;
  plan: PlanStep[];
  queue: QueuedMessage[];
}

export interface ModelInfo {
  name: string;
  api: string;
  model: string;
  is_default: boolean;
  context_tokens?: number | null;
  status: 'unknown' | 'ok' | 'failed';
  detail?: string | null;
}

type InMessage = { message_id: string };
type OfCall = { tool_call_id: string };

export type ConversationEvent =
  | { type: 'message_added'; message: Message }
  | ({ type: 'branch_selected' } & InMessage)
  | { type: 'turn_started'; turn_id: string; model?: string | null }
  | ({ type: 'step_started'; step: number; attempt: number } & InMessage)
  | ({ type: 'step_discarded'; reason: string } & InMessage)
  | ({ type: 'text_started'; part_id: string; reasoning?: boolean } & InMessage)
  | ({ type: 'text_delta'; part_id: string; text: string } & InMessage)
  | ({ type: 'text_ended'; part_id: string; reasoning?: boolean; text: string } & InMessage)
  | ({ type: 'tool_call_started'; tool: string } & InMessage & OfCall)
  | ({ type: 'tool_call_delta'; text: string } & OfCall)
  | ({ type: 'tool_call_ready'; tool: string; input: unknown } & InMessage & OfCall)
  | ({ type: 'tool_call_running'; execution_id?: string | null; child_id?: string | null } & OfCall)
  | ({ type: 'approval_requested'; approval: Approval } & OfCall)
  | ({
      type: 'approval_answered';
      approval_id: string;
      decision: ApprovalDecision;
      reason?: string | null;
      by?: string | null;
    } & OfCall)
  | ({ type: 'input_requested'; questions: InputQuestion[] } & OfCall)
  | ({ type: 'input_answered'; answers: Answer[] } & OfCall)
  | ({ type: 'tool_call_ended'; state: ToolCallState; output: ToolOutput; execution_ids?: string[] } & OfCall)
  | { type: 'plan_updated'; plan: PlanStep[]; explanation?: string | null }
  | ({ type: 'noticed'; text: string } & InMessage)
  | ({ type: 'step_ended'; usage?: ModelUsage | null } & InMessage)
  | { type: 'turn_ended'; turn_id: string; outcome: TurnOutcome; error?: string | null }
  | ({ type: 'message_queued'; parts: Part[]; author?: string | null; delivery: Delivery } & InMessage)
  | ({ type: 'message_unqueued' } & InMessage)
  | ({ type: 'compacted'; summary: string } & InMessage)
  | { type: 'title_changed'; title: string };

/** A numbered event. */
export type LogEntry = { seq: number; at_ms: number } & ConversationEvent;
