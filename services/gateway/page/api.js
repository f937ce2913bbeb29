// The HTTP interface of memorybus, and nothing else: every request of the page passes here.

const BASE = '/v1/memory';

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `The server answered ${status}.`);
    this.status = status;
    this.code = body.code;
  }
}

/** What was chosen in this tab, which no other tab changes; a new one begins with what was chosen last. */
export function chosen(name) {
  if (sessionStorage.getItem(name) === null) sessionStorage.setItem(name, localStorage.getItem(name) ?? '');
  return sessionStorage.getItem(name);
}

export function choose(name, value) {
  for (const kept of [sessionStorage, localStorage]) kept.setItem(name, value);
}

/** Who asks: a name on a memorybus of one's own, an API key where sign-in is on. The key goes with the tab. */
export const identity = {
  get user() { return chosen('memory-user') || 'me'; },
  set user(name) { choose('memory-user', name); },
  get key() { return sessionStorage.getItem('memory-key'); },
  set key(key) { if (key) sessionStorage.setItem('memory-key', key); else sessionStorage.removeItem('memory-key'); },
};

// A header carries bytes; the server reads them as UTF-8.
const latin = (text) => String.fromCharCode(...new TextEncoder().encode(text));

function headers(more = {}) {
  const who = identity.key ? { authorization: `Bearer ${identity.key}` } : { 'memory-user': latin(identity.user) };
  return { accept: 'application/json', ...who, ...more };
}

/** How many questions a minute the key may ask, where it is a tool's; else 0. */
export const limit = { questions: 0 };

export const AWAY = 'memorybus does not answer. Is it running?';

let askForKey = async () => { throw new Error('sign-in is needed'); };
export const onSignIn = (ask) => { askForKey = ask; };

async function send(method, path, { query = {}, body, more = {}, keepalive = false } = {}) {
  const url = new URL(BASE + path, location.origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) url.searchParams.append(name, value);
  }
  const init = { method, keepalive, headers: headers(body === undefined ? more : { 'content-type': 'application/json', ...more }) };
  if (body !== undefined) init.body = JSON.stringify(body);
  const answer = await fetch(url, init).catch(() => {
    throw new Problem(0, { title: AWAY });
  });
  if (answer.status === 401 && !keepalive) {
    await askForKey();
    return send(method, path, { query, body, more, keepalive });
  }
  limit.questions = Number(/^"tool-queries";q=(\d+)/.exec(answer.headers.get('ratelimit-policy') ?? '')?.[1] ?? limit.questions);
  if (answer.ok) return answer;
  const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
  if (problem.code === 'credential_unread' && identity.key) { // kept from when sign-in was on
    identity.key = null;
    location.reload();
  }
  throw problem;
}

async function json(method, path, options) {
  const answer = await send(method, path, options);
  return answer.status === 204 ? null : answer.json();
}

const entryOf = (reply) => reply.entry ?? reply;
const one = (id) => `/entries/${encodeURIComponent(id)}`;

export const list = (query) => json('GET', '/entries', { query });
export const get = async (id) => entryOf(await json('GET', one(id)));
export const add = async (body) => entryOf(await json('POST', '/entries', { body }));
export const change = async (entry, body) =>
  entryOf(await json('PATCH', one(entry.id), { body, more: { 'if-match': `"${entry.version}"` } }));
export const history = (id) => json('GET', `${one(id)}/history`);
export const pin = async (id, pinned) => entryOf(await json(pinned ? 'POST' : 'DELETE', `${one(id)}/pin`));
export const forget = (id, keepalive = false) => json('DELETE', one(id), { keepalive });

const MOST_AT_ONCE = 200;

/** Do the same to entries; how many there are is no matter. */
export async function bulk(ids, action, more = {}, keepalive = false) {
  const parts = Array.from({ length: Math.ceil(ids.length / MOST_AT_ONCE) }, (_, n) => ids.slice(n * MOST_AT_ONCE, (n + 1) * MOST_AT_ONCE));
  const replies = await Promise.all(parts.map((part) => json('POST', '/entries/bulk', { body: { ids: part, action, ...more }, keepalive })));
  return { done: replies.flatMap((reply) => reply.done), failed: replies.flatMap((reply) => reply.failed) };
}

/** Where "yesterday" is read; a browser that does not know names a zone that nobody knows. */
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
export const located = (body) => (zone && zone !== 'Etc/Unknown' ? { ...body, time_zone: zone } : body);
export const search = (body) => json('POST', '/search', { body });
export const command = (body) => json('POST', '/commands', { body });
export const summary = (space) => json('GET', '/summary', { query: { space, persona_id: '*' } });
export const conflicts = (query) => json('GET', '/conflicts', { query });
export const resolve = (body) => json('POST', '/conflicts/resolve', { body });
export const rollUps = (query) => json('GET', '/rollups', { query });
export const undoRollUp = (id) => json('POST', `/rollups/${encodeURIComponent(id)}/undo`);
export const loops = (query) => json('GET', '/loops', { query });
export const settle = (body) => json('POST', '/loops/settle', { body });
export const cards = (query) => json('GET', '/cards', { query });
export const decideNames = (body) => json('POST', '/cards/names', { body });
export const decideFact = (body) => json('POST', '/profile/decide', { body });
export const profile = (query) => json('GET', '/profile', { query });
export const sessions = (query) => json('GET', '/sessions', { query });
export const session = (id, query) => json('GET', `/sessions/${encodeURIComponent(id)}`, { query });
export const themes = () => json('GET', '/themes');
export const themeProposals = () => json('GET', '/themes/proposals');
export const saveTheme = (body) => json('POST', '/themes', { body });
export const removeTheme = (slug) => json('DELETE', '/themes', { query: { slug } });
export const settings = (space) => json('GET', '/settings', { query: { space } });
export const setSettings = (body) => json('POST', '/settings', { body });
export const incognito = (on, body) => json('POST', on ? '/incognito/start' : '/incognito/end', { body });
export const audit = (query) => json('GET', '/audit', { query });
export const status = () => json('GET', '/status');
export const erase = (body = {}) => json('POST', '/erase', { body });
export const exported = async () => (await send('GET', '/export', { more: { accept: 'application/x-ndjson' } })).blob();

/** Server-sent events of the pipeline until the signal ends it. EventSource cannot say who asks; fetch can. */
export async function live(onevent, signal) {
  const answer = await fetch(`${BASE}/live`, { headers: headers({ accept: 'text/event-stream' }), signal });
  if (answer.status === 401) {
    await askForKey();
    return live(onevent, signal);
  }
  if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => ({})));
  let rest = '';
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = event.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).join('');
      if (data) onevent(JSON.parse(data));
    }
  }
  return null;
}
