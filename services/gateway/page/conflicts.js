// What a user said that cannot all be true, as questions to them: nothing is decided without them.

import * as api from './api.js';
import { failed, fill, h, plural, toast, when } from './dom.js';

const SIDES = { new: 'The newer one', old: 'The older one', both: 'Both' };
const CALM = 600; // ms before a new question takes an answer: a second press was meant for the one before

/** Ask about the first conflict there is, in this element; `settled` is called after each decision. */
export async function askConflicts(card, space, settled) {
  let reply;
  try {
    reply = await api.conflicts({ space, limit: 20 });
  } catch { // the memories themselves say what is wrong
    return fill(card);
  }
  const [first, ...others] = reply.items;
  return first ? fill(card, question(first, others.length)) : fill(card);

  async function decide({ newer, older }, keep) {
    const undo = { action: 'Undo', onaction: () => decide({ newer, older }, 'open') };
    try {
      await api.resolve({ newer: newer.id, older: older.id, keep });
      if (keep !== 'open') toast(`Kept: ${SIDES[keep].toLowerCase()}.`, undo);
    } catch (error) { failed(error); }
    settled();
    await askConflicts(card, space, settled);
    (card.querySelector('section') ?? document.getElementById('search'))?.focus();
  }

  function question(conflict, left) {
    const drawn = performance.now();
    let answered = false;
    const settle = (keep) => {
      if (answered || performance.now() - drawn < CALM) return;
      answered = true;
      decide(conflict, keep);
    };
    const side = (name, one) => h('li', {}, h('span', { dir: 'auto' }, one.text), h('span', { class: 'meta' }, `${name}, ${when(one.said_at)}`));
    return h('section', { class: 'card', 'aria-label': 'A question about what you said', tabindex: '-1' },
      h('p', {}, 'Which one is true now? ', h('span', { class: 'quiet' }, 'The other one is kept aside, with all that it says.')),
      h('ul', { tabindex: '0', 'aria-label': 'Both statements' }, side('Newer', conflict.newer), side('Older', conflict.older)),
      h('div', { class: 'row' },
        Object.entries(SIDES).map(([keep, label]) => h('button', { type: 'button', onclick: () => settle(keep) }, label)),
        left > 0 && h('span', { class: 'quiet' }, `and ${plural(left, 'more question')}`)));
  }
}
