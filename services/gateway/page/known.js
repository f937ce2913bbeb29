// What is known of the user: what is to be done, who is around them, facts, and sessions. All of it is computed when asked for.

import * as api from './api.js';
import { dayOf, empty, failed, fill, h, loading, plural, problem, when } from './dom.js';
import { place } from './state.js';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayIn = (date) => DAY.format(new Date(`${date}T00:00:00Z`));

/** The view; gives back what ends it. */
export function whatIsKnown(main) {
  const [todo, people, facts, talks] = ['To do', 'People and projects', 'Facts', 'Sessions'].map(part);
  fill(main, h('section', { class: 'column wide known' },
    h('h1', {}, 'What is known'),
    h('p', { class: 'quiet' }, 'Read off your memories by rules, each time anew: what you forget is gone from here as well.'),
    [todo, people, facts, talks].map((one) => one.section)));
  show(todo, () => api.loops({ space: place.space }), (reply) => todos(reply, again));
  show(people, () => api.cards({ space: place.space }), (reply) => cards(reply, again));
  show(facts, () => api.profile({ space: place.space }), profile);
  show(talks, () => api.sessions({ space: place.space }), sessions);

  function again(which) {
    if (which === 'loops') return show(todo, () => api.loops({ space: place.space }), (reply) => todos(reply, again));
    show(facts, () => api.profile({ space: place.space }), profile);
    return show(people, () => api.cards({ space: place.space }), (reply) => cards(reply, again));
  }
  return { end: () => {} };
}

function part(title) {
  const body = h('div', {}, loading(2));
  return { title, body, section: h('section', { class: 'part', 'aria-label': title, tabindex: '-1' }, h('h2', {}, title), body) };
}

async function show(where, ask, words) {
  try {
    fill(where.body, ...words(await ask()));
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

function todos(reply, again) {
  if (!reply.items.length) return nothing('Nothing that you promised or still have to do.');
  const settle = (one, state, label) => button(label, one.text, () => api.settle({ id: one.id, state }), () => again('loops'));
  return [h('ul', { class: 'log' }, reply.items.map((one) => row(one.text, [
    one.due_on && h('span', {}, `${one.overdue ? 'was due' : 'due'} ${dayIn(one.due_on)}`),
    h('span', {}, `${one.role === 'assistant' ? 'the assistant said so' : 'said'} ${dayOf(one.said_at)}`), one.persona_id && h('span', {}, one.persona_id), source(one.entry_id),
  ], settle(one, 'done', 'Done'), settle(one, 'dropped', 'Drop')))),
  reply.total_count > reply.items.length && h('p', { class: 'quiet' }, `and ${reply.total_count - reply.items.length} more`)];
}

function cards(reply, again) {
  const decide = (pair, same, label) => button(label, `${pair.one} and ${pair.other}`, () => api.decideNames({ one: pair.one, other: pair.other, same }), () => again('cards'));
  const known = reply.items.map((card) => row(
    card.names.length > 1 ? `${card.label} (also ${card.names.slice(1).join(', ')})` : card.label,
    card.facts.map((fact) => h('span', { dir: 'auto' }, fact.text, ' ', source(fact.source_ids[0])))));
  const likely = reply.likely.map((pair) => row(`Are ${pair.one} and ${pair.other} one person?`, [], decide(pair, true, 'One person'), decide(pair, false, 'Two people')));
  const decided = reply.decided.map((pair) => row(`${pair.one} and ${pair.other} are ${pair.same ? 'one person' : 'two people'}`, [h('span', {}, 'as you decided')], decide(pair, null, 'Leave it open')));
  if (!known.length && !likely.length && !decided.length) return nothing('Nobody yet.');
  return [h('ul', { class: 'log' }, known, likely, decided)];
}

function profile(reply) {
  if (!reply.facts.length) return nothing('No facts yet.');
  return [h('ul', { class: 'log' }, reply.facts.map((fact) => row(fact.text, [
    h('span', {}, fact.until ? `until ${dayOf(fact.until)}` : `since ${dayOf(fact.since)}`),
    fact.in_conflict && h('span', {}, 'in conflict'),
    fact.before.length > 0 && h('span', { dir: 'auto' }, `before: ${fact.before[0].text}`), source(fact.source_ids[0]),
  ])))];
}

function sessions(reply) {
  if (!reply.items.length) return nothing('No sessions yet.');
  return [h('ul', { class: 'log' }, reply.items.map((one) => h('li', {}, summedUp(one)))),
    reply.total_count > reply.items.length && h('p', { class: 'quiet' }, `${plural(reply.total_count, 'session')} in all`)];
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
