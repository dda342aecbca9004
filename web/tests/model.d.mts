// The types of model.mjs.
export interface ScriptedCall {
  name: string;
  arguments: unknown;
}

export interface ScriptedTurn {
  text?: string;
  reasoning?: string;
  tool_calls?: ScriptedCall[];
  usage?: { input_tokens: number; cached_tokens?: number; output_tokens: number; cost?: number };
  fail?: { status: number; times?: number };
  delta_chars?: number;
}

export interface Script {
  rules?: { when: { last_user_contains?: string; system_contains?: string }; turns: ScriptedTurn[] }[];
  turns?: ScriptedTurn[];
}

export class ScriptedModel {
  readonly url: string;
  readonly config: string;
  static start(script: Script): Promise<ScriptedModel>;
  release(): Promise<void>;
  requests(): Promise<{ path: string; body: unknown }[]>;
  close(): Promise<void>;
}
