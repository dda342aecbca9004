// Friendly names for the generated types. `Schemas['Name']` is every other type of the API.
import type { components, operations } from './generated/openapi.js';

export type Schemas = components['schemas'];
/** The query parameters of an operation, by its id in the OpenAPI document. */
export type Query<Operation extends keyof operations> = NonNullable<operations[Operation]['parameters']['query']>;

export type Session = Schemas['Session'];
export type SessionPage = Schemas['SessionPage'];
export type SessionRequest = Partial<Schemas['SessionRequest']>;
export type SessionPatch = Schemas['SessionPatch'];
export type SessionState = Schemas['SessionStateName'];
export type SessionUsage = Schemas['SessionUsage'];
/** Files and limits that a session can start with. */
export type Template = Schemas['Template'];
export type ForkRequest = Schemas['ForkRequest'];
export type Snapshot = Schemas['Snapshot'];
export type Member = Schemas['Member'];
export type Share = Schemas['Share'];
export type ShareRequest = Schemas['ShareRequest'];
/** A port of a session as a web site. */
export type Preview = Schemas['Preview'];

export type Execution = Schemas['Execution'];
export type ExecutionPage = Schemas['ExecutionPage'];
export type ExecutionState = Schemas['ExecutionStateName'];
export type StartRequest = Partial<Schemas['StartRequest']>;
export type Exit = Schemas['Exit'];
export type ExitReason = Schemas['ExitReason'];
export type ExitDetail = Schemas['ExitDetail'];
export type Limits = Schemas['Limits'];
export type Usage = Schemas['Usage'];
export type Process = Schemas['Process'];
export type OutputStream = Schemas['OutputStream'];

/** An event of an execution's log. */
export type ExecutionEvent = Schemas['Event'];
export type EventOf<Type extends ExecutionEvent['type']> = Extract<ExecutionEvent, { type: Type }>;
export type StartedEvent = EventOf<'started'>;
/** Bytes that the program wrote: `text`, or `base64` if they are not text. */
export type OutputEvent = EventOf<'stdout' | 'stderr' | 'output'>;
export type GapEvent = EventOf<'gap'>;
export type ExitedEvent = EventOf<'exited'>;
export type ClosedEvent = EventOf<'closed'>;

/** A file, a folder or a link of a workspace. */
export type FileEntry = Schemas['File'];
export type FilePage = Schemas['FilePage'];
export type FileType = Schemas['FileType'];
export type FileChange = Schemas['FileChange'];
export type FileDiff = Schemas['FileDiff'];
export type SearchResult = Schemas['SearchResult'];
export type SearchMatch = Schemas['SearchMatch'];

export type Build = Schemas['Build'];
export type BuildPage = Schemas['BuildPage'];
/** What `client.builds.start` takes. `BuildRequest` is the type of `buildCpp`. */
export type BuildSpec = Partial<Schemas['BuildRequest']> & Pick<Schemas['BuildRequest'], 'kind'>;
export type Diagnostic = Schemas['Diagnostic'];

export type Terminal = Schemas['Terminal'];
export type TerminalRequest = Partial<Schemas['TerminalRequest']>;
export type TerminalScreen = Schemas['TerminalScreen'];

export type Language = Schemas['Language'];
export type ServerInfo = Schemas['ServerInfo'];
export type DoctorReport = Schemas['DoctorReport'];
export type DoctorCheck = Schemas['DoctorCheck'];
export type Setting = Schemas['Setting'];
export type Caller = Schemas['Caller'];
export type User = Schemas['User'];
export type UserRequest = Schemas['UserRequest'];
export type UserPatch = Schemas['UserPatch'];
export type Token = Schemas['Token'];
export type TokenRequest = Partial<Schemas['TokenRequest']>;
export type AuditRow = Schemas['AuditRow'];
export type OwnerUsage = Schemas['OwnerUsage'];
export type RunningUsage = Schemas['RunningUsage'];
export type PackageList = Schemas['PackageList'];
export type SignedIn = Schemas['SignedIn'];
export type ToolCall = Schemas['RecordedToolCall'];

export type StartedExecution = Schemas['StartedExecution'];
export type ExecutionStatus = Schemas['ExecutionStatus'];
export type TextFile = Schemas['TextFile'];
export type WrittenFile = Schemas['WrittenFile'];
export type DirectoryListing = Schemas['DirectoryListing'];
export type ListedFile = Schemas['ListedFile'];
