// Colours for the short code of the start page: comments, strings, numbers, keywords. The IDE has a real editor.

export type TokenKind = 'plain' | 'comment' | 'string' | 'number' | 'keyword';

export interface Token {
  kind: TokenKind;
  text: string;
}

interface Grammar {
  /** Matches a comment at the current place. */
  comment: RegExp;
  string: RegExp;
  keywords: Set<string>;
}

const words = (text: string): Set<string> => new Set(text.split(' '));
const HASH = /#[^\n]*/y;
const SLASHES = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const QUOTES = /"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?/y;
const QUOTES_AND_TICKS = /"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?/y;
const C_WORDS =
  'auto break case char class const constexpr continue default delete do double else enum extern float for if int long namespace new private public return short signed sizeof static struct switch template this throw try catch typedef typename union unsigned using virtual void volatile while bool true false nullptr';
const JS_WORDS =
  'async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while yield interface type string number boolean';

const grammars: Record<string, Grammar> = {
  python: {
    comment: HASH,
    string:
      /[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?)/y,
    keywords: words(
      'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield case',
    ),
  },
  bash: {
    comment: /(?<=^|\s)#[^\n]*/y,
    string: /"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?/y,
    keywords: words(
      'if then else elif fi for in do done while until case esac function return local export echo exit set',
    ),
  },
  c: { comment: SLASHES, string: QUOTES, keywords: words(C_WORDS) },
  node: { comment: SLASHES, string: QUOTES_AND_TICKS, keywords: words(JS_WORDS) },
  java: {
    comment: SLASHES,
    string: QUOTES,
    keywords: words(
      `${C_WORDS} import package extends implements interface final abstract boolean byte null super instanceof var record`,
    ),
  },
  go: {
    comment: SLASHES,
    string: QUOTES_AND_TICKS,
    keywords: words(
      'break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false',
    ),
  },
  rust: {
    comment: SLASHES,
    string: /"(?:\\[\s\S]|[^"\\])*"?/y,
    keywords: words(
      'as async await break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while',
    ),
  },
  perl: {
    comment: HASH,
    string: QUOTES,
    keywords: words(
      'my our local sub return if elsif else unless for foreach while until use package last next print printf say',
    ),
  },
  ruby: {
    comment: HASH,
    string: QUOTES,
    keywords: words(
      'def end class module if elsif else unless while until for in do return yield self nil true false require puts begin rescue ensure then',
    ),
  },
};
const aliases: Record<string, string> = { cpp: 'c', typescript: 'node', php: 'c', r: 'bash', lua: 'ruby' };

const NUMBER = /\d(?:[\w.]*\w)?/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;

function matchAt(pattern: RegExp, code: string, at: number): string | null {
  pattern.lastIndex = at;
  const text = pattern.exec(code)?.[0];
  return text ? text : null;
}

/** The tokens of the code; together they are exactly the code. One plain token for languages without a grammar. */
export function highlight(code: string, language: string): Token[] {
  const grammar = grammars[aliases[language] ?? language];
  if (!grammar) return code === '' ? [] : [{ kind: 'plain', text: code }];
  const tokens: Token[] = [];
  const add = (kind: TokenKind, text: string): void => {
    const last = tokens.at(-1);
    if (kind === 'plain' && last?.kind === 'plain') last.text += text;
    else tokens.push({ kind, text });
  };
  for (let at = 0; at < code.length;) {
    const comment = matchAt(grammar.comment, code, at);
    const string = comment ? null : matchAt(grammar.string, code, at);
    const word = comment || string ? null : matchAt(WORD, code, at);
    const number = comment || string || word ? null : matchAt(NUMBER, code, at);
    const text = comment ?? string ?? word ?? number ?? (code[at] as string);
    if (comment) add('comment', text);
    else if (string) add('string', text);
    else if (number) add('number', text);
    else add(word && grammar.keywords.has(word) ? 'keyword' : 'plain', text);
    at += text.length;
  }
  return tokens;
}
