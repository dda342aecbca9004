'use strict';
const $ = (id) => document.getElementById(id);

/** An element with attributes and children; text is always text, never markup. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') node.className = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

/** Text in which `this` is code. */
function inline(text) {
  return text.split('`').map((part, n) => (n % 2 ? el('code', {}, part) : part));
}
function prose(text, from = 0) {
  const paragraphs = (text || '').split(/\n\s*\n/).map((part) => part.replace(/\s*\n\s*/g, ' ').trim()).filter(Boolean);
  return paragraphs.slice(from).map((part) => el('p', {}, ...inline(part)));
}

// ---- the document -------------------------------------------------------------------------------------------------
let api = {};
const resolve = (schema) => {
  let found = schema, hops = 0;
  while (found && found.$ref && hops++ < 20) found = found.$ref.split('/').slice(1).reduce((at, key) => at && at[key], api);
  return found || {};
};
const nameOf = (schema) => (schema.$ref ? schema.$ref.split('/').pop() : '');

function typeOf(schema) {
  if (!schema) return '';
  const real = resolve(schema);
  const many = real.oneOf || real.anyOf;
  if (real.const !== undefined) return JSON.stringify(real.const);
  if (real.enum) return real.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (many) return many.map(typeOf).filter((type, n, all) => type && type !== 'null' && all.indexOf(type) === n).join(' | ');
  if (real.allOf) return real.allOf.map(typeOf).filter(Boolean).join(' & ');
  const types = [].concat(real.type || (real.properties ? 'object' : 'any'));
  // Optional fields may be null, too: this is not shown.
  return types.filter((type) => type !== 'null' || types.length === 1).map((type) => {
    if (type === 'array') return `${typeOf(real.items)}[]`;
    if (type === 'object' && real.additionalProperties && !real.properties) return `{ [name]: ${typeOf(real.additionalProperties) || 'any'} }`;
    if (type === 'object') return nameOf(schema) || real.title || 'object';
    return real.format && type === 'string' ? `string (${real.format})` : type;
  }).join(' | ');
}

/** The object schemas inside a schema, which can be expanded. */
function inside(schema, depth = 0) {
  const real = resolve(schema);
  if (depth > 6) return [];
  if (real.properties) return [{ name: nameOf(schema) || real.title || 'object', schema: real }];
  const parts = [...(real.oneOf || []), ...(real.anyOf || []), ...(real.allOf || [])];
  if (real.items) parts.push(real.items);
  if (real.additionalProperties && typeof real.additionalProperties === 'object') parts.push(real.additionalProperties);
  return parts.flatMap((part) => inside(part, depth + 1));
}

function limits(schema) {
  const real = resolve(schema), words = [];
  if (real.default !== undefined && real.default !== null) words.push(`default ${JSON.stringify(real.default)}`);
  if (real.minimum !== undefined) words.push(`at least ${real.minimum}`);
  if (real.exclusiveMinimum !== undefined) words.push(`more than ${real.exclusiveMinimum}`);
  if (real.maximum !== undefined) words.push(`at most ${real.maximum}`);
  if (real.maxLength !== undefined) words.push(`at most ${real.maxLength} characters`);
  return words.join(', ');
}

function field(name, schema, required, about, seen, depth) {
  const row = el('div', { class: 'field' },
    el('span', { class: 'name' }, name),
    el('span', { class: 'type' }, typeOf(schema)),
    required ? el('span', { class: 'need' }, 'required') : null);
  const text = prose(about || resolve(schema).description || schema.description), bounds = limits(schema);
  if (text.length || bounds) row.append(el('div', { class: 'about' }, ...text, bounds ? el('p', {}, bounds) : null));
  const deeper = depth < 5 ? inside(schema).filter((part) => !seen.includes(part.schema)) : [];
  for (const part of deeper) {
    const more = el('details', {}, el('summary', {}, part.name));
    // Created when it is opened, because schemas can refer to each other in cycles.
    more.addEventListener('toggle', () => {
      if (more.open && more.childElementCount === 1) more.append(fields(part.schema, [...seen, part.schema], depth + 1));
    });
    row.append(more);
  }
  return row;
}

function fields(schema, seen = [], depth = 0) {
  const box = el('div', { class: 'fields' });
  for (const [name, property] of Object.entries(schema.properties || {})) {
    box.append(field(name, property, (schema.required || []).includes(name), '', seen, depth));
  }
  return box;
}

