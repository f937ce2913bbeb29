// What is known of the user: what is to be done, who is around them, facts, and sessions. All of it is computed when asked for.

import * as api from './api.js';
import { dayOf, empty, failed, fill, h, loading, plural, problem, toast, when } from './dom.js';
import { isLeaving, onLeaving, place } from './state.js';


const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayIn = (date) => DAY.format(new Date(`${date}T00:00:00Z`));

/** The view; gives back what ends it. */
export function whatIsKnown(main) {
  const [todo, people, facts, talks] = ['To do', 'People and projects', 'Facts', 'Sessions'].map(part);
  fill(main, h('section', { class: 'column wide known' },
    h('h1', {}, 'What is known'),
    h('p', { class: 'quiet' }, 'Read off your memories: what you forget is gone from here as well.'),
    [todo, people, facts, talks].map((one) => one.section)));
  const loops = () => show(todo, () => api.loops({ space: place.space }), (reply) => todos(reply, loops));
  const names = () => Promise.all([
    show(facts, () => api.profile({ space: place.space }), (reply) => profile(reply, names)),
    show(people, () => api.cards({ space: place.space }), (reply) => cards(reply, names)),
  ]);
  const again = () => { loops(); names(); };
  again();
  show(talks, () => api.sessions({ space: place.space }), sessions);
  return { end: onLeaving(again) };
}

function part(title) {
  const body = h('div', {}, loading(2));
  return { title, body, section: h('section', { class: 'part', 'aria-label': title, tabindex: '-1' }, h('h2', {}, title), body) };
}

async function show(where, ask, words) {
  try {
    const made = words(await ask());
    const focused = where.body.contains(document.activeElement) && document.activeElement.getAttribute('aria-label');
    fill(where.body, ...made);
    if (focused) (where.body.querySelector(`[aria-label="${CSS.escape(focused)}"]`) ?? where.section).focus();
  } catch (error) {
    fill(where.body, problem(error, () => show(where, ask, words)));
  }
}

const nothing = (words) => [h('p', { class: 'quiet' }, words)];
const source = (id) => h('a', { href: `#/memory/${id}`, 'aria-label': `Memory ${id.slice(0, 8)}` }, h('code', {}, id.slice(0, 8)));
const row = (words, meta, ...buttons) => h('li', {}, h('div', {}, h('p', { dir: 'auto' }, words), h('p', { class: 'meta' }, meta)), buttons.length > 0 && h('div', { class: 'row' }, buttons));

function button(label, about, act, after) {
  const onclick = async (event) => {
    const section = event.target.closest('section');
    try { await act(); } catch (error) { failed(error); }
    await after();
    (section.querySelector('button') ?? section).focus();
  };
  return h('button', { type: 'button', 'aria-label': `${label}: ${about}`, onclick }, label);
}

const areLeaving = (ids) => ids.length > 0 && ids.every(isLeaving);

/** Settle what was to be done; for a while that can be taken back. */
async function settle(one, state, again) {
  const { loop } = await api.settle({ id: one.id, state });
  const undo = () => api.settle({ id: one.id, state: one.decided ? one.state : null }).catch(failed).then(again);
  toast(loop.state === 'done' ? 'Done.' : 'Dropped.', { action: 'Undo', onaction: undo });
}

function todos(reply, again) {
  const left = reply.items.filter((one) => !isLeaving(one.entry_id));
  if (!left.length) return nothing('Nothing that you still have to do.');
  const decide = (one, state, label) => button(label, one.text, () => settle(one, state, again), again);
  return [h('ul', { class: 'log' }, left.map((one) => row(one.text, [
    one.due_on && h('span', {}, `${one.overdue ? 'was due' : 'due'} ${dayIn(one.due_on)}`),
    h('span', {}, `${one.role === 'assistant' ? 'the assistant said so' : 'said'} ${dayOf(one.said_at)}`), one.persona_id && h('span', {}, one.persona_id), source(one.entry_id),
  ], decide(one, 'done', 'Done'), decide(one, 'dropped', 'Drop')))),
  reply.total_count > reply.items.length && h('p', { class: 'quiet' }, `and ${reply.total_count - reply.items.length} more`)];
}

function cards(reply, again) {
  const decide = (pair, same, label) => button(label, `${pair.one} and ${pair.other}`, () => api.decideNames({ one: pair.one, other: pair.other, same }), again);
  const left = reply.items.filter((card) => !areLeaving(card.facts.flatMap((fact) => fact.source_ids)));
  const known = left.map((card) => row(
    card.names.length > 1 ? `${card.label} (also ${card.names.slice(1).join(', ')})` : card.label,
    card.facts.filter((fact) => !areLeaving(fact.source_ids)).map((fact) => h('span', { dir: 'auto' }, fact.text, ' ', source(fact.source_ids[0])))));
  const likely = reply.likely.map((pair) => row(`Are ${pair.one} and ${pair.other} one person?`, [], decide(pair, true, 'One person'), decide(pair, false, 'Two people')));
  const decided = reply.decided.map((pair) => row(`${pair.one} and ${pair.other} are ${pair.same ? 'one person' : 'two people'}`, [h('span', {}, 'as you decided')], decide(pair, null, 'Leave it open')));
  if (!known.length && !likely.length && !decided.length) return nothing('Nobody yet.');
  return [h('ul', { class: 'log' }, known, likely, decided)];
}

