// What a user said that cannot all be true, or that they may not want kept, as questions to them.

import * as api from './api.js';
import { keep } from './aside.js';
import { failed, fill, h, plural, toast, when } from './dom.js';

const KEPT = { keep: 'Keep it', forget: 'Forget it now' };
const SIDES = { new: 'The newer one', old: 'The older one', both: 'Both' };
const LATEST = 100; // of what is archived: what is set aside was mostly said just now, and is forgotten a day later
const CALM = 600; // ms before a new question takes an answer: a second press was meant for the one before

/** Ask about the first thing there is to ask, in this element; `settled` is called after each decision. */
export async function askConflicts(card, space, settled) {
  let asked;
  try {
    asked = await Promise.all([unwanted(space), api.conflicts({ space, limit: 20 }).then((reply) => reply.items)]);
  } catch { // the memories themselves say what is wrong
    return fill(card);
  }
  const [first, ...others] = asked.flat();
  return first ? fill(card, question(first, others.length)) : fill(card);

  async function decide(one, answer) {
    try {
      await (one.newer ? resolved(one, answer) : kept(one, answer));
    } catch (error) { failed(error); }
    settled();
    await askConflicts(card, space, settled);
    (card.querySelector('section') ?? document.getElementById('search'))?.focus();
  }

  async function resolved({ newer, older }, keep) {
    await api.resolve({ newer: newer.id, older: older.id, keep });
    const undo = { action: 'Undo', onaction: () => decide({ newer, older }, 'open') };
    if (keep !== 'open') toast(`Kept: ${SIDES[keep].toLowerCase()}.`, undo);
  }

  /** With what answered it, which was set aside in the same moment. */
  async function kept({ withAnswers }, answer) {
    await Promise.all(withAnswers.map((one) => (answer === 'keep' ? keep(one) : api.forget(one.id))));
    toast(answer === 'keep' ? 'Kept.' : 'Forgotten.');
  }

  function question(one, left) {
    const drawn = performance.now();
    let answered = false;
    const settle = (answer) => {
      if (answered || performance.now() - drawn < CALM) return;
      answered = true;
      decide(one, answer);
    };
    const said = (of, note) => h('li', {}, h('span', { dir: 'auto' }, of.text), h('span', { class: 'meta' }, note));
    const hint = (words) => h('span', { class: 'quiet' }, words);
    const [ask, statements, answers] = one.newer
      ? [['Which one is true now? ', hint('The other one is kept aside, with all that it says.')],
        [said(one.newer, `Newer, ${when(one.newer.said_at)}`), said(one.older, `Older, ${when(one.older.said_at)}`)], SIDES]
      : [['Is this to be forgotten? ', hint(`You seem not to want it kept. It is out of use, and forgotten on ${when(one.expires_at)}.`)],
        one.withAnswers.map((of) => said(of, `${of.role}, ${when(of.last_said_at)}`)), KEPT];
    return h('section', { class: 'card', 'aria-label': 'A question about what you said', tabindex: '-1' },
      h('p', {}, ask),
      h('ul', { tabindex: '0', 'aria-label': 'What you said' }, statements),
      h('div', { class: 'row' },
        Object.entries(answers).map(([answer, label]) => h('button', { type: 'button', onclick: () => settle(answer) }, label)),
        left > 0 && hint(`and ${plural(left, 'more question')}`)));
  }
}

/** What was taken for something that its user does not want kept, until it is forgotten. */
async function unwanted(space) {
  const { items } = await api.list({ space, status: 'archived', limit: LATEST });
  const asked = items.filter((entry) => entry.expires_at);
  const moments = [...new Set(asked.map((entry) => entry.expires_at))];
  return moments.map((moment) => {
    const together = asked.filter((entry) => entry.expires_at === moment).reverse();
    return { ...together[0], withAnswers: together };
  });
}