function schemaView(schema) {
  const parts = inside(schema);
  const variants = parts.length ? parts : [];
  if (!variants.length) return el('p', {}, el('code', {}, typeOf(schema) || 'anything'));
  const box = el('div', {});
  variants.forEach((part) => {
    if (variants.length > 1) {
      const tag = resolve((part.schema.properties || {}).type || {});
      const name = (tag.enum && tag.enum[0]) || tag.const || part.name;
      const more = el('details', { class: 'answer' }, el('summary', {}, el('code', {}, name), ' ', part.schema.description || ''));
      more.addEventListener('toggle', () => {
        if (more.open && more.childElementCount === 1) more.append(fields(part.schema, [part.schema]));
      });
      box.append(more);
    } else {
      box.append(fields(part.schema, [part.schema]));
    }
  });
  return box;
}

// ---- examples -----------------------------------------------------------------------------------------------------
function sample(schema, depth = 0) {
  const real = resolve(schema);
  if (real.examples) return real.examples[0];
  if (real.enum) return real.enum[0];
  const one = (real.oneOf || real.anyOf || []).find((part) => part.type !== 'null');
  if (one) return sample(one, depth + 1);
  const type = [].concat(real.type || '')[0];
  if (real.properties && depth < 4) {
    return Object.fromEntries((real.required || []).map((name) => [name, sample(real.properties[name] || {}, depth + 1)]));
  }
  return { string: 'text', integer: real.minimum || 1, number: 1, boolean: true, array: [], object: {} }[type] ?? {};
}
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
function curl(method, path, operation) {
  const url = location.origin + path.replace(/\{(\w+)\}/g, (_, name) => {
    const kind = path.startsWith('/v1/sessions/{id}') || name === 'session_id' ? 'SESSION' : name === 'id' || name === 'execution_id' ? 'EXECUTION' : name.toUpperCase();
    return kind === 'LANGUAGE' ? 'python' : `$${kind}`;
  });
  if (path.endsWith('/attach')) return `websocat -b -H "Authorization: Bearer $TOKEN" "${url.replace(/^http/, 'ws')}"`;
  if (path === '/login') return `curl -i "${url}?token=$TOKEN"`;
  const body = (operation.requestBody || {}).content || {};
  const streams = Object.values(operation.responses || {}).some((answer) => (answer.content || {})['text/event-stream']);
  const json = body['application/json'], raw = Object.keys(body).find((kind) => kind !== 'application/json');
  const words = ['curl'];
  if (streams) words.push('-N');
  if (method !== 'get' && !(method === 'post' && (json || raw))) words.push(`-X ${method.toUpperCase()}`);
  if (method === 'patch' && json) words[words.length - 1] = '-X PATCH';
  const lines = [`${words.join(' ')} "${url}"`];
  const open = operation.security && operation.security.some((need) => !Object.keys(need).length);
  if (!open) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (streams && method === 'post') lines.push("-H 'Accept: text/event-stream'");
  if (json) {
    const example = sample(json.schema);
    if (operation.requestBody.required || Object.keys(example || {}).length) {
      lines.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(example))}`);
    }
  } else if (raw) {
    lines.push(`--data-binary ${quote('some input\n').replace('\n', '')}`);
  }
  return lines.join(' \\\n  ');
}
async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'sr' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = before; }, 1500);
}

// ---- the page -----------------------------------------------------------------------------------------------------
const ORDER = ['executions', 'sessions', 'streams', 'tools', 'editor', 'server'];
const slug = (method, path) => `${method}${path.replace(/[^a-z0-9]+/gi, '-')}`.replace(/-$/, '');
const routes = [];

/** A path that wraps after a slash if necessary. */
const breakable = (path) => path.split(/(?<=\/)/).flatMap((part) => [part, el('wbr')]);

function pathView(path) {
  const parts = path.split(/(\{[^}]+\})/).filter(Boolean);
  return el('span', { class: 'path' }, ...parts.map((part) => (part.startsWith('{') ? el('span', { class: 'var' }, part) : part)));
}

function answerView(status, answer) {
  const found = Object.entries(answer.content || {});
  const label = [
    el('span', { class: `status s${status[0]}` }, status),
    ...inline(answer.description || ''), answer.description ? ' ' : '',
    el('span', { class: 'kind' }, found.map(([kind, { schema }]) => `${kind}${nameOf(schema || {}) ? ` · ${nameOf(schema)}` : ''}`).join(', ')),
  ];
  const views = found.filter(([, content]) => content.schema);
  if (!views.length) return el('div', { class: 'answer plain' }, ...label);
  const more = el('details', { class: 'answer' }, el('summary', {}, ...label));
  more.addEventListener('toggle', () => {
    if (!more.open || more.childElementCount > 1) return;
    for (const [kind, content] of views) {
      if (views.length > 1) more.append(el('p', { class: 'kind' }, kind));
      more.append(schemaView(content.schema));
    }
  });
  return more;
}

function fill(inner, method, path, operation) {
  inner.append(...prose(operation.description));
  const parameters = (operation.parameters || []).map(resolve);
  for (const [place, title] of [['path', 'In the path'], ['query', 'In the query string'], ['header', 'Headers']]) {
    const here = parameters.filter((parameter) => parameter.in === place);
    if (!here.length) continue;
    inner.append(el('h3', {}, title), el('div', { class: 'fields' },
      ...here.map((parameter) => field(parameter.name, parameter.schema || {}, parameter.required, parameter.description, [], 0))));
  }
  for (const [kind, content] of Object.entries((operation.requestBody || {}).content || {})) {
    inner.append(el('h3', {}, `Body · ${kind}`), schemaView(content.schema || {}));
  }
  inner.append(el('h3', {}, 'Answers'), el('div', { class: 'answers' },
    ...Object.entries(operation.responses || {}).map(([status, answer]) => answerView(status, resolve(answer)))));
  const line = curl(method, path, operation);
  const button = el('button', { class: 'small', type: 'button', 'aria-label': 'Copy the command' }, 'Copy');
  button.addEventListener('click', () => copy(line, button));
  inner.append(el('h3', {}, path.endsWith('/attach') ? 'With websocat' : 'With curl'), el('div', { class: 'curl' }, el('pre', { tabindex: '0' }, line), button));
}

function routeView(method, path, operation) {
  const id = slug(method, path), inner = el('div', { class: 'inner' });
  const details = el('details', {}, el('summary', {},
    el('span', { class: `verb ${method}` }, method.toUpperCase()), pathView(path),
    el('span', { class: 'chev', 'aria-hidden': 'true' }, '›'),
    el('span', { class: 'about' }, ...inline(operation.summary || ''))), inner);
  details.addEventListener('toggle', () => {
    if (!details.open) return;
    if (!inner.childElementCount) fill(inner, method, path, operation);
    history.replaceState(null, '', `#${id}`);
    mark(id);
  });
  const article = el('article', { class: 'card', id }, details);
  const link = el('a', { href: `#${id}` }, el('span', { class: `verb ${method}` }, method.toUpperCase()), el('span', { class: 'path' }, ...breakable(path.replace(/^\/v1/, ''))));
  const item = el('li', {}, link);
  link.addEventListener('click', () => { details.open = true; document.querySelector('aside').classList.remove('open'); });
  const words = [method, path, operation.summary, operation.description, ...(operation.parameters || []).map((p) => resolve(p).name)].join(' ').toLowerCase();
  routes.push({ id, article, item, details, link, words });
  return { article, item };
}