/** Say whether a fact is so; for a while that can be taken back. */
async function decideFact(fact, isSo, again) {
  const { id } = await api.decideFact({ id: fact.id, is_so: isSo });
  const undo = () => api.decideFact({ id, is_so: fact.decided || null }).catch(failed).then(again);
  toast(isSo ? 'Kept as so.' : 'Not so: it is told no more.', { action: 'Undo', onaction: undo });
}

function profile(reply, again) {
  const left = reply.facts.filter((fact) => !areLeaving(fact.source_ids));
  if (!left.length) return nothing('No facts yet.');
  const decide = (fact, isSo, label) => button(label, claimOf(fact), () => decideFact(fact, isSo, again), again);
  const sinceOf = (fact) => h('span', {}, fact.until ? `until ${dayOf(fact.until)}` : `since ${dayOf(fact.since)}`);
  const asked = left.filter((fact) => fact.is_likely).map((fact) => row(claimOf(fact), [
    h('span', { dir: 'auto' }, `“${fact.text}”`), sinceOf(fact), source(fact.source_ids[0]),
  ], decide(fact, true, 'Yes'), decide(fact, false, 'No')));
  const told = left.filter((fact) => !fact.is_likely).map((fact) => row(claimOf(fact), [
    h('span', { dir: 'auto' }, `“${fact.text}”`), sinceOf(fact), fact.decided && h('span', {}, 'as you said'), fact.in_conflict && h('span', {}, 'in conflict'),
    fact.before.length > 0 && h('span', { dir: 'auto' }, `before: ${fact.before[0].text}`), source(fact.source_ids[0]),
  ], ...(fact.id ? [decide(fact, false, 'Not so')] : [])));
  return [
    asked.length > 0 && h('div', { class: 'asked', role: 'group', 'aria-labelledby': 'asked' }, h('h3', { id: 'asked' }, 'Is this so?'), h('ul', { class: 'log' }, asked)),
    told.length > 0 && h('ul', { class: 'log' }, told)];
}

/** What a fact says, in short: “Clara, home: Oslo”. */
function claimOf(fact) {
  const slot = fact.memory_key.split('|').at(-1).replaceAll('_', ' ');
  return `${fact.entity_label === 'me' ? '' : `${fact.entity_label}, `}${slot}: ${fact.value}`;
}

function sessions(reply) {
  if (!reply.items.length) return nothing('No sessions yet.');
  const list = h('ul', { class: 'log' });
  const older = h('button', { type: 'button', class: 'more', onclick: () => more(older, list) }, 'Show older');
  add(list, older, reply);
  return [list, older, reply.next_cursor && h('p', { class: 'quiet' }, `${plural(reply.total_count, 'session')} in all`)];
}

function add(list, older, { items, next_cursor: cursor }) {
  list.append(...items.map((one) => h('li', {}, summedUp(one))));
  older.hidden = !cursor;
  older.value = cursor ?? '';
}

async function more(older, list) {
  const before = list.childElementCount;
  older.disabled = true;
  try {
    add(list, older, await api.sessions({ space: place.space, cursor: older.value }));
    list.children[before]?.querySelector('summary').focus();
  } catch (error) { failed(error); }
  older.disabled = false;
}

function summedUp(session) {
  const body = h('div', {});
  const ontoggle = async (event) => {
    if (!event.target.open || body.childElementCount) return;
    fill(body, loading(1));
    try {
      fill(body, ...summary((await api.session(session.id, { space: place.space })).summary));
    } catch (error) { fill(body, problem(error)); }
  };
  return h('details', { ontoggle }, h('summary', {}, `${when(session.started_at)}, ${plural(session.turn_count, 'turn')}`), body);
}

function summary(made) {
  const lines = [['What mattered', made.what_mattered], ['Still to do', made.open_loops], ['People', made.people]].filter(([, found]) => found.length);
  if (!lines.length) return [empty('Nothing that mattered', 'Small talk, or too little of it.')];
  return lines.map(([title, found]) => h('div', {}, h('p', { class: 'quiet' }, title), h('ul', {}, found.map((one) => h('li', { dir: 'auto' }, one.text, ' ', source(one.source_ids[0]))))));
}
