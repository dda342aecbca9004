// Reads `git status --porcelain=v1 --branch -z`: the branch, and the state of each path.

export type GitState = 'modified' | 'added' | 'deleted' | 'renamed' | 'untracked' | 'conflict' | 'ignored';

export interface GitStatus {
  branch: string;
  ahead: number;
  behind: number;
  /** Paths relative to the root of the repository. A folder with only new files ends with a slash in git's output. */
  files: Map<string, GitState>;
}

/** Parses the output. Records are separated by NUL; a renamed file is followed by its old path. */
export function parseStatus(output: string): GitStatus {
  const status: GitStatus = { branch: '', ahead: 0, behind: 0, files: new Map() };
  const records = output.split('\0');
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index] ?? '';
    if (record.startsWith('## ')) readBranch(record.slice(3), status);
    else if (record.length > 3) {
      const code = record.slice(0, 2);
      status.files.set(record.slice(3).replace(/\/$/, ''), stateOf(code));
      if (code.includes('R') || code.includes('C')) index += 1;
    }
  }
  return status;
}

function readBranch(text: string, status: GitStatus): void {
  const name = /^(?:No commits yet on |Initial commit on )?(.+?)(?:\.\.\.\S+)?(?: \[(.*)\])?$/.exec(text);
  const branch = name?.[1] ?? '';
  status.branch = branch === 'HEAD (no branch)' ? 'HEAD' : branch;
  status.ahead = Number(/ahead (\d+)/.exec(name?.[2] ?? '')?.[1] ?? 0);
  status.behind = Number(/behind (\d+)/.exec(name?.[2] ?? '')?.[1] ?? 0);
}

function stateOf(code: string): GitState {
  if (code === '??') return 'untracked';
  if (code === '!!') return 'ignored';
  if (code.includes('U') || code === 'AA' || code === 'DD') return 'conflict';
  if (code.includes('R')) return 'renamed';
  if (code.startsWith('A') || code.includes('C')) return 'added';
  if (code.includes('D')) return 'deleted';
  return 'modified';
}

/** The state of a path in the tree: its own, that of a new folder around it, or `modified` for a folder with changes. */
export function stateAt(status: GitStatus, path: string): GitState | null {
  const own = status.files.get(path);
  if (own !== undefined) return own;
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const above = status.files.get(path.slice(0, at));
    if (above === 'untracked' || above === 'ignored') return above;
  }
  for (const file of status.files.keys()) {
    if (file.startsWith(`${path}/`) && status.files.get(file) !== 'ignored') return 'modified';
  }
  return null;
}

/** The letter that stands beside a name. */
export const GIT_LETTERS: Record<GitState, string> = {
  modified: 'M',
  added: 'A',
  deleted: 'D',
  renamed: 'R',
  untracked: 'U',
  conflict: '!',
  ignored: '',
};