function mark(id) {
  for (const route of routes) route.link.toggleAttribute('aria-current', route.id === id);
}

function show() {
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths || {})) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = (operation.tags || ['other'])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push([method, path, operation]);
    }
  }
  const rank = (tag) => (ORDER.includes(tag) ? ORDER.indexOf(tag) : ORDER.length);
  const content = $('content'), nav = $('nav');
  content.replaceChildren();
  for (const [tag, list] of [...groups].sort(([a], [b]) => rank(a) - rank(b))) {
    const section = el('section', { class: 'group', 'aria-label': tag }, el('h2', {}, tag));
    const items = el('ul', {});
    for (const [method, path, operation] of list) {
      const { article, item } = routeView(method, path, operation);
      section.append(article);
      items.append(item);
    }
    content.append(section);
    nav.append(el('div', {}, el('h2', {}, tag), items));
  }
  content.append(el('p', { class: 'empty', id: 'none', hidden: '' }, 'No route matches.'));
  goTo();
}

function goTo() {
  const route = routes.find(({ id }) => id === location.hash.slice(1));
  if (!route) return;
  route.details.open = true;
  route.article.scrollIntoView();
}

function search() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const route of routes) {
    const fits = words.every((word) => route.words.includes(word));
    route.article.hidden = route.item.hidden = !fits;
    left += fits;
  }
  for (const group of document.querySelectorAll('section.group')) group.hidden = !group.querySelector('article:not([hidden])');
  for (const group of $('nav').children) group.hidden = !group.querySelector('li:not([hidden])');
  const none = $('none');
  if (none) none.hidden = left > 0;
  if (words.length) document.querySelector('aside').classList.add('open');
}

// ---- try it -------------------------------------------------------------------------------------------------------
const PROGRAMS = {
  python: 'import time\n\nfor i in range(5):\n    print("line", i)\n    time.sleep(0.3)\n',
  bash: 'for i in 1 2 3 4 5; do\n  echo "line $i"\n  sleep 0.3\ndone\nls /nowhere\n',
  node: 'let i = 0\nconst timer = setInterval(() => {\n  console.log("line", i++)\n  if (i === 5) clearInterval(timer)\n}, 300)\n',
};
/** The most output that is shown, so that the page stays responsive. */
const SHOWN = 200_000;
const tried = { id: null, seq: 0, shown: 0, running: false };

