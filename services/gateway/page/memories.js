// The timeline and the search, with filters; what is open is shown beside the list.

import { TYPES, addDialog } from './add.js';
import * as api from './api.js';
import { askConflicts } from './conflicts.js';
import { dayOf, empty, failed, fill, h, icon, iconButton, loading, number, plural, problem, timeOf, toast } from './dom.js';
import { openEntry } from './entry.js';
import { choice, flag } from './filters.js';
import { selection } from './select.js';
import { failedFor, forgetSoon, isLeaving, known, learn, onLeaving, place } from './state.js';
import { why } from './why.js';

const PAGE = 50;
const FOUND = 40;
const FORGETTING = new Set(['forget', 'forget_about']);
const PATIENCE = 180; // ms without typing before a question is asked

/** The view of all memories; gives back what ends it. */
export function memories(main, id) {
  const filters = { type: '', theme: '', tag: '', pinned: false, manually_saved: false };
  const state = { entries: [], scores: new Map(), cursor: null, total: 0, query: '', busy: true, error: null, reply: null, off: [] };
  let turn = 0;
  let opened = id;
  let answered = null; // what the card answers, and what closes it

  const field = h('input', {
    type: 'search', id: 'search', placeholder: 'Search, or say “forget …”', autocomplete: 'off',
    'aria-label': 'Search memories', 'aria-keyshortcuts': '/', enterkeyhint: 'search', maxlength: '2000',
  });
  const chips = h('div', {
    class: 'chips', role: 'group', 'aria-label': 'Filters',
    onfocusin: (event) => event.target.scrollIntoView({ block: 'nearest', inline: 'nearest' }),  // a phone shows a part of them
  });
  const notice = h('p', { class: 'count', role: 'status' });
  const card = h('div', { class: 'answer' });
  const questions = h('div', { class: 'answer' });
  const chosen = selection({ shown, render, change });
  const body = h('div', { class: 'timeline' });
  const detail = h('section', { class: 'detail', id: 'detail', 'aria-label': 'Memory', hidden: true });
  fill(main, h('div', { class: 'split' },
    h('section', { class: 'column', 'aria-label': 'Memories' },
      h('h1', { class: 'hidden' }, 'Memories'),
      h('form', { class: 'ask', role: 'search', onsubmit: submit },
        h('div', { class: 'field' }, icon('search'), field),
        h('button', { type: 'button', class: 'primary', id: 'add', onclick: () => addDialog(added), 'aria-keyshortcuts': 'n' },
          icon('plus'), 'Add')),
      chips, card, questions, h('div', { class: 'over' }, notice, chosen.button), body, chosen.panel),
    detail));

  let timer;
  field.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(load, PATIENCE); });

  async function submit(event) {
    event.preventDefault();
    clearTimeout(timer);
    const text = field.value.trim();
    if (!text) return load();
    try {
      const answer = await answerTo(text);
      if (answer.understood && answer.verb !== 'recall') return showAnswer(text, answer);
    } catch (error) {
      if (error.status !== 404 && error.status !== 405) return failed(error);
    }
    return load();
  }

  /** What a command would do in the space that is looked at; to forget is meant for all that are. */
  const answerTo = (text) => api.command(api.located({ text, space: place.space || 'default', spaces: place.space ? [place.space] : undefined }));

  function showAnswer(text, answer) {
    learn(answer.items);
    const close = () => { field.value = ''; field.focus(); load(); };
    const confirm = async () => {
      if (FORGETTING.has(answer.verb)) {
        forgetSoon(answer.items);
        field.value = '';
        await load();
        return focusOn(0);  // not on the field: "u" is to undo it
      }
      try {
        const done = await api.command(api.located({ text, space: place.space || 'default', confirm: answer.token }));
        toast(done.reply);
        return close();
      } catch (error) { return failed(error); }
    };
    answered = { text, close };
    fill(card, h('section', { class: 'card', 'aria-label': 'Answer' },
      h('p', { role: 'status' }, answer.reply),
      answer.items.length > 0 && h('ul', { tabindex: '0', 'aria-label': 'Memories meant' }, answer.items.map((entry) => h('li', { dir: 'auto' }, entry.text))),
      h('div', { class: 'row' },
        answer.needs_confirmation && h('button', { type: 'button', class: 'danger', onclick: confirm }, 'Confirm'),
        h('button', { type: 'button', onclick: close }, answer.needs_confirmation ? 'Keep' : 'Close'))));
    card.querySelector('button:last-child').focus();
  }

  async function load() {
    const mine = ++turn;
    const query = field.value.trim();
    if (answered && answered.text !== query) { answered = null; fill(card); }
    Object.assign(state, { query, error: null });
    state.busy = true;
    const slow = setTimeout(() => { if (mine === turn && !state.entries.length) render(); }, 120);
    try {
      const found = query ? await searchFor(query) : await pageOf(null);
      if (mine !== turn) return;
      Object.assign(state, found);
    } catch (error) {
      if (mine !== turn) return;
      state.error = error;
    }
    clearTimeout(slow);
    state.busy = false;
    learn(state.entries);
    render();
  }

  async function pageOf(cursor) {
    const reply = await api.list({ ...filters, space: place.space, limit: PAGE, cursor });
    return { entries: reply.items, cursor: reply.next_cursor, total: reply.total_count, scores: new Map(), reply: null, off: [] };
  }

  async function searchFor(query) {
    const spaces = place.space ? [place.space] : [...known.spaces];
    const asked = {
      query, limit: FOUND, token_budget: 100_000, explain: true, persona_id: '*', theme: filters.theme || null,
      types: filters.type ? [filters.type] : null, tags: filters.tag ? [filters.tag] : null,
    };
    const replies = await Promise.all(spaces.map((space) => api.search(api.located({ ...asked, space }))));
    const items = replies.flatMap((reply) => reply.items).sort((a, b) => b.scores.total - a.scores.total);
    const left = items.filter((item) => (!filters.pinned || item.pinned));
    return {
      entries: left, cursor: null, total: left.length, reply: replies[0],
      off: spaces.filter((_, n) => replies[n].degraded.includes('disabled')),
      scores: new Map(left.map((item) => [item.id, item])),
    };
  }

  async function more() {
    const mine = turn;
    const before = shown().length;
    state.busy = true;
    try {
      const next = await pageOf(state.cursor);
      if (mine !== turn) return;
      Object.assign(state, { cursor: next.cursor, entries: [...state.entries, ...next.entries] });
      learn(next.entries);
    } catch (error) {
      if (mine !== turn) return;
      if (before) failed(error);
      else state.error = error;
    }
    state.busy = false;
    const pressed = document.activeElement?.dataset.focus === 'more';
    render();
    if (pressed) focusOn(before);
  }

  const rowOf = (entry) => [...body.querySelectorAll('a.text')].findIndex((row) => row.dataset.id === entry.id);

  function focusOn(at) {
    const rows = body.querySelectorAll('a.text');
    (rows[Math.min(at, rows.length - 1)] ?? main).focus();
  }

  function render() {
    keepFocus(() => {
      renderChips();
      body.setAttribute('aria-busy', String(state.busy));
      fill(body, ...content());
      chosen.draw();
    });
  }

  function keepFocus(draw) {
    const focused = document.activeElement?.dataset?.focus;
    draw();
    if (focused) main.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  function shown() {
    return state.error ? [] : state.entries.filter((entry) => !isLeaving(entry.id));
  }

  function content() {
    const left = shown();
    notice.textContent = '';
    if (state.error) return [problem(state.error, load)];
    if (state.busy && !left.length) return [loading()];
    if (!left.length && state.cursor) { // all that was loaded is being forgotten
      more();
      return [loading()];
    }
    if (!left.length) return [nothing()];
    fill(notice, ...told(left, state.entries.length - left.length));
    const listed = state.query ? [h('ul', { class: 'list' }, left.map(row))] : days(left);
    if (state.cursor) listed.push(h('button', { type: 'button', class: 'more', 'data-focus': 'more', onclick: () => state.busy || more() }, 'Show older'));
    return listed;
  }

  function told(left, hidden) {
    if (!state.query) return [plural(state.total - hidden, 'memory', 'memories')];
    const { retrieval_ms: took = 0, explanation } = state.reply ?? {};
    const words = [`${plural(left.length, 'memory', 'memories')} found in ${number(Math.round(took))} ms`];
    for (const [typed, meant] of Object.entries(explanation?.corrections ?? {})) words.push(` · “${typed}” read as “${meant}”`);
    const degraded = (state.reply?.degraded ?? []).filter((name) => name !== 'disabled');
    if (degraded.length) words.push(` · without: ${degraded.join(', ')}`);
    if (state.off.length) words.push(` · memory is off in ${state.off.join(', ')}`);
    return words;
  }

  function memoryIsOff() {
    return empty('Memory is off', `Nothing is looked up in ${state.off.join(', ')}, and nothing new is kept. What there is stays. `,
      h('a', { href: '#/settings' }, 'Turn it on in the settings'), '.');
  }

  function nothing() {
    if (state.off.length) return memoryIsOff();
    if (state.query) return empty('Nothing found', 'No memory here answers that. Try other words, or fewer filters.');
    if (isFiltered()) return empty('Nothing here', 'No memory fits these filters.');
    return h('div', { class: 'empty' },
      h('h2', {}, 'Nothing is remembered yet'),
      h('p', {}, 'What you tell an assistant that uses memorybus appears here. You can also begin yourself.'),
      h('button', { type: 'button', class: 'primary', onclick: () => addDialog(added) }, 'Add the first memory'));
  }

  const isFiltered = () => Object.values(filters).some(Boolean) || place.space;

  function days(left) {
    const groups = new Map();
    for (const entry of left) {
      const day = dayOf(entry.last_said_at);
      groups.set(day, [...(groups.get(day) ?? []), entry]);
    }
    return [...groups].map(([day, entries]) => h('section', { class: 'day' }, h('h2', {}, day), h('ul', { class: 'list' }, entries.map(row))));
  }

  function row(entry) {
    const found = state.scores.get(entry.id);
    const explained = h('div', { class: 'why', id: `why-${entry.id}`, hidden: true });
    const named = (does) => ({ 'aria-label': `${does}: ${entry.text.slice(0, 60)}` });
    const toggle = found && h('button', {
      type: 'button', class: 'link', ...named('Why this?'), 'aria-expanded': 'false', 'aria-controls': `why-${entry.id}`,
      onclick: () => {
        explained.hidden = !explained.hidden;
        toggle.setAttribute('aria-expanded', String(!explained.hidden));
        if (!explained.hidden && !explained.hasChildNodes()) explained.append(...why(found));
      },
    }, 'Why this?');
    return h('li', { class: entry.pinned ? 'memory pinned' : 'memory' },
      h('div', { class: 'line' },
        chosen.box(entry),
        h('a', { class: 'text', dir: 'auto', onclick: (event) => choose(event, entry), href: `#/memory/${encodeURIComponent(entry.id)}`, 'data-focus': entry.id, 'data-id': entry.id,
          'aria-current': entry.id === opened ? 'true' : null },
          found?.snippet && found.text.length > 400 ? found.snippet : entry.text),
        h('div', { class: 'actions' },
          iconButton('trash', 'Forget', () => forget(entry), named('Forget')),
          iconButton('pin', entry.pinned ? 'Unpin' : 'Pin', () => togglePin(entry), {
            ...named(entry.pinned ? 'Unpin' : 'Pin'), 'aria-pressed': String(entry.pinned), 'data-focus': `pin-${entry.id}` }))),
      h('p', { class: 'meta' }, ...meta(entry, Boolean(state.query)), toggle),
      explained);
  }

  function choose(event, entry) {
    if (!chosen.isOn()) return;
    event.preventDefault();
    chosen.flip(entry);
  }

  async function togglePin(entry) {
    try {
      change([await api.pin(entry.id, !entry.pinned)]);
    } catch (error) {
      const at = rowOf(entry);
      failedFor(entry, error);
      if (isLeaving(entry.id)) focusOn(at);
    }
  }

  function change(entries) {
    const changed = new Map(entries.map((entry) => [entry.id, entry]));
    state.entries = state.entries.map((entry) => ({ ...entry, ...changed.get(entry.id) }));
    learn(entries);
    render();
  }

  function forget(entry) {
    const at = rowOf(entry);
    forgetSoon([entry]);
    focusOn(at);
  }

  async function added(entry) {
    if (!state.query && !state.entries.some((one) => one.id === entry.id)) {
      state.entries = [entry, ...state.entries];
      state.total += 1;
    }
    learn([entry]);
    render();
    body.querySelector(`[data-id="${CSS.escape(entry.id)}"]`)?.focus();
    for (let tries = 0; tries < 20 && entry.embedding_state === 'pending'; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 400));
      entry = await api.get(entry.id).catch(() => ({ embedding_state: 'error' }));
    }
    if (entry.id) change([entry]);
  }

  function renderChips() {
    chips.hidden = !state.busy && !state.error && !state.entries.length && !state.query && !isFiltered();
    const set = (name) => (value) => { filters[name] = value; load(); };
    fill(chips,
      choice('Space', place.space, [...known.spaces], (value) => { place.space = value; load(); askConflicts(questions, value, load); }, 'All spaces'),
      choice('Type', filters.type, TYPES, set('type'), 'Any type'),
      choice('Theme', filters.theme, [...known.themes], set('theme'), 'Any theme'),
      choice('Tag', filters.tag, [...known.tags].sort(), set('tag'), 'Any tag'),
      flag('Pinned', 'pinned', filters.pinned, set('pinned')),
      !state.query && flag('Saved', 'manually_saved', filters.manually_saved, set('manually_saved')));
  }

  async function open(id) {
    await openEntry(detail, id, {
      onchange: (entry) => change([entry]),
      onforget: (entry) => { location.hash = '#/'; moveTo(); forget(entry); },
      onclose: () => { location.hash = '#/'; },
      onlisted: load,
      onundone: () => { location.hash = '#/'; load(); },
    });
    mark(id);
  }

  function mark(id) {
    for (const link of body.querySelectorAll('a.text')) {
      if (link.dataset.id === id) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }

  function moveTo(id) {
    opened = id;
    detail.hidden = !id;
    document.body.classList.toggle('has-detail', Boolean(id));
    const covers = Boolean(id) && matchMedia('(max-width: 62rem)').matches;
    document.querySelector('.column').inert = covers;
    document.querySelector('.bar').inert = covers;
    if (id) return open(id);
    const last = body.querySelector('a.text[aria-current]');
    last?.removeAttribute('aria-current');
    last?.focus();
    return null;
  }

  const stop = onLeaving(render);
  api.themes().then((reply) => {
    reply.items.forEach((theme) => known.themes.set(theme.slug, theme.display_name));
    keepFocus(renderChips);
  }).catch(() => {});
  renderChips();
  load();
  askConflicts(questions, place.space, load);
  moveTo(id);
  return {
    moveTo,
    search: () => field.focus(),
    add: () => addDialog(added),
    current: () => {
      const id = document.activeElement?.closest('.memory')?.querySelector('a.text').dataset.id;
      return state.entries.find((entry) => entry.id === id);
    },
    pin: togglePin,
    forget,
    select: chosen.flip,
    escape: () => (chosen.isOn() ? (chosen.end(), true) : answered && (answered.close(), true)),
    end: () => { stop(); clearTimeout(timer); document.body.classList.remove('has-detail'); document.querySelector('.bar').inert = false; },
  };
}

/** What is said below a text: what kind it is, who said it and when. */
export function meta(entry, dated) {
  const words = [entry.type === 'other' ? '' : entry.type, entry.role === 'user' ? entry.speaker : entry.speaker ?? entry.role];
  const at = dated ? `${dayOf(entry.last_said_at)}, ${timeOf(entry.last_said_at)}` : timeOf(entry.last_said_at);
  if (entry.repeat_count) words.push(`said ${entry.repeat_count + 1} times`);
  if (!place.space && entry.space !== 'default') words.push(`in space ${entry.space}`);
  const state = { pending: 'not yet found by meaning', error: 'not found by meaning' }[entry.embedding_state];
  return [
    h('time', { datetime: entry.last_said_at }, at),
    ...words.filter(Boolean).map((word) => h('span', {}, word)),
    ...entry.tags.slice(0, 4).map((tag) => h('span', { class: 'tag' }, tag)),
    state && h('span', { class: `state ${entry.embedding_state}` }, state),
  ];
}
