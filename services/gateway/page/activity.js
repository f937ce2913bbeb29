// What was done with this memory, by whom and when. It never tells what was said.

import * as api from './api.js';
import { dayOf, empty, failed, fill, h, loading, number, plural, problem, timeOf } from './dom.js';

const WORDS = {
  pin: 'Pinned a memory', unpin: 'Unpinned a memory', update: 'Changed a memory', create: 'Added a memory', forget: 'Forgot a memory',
  bulk: 'Changed several memories', erase: 'Erased everything', export: 'Exported the memory', retrieve: 'Asked the memory', list: 'Looked for words in the memory',
  settings: 'Changed settings', 'incognito-start': 'Started incognito', 'incognito-end': 'Ended incognito', commands: 'Said a command',
  resolve: 'Settled a conflict', names: 'Decided about two names', decide: 'Said whether something is so', seed: 'Gave what is known from the start', settle: 'Settled what was to be done', 'theme-save': 'Saved a theme', 'theme-remove': 'Removed a theme',
  'roll-up': 'Rolled up a topic', 'roll-up-undo': 'Took back a roll-up',
  'keys.create': 'An operator made an API key', 'keys.revoke': 'An operator revoked an API key', 'dead.show': 'An operator read a dead letter',
  'dead.retry': 'An operator tried a dead letter again', 'dead.drop': 'An operator let a dead letter go',
};

/** The view; gives back what ends it. */
export function activity(main) {
  const body = h('div', {}, loading());
  fill(main, h('section', { class: 'column wide' },
    h('h1', {}, 'Activity'),
    h('p', { class: 'quiet' }, 'Who did what with your memory, and when. What was said or asked is never written here.'),
    body));
  const items = [];

  async function load(cursor) {
    try {
      const reply = await api.audit({ limit: 100, cursor });
      items.push(...reply.items);
      render(reply.next_cursor);
    } catch (error) {
      if (items.length) failed(error);
      else fill(body, problem(error, () => load()));
    }
  }

  function render(cursor) {
    if (!items.length) return fill(body, empty('Nothing yet', 'Pins, corrections, settings and every question asked of this memory are listed here.'));
    const days = new Map();
    for (const item of items) days.set(dayOf(item.at), [...(days.get(dayOf(item.at)) ?? []), item]);
    return fill(body, 
      ...[...days].map(([day, ones]) => h('section', { class: 'day' }, h('h2', {}, day), h('ul', { class: 'log' }, ones.map(row)))),
      cursor ? h('button', { type: 'button', class: 'more', onclick: () => load(cursor) }, 'Show older') : '');
  }

  load();
  return { end: () => {} };
}

function row(item) {
  const verb = item.verb.replace(/^(entries|memory)\./, '');
  return h('li', {},
    h('time', { datetime: item.at }, timeOf(item.at)),
    h('div', {}, h('p', {}, item.outcome === 'ok' ? '' : 'Not done: ', WORDS[verb] ?? item.verb), h('p', { class: 'meta' }, details(item).map((one) => h('span', {}, one)))));
}

function details(item) {
  return [
    item.outcome !== 'ok' && `refused: ${item.outcome.replaceAll('_', ' ')}`,
    item.count !== null && plural(item.count, 'memory', 'memories'),
    item.space && `space ${item.space}`,
    item.latency_ms > 0 && `${number(Math.round(item.latency_ms))} ms`,
    item.credential && `by ${item.credential}`,
    ...item.about.slice(0, 3).map((one) => about(item, one)),
    item.about.length > 3 && `and ${item.about.length - 3} more`,
  ].filter(Boolean);
}

const ENTRY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A memory by the beginning of its id, which leads to it while there is one; or the name of a setting. */
function about(item, name) {
  if (!ENTRY.test(name)) return name.replaceAll('_', ' ');
  const words = h('code', {}, name.slice(0, 8));
  return /forget|erase/.test(item.verb) ? words : h('a', { href: `#/memory/${name}`, 'aria-label': `Memory ${name.slice(0, 8)}` }, words);
}