function print(text, kind) {
  const output = $('output');
  const atEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 100;
  output.append(kind === 'stdout' ? text : el('span', { class: kind }, text));
  tried.shown += text.length;
  while (tried.shown > SHOWN && output.firstChild !== output.lastChild) {
    tried.shown -= output.firstChild.textContent.length;
    output.firstChild.remove();
  }
  if (atEnd) output.scrollTop = output.scrollHeight;
}
function say(...parts) { $('status').replaceChildren(...parts.map(([text, kind]) => el('span', { class: kind || '' }, text))); }

function take(event) {
  if (event.type === 'started') { tried.id = event.execution_id; say(['running'], [event.execution_id]); }
  if (event.seq) tried.seq = event.seq;
  if (['stdout', 'stderr', 'output'].includes(event.type)) {
    const text = event.text ?? `[${atob(event.base64).length} bytes of binary data]\n`;
    print(text, event.type === 'stderr' ? 'stderr' : event.text === undefined ? 'note' : 'stdout');
  }
  if (event.type === 'gap') print(`[${event.to_byte - event.from_byte} bytes are no longer kept]\n`, 'note');
  if (event.type === 'exited') {
    const good = event.reason === 'exited' && event.code === 0;
    const how = event.reason === 'exited' ? `exited with ${event.code}` : [event.reason.replace('_', ' '), event.message].filter(Boolean).join(': ');
    say([how, good ? 'good' : 'bad'], [`${event.duration_ms} ms`], [`${Math.round(event.usage.max_rss_bytes / 1e5) / 10} MB`], [tried.id || '']);
  }
  return event.type === 'closed';
}

/** Reads server-sent events; returns true after the last one. */
async function read(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return false;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data && !block.includes('event: reconnect') && take(JSON.parse(data.slice(6)))) return true;
    }
  }
}

async function run() {
  if (tried.running) return;
  Object.assign(tried, { id: null, seq: 0, shown: 0, running: true });
  $('output').replaceChildren();
  $('run').disabled = true;
  $('stop').disabled = false;
  say(['starting']);
  try {
    let response = await fetch('/v1/executions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify({ language: $('language').value, code: $('code').value, timeout_ms: 60_000, children: 'kill' }),
    });
    for (let tries = 0; tries < 20; tries++) {
      if (!response.ok) {
        const { error } = await response.json();
        say([error.message, 'bad'], [error.hint]);
        return;
      }
      if (await read(response).catch(() => false)) return;
      if (!tried.id) break;
      // The connection is lost, but the program keeps running: resume after the last event.
      await new Promise((done) => setTimeout(done, 500));
      const again = await fetch(`/v1/executions/${tried.id}/events?after=${tried.seq}`).catch(() => null);
      if (again) response = again;
    }
    say(['connection lost', 'bad']);
  } catch (error) {
    say([String(error), 'bad']);
  } finally {
    tried.running = false;
    $('run').disabled = false;
    $('stop').disabled = true;
  }
}
const stop = () => tried.id && fetch(`/v1/executions/${tried.id}/cancel`, { method: 'POST' });

async function languages() {
  const response = await fetch('/v1/languages');
  const found = response.ok ? (await response.json()).languages.map(({ name }) => name) : ['python'];
  const first = found.includes('python') ? 'python' : found[0];
  $('language').append(...found.map((name) => el('option', { value: name, selected: name === first ? '' : undefined }, name)));
  $('code').value = PROGRAMS[first] || '';
  $('language').addEventListener('change', () => {
    const known = Object.values(PROGRAMS).includes($('code').value) || !$('code').value.trim();
    if (known) $('code').value = PROGRAMS[$('language').value] || '';
  });
}

// ---- begin --------------------------------------------------------------------------------------------------------
function theme(next) {
  if (next) document.documentElement.dataset.theme = next;
}
try { theme(localStorage.getItem('headwater-theme')); } catch { /* no storage: the system's choice stays */ }
$('theme').addEventListener('click', () => {
  const now = document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const next = now === 'dark' ? 'light' : 'dark';
  theme(next);
  try { localStorage.setItem('headwater-theme', next); } catch { /* kept only while the page is open */ }
});
$('open-nav').addEventListener('click', () => {
  const open = document.querySelector('aside').classList.toggle('open');
  $('open-nav').setAttribute('aria-expanded', open);
});
$('search').addEventListener('input', search);
$('run').addEventListener('click', run);
$('stop').addEventListener('click', stop);
$('code').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
addEventListener('hashchange', goTo);
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
  event.preventDefault();
  $('search').focus();
});
(async () => {
  languages();
  try {
    const response = await fetch('/openapi.json');
    if (!response.ok) throw new Error(`/openapi.json returned ${response.status}`);
    api = await response.json();
    $('version').textContent = (api.info || {}).version || '';
    show();
  } catch (error) {
    $('content').replaceChildren(el('p', { class: 'empty' }, String(error)));
  }
})();
