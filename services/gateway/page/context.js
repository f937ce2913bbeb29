// What an assistant would be told for a question: the block of memories that goes into its prompt.

import * as api from './api.js';
import { empty, fill, h, loading, number, plural, problem } from './dom.js';
import { known, place } from './state.js';
import { why } from './why.js';

/** The view; gives back what ends it. */
export function context(main) {
  const query = h('input', { id: 'question', type: 'search', required: true, placeholder: 'Which package manager do I prefer?', maxlength: '2000' });
  const budget = h('input', { id: 'budget', type: 'number', min: '50', max: '100000', step: '50', value: '1000', inputmode: 'numeric' });
  const space = h('select', { id: 'ask-space' }, [...known.spaces].map((name) => h('option', { value: name, selected: name === place.space }, name)));
  const out = h('div', { class: 'told', 'aria-live': 'polite' },
    empty('What would it be told?', 'Ask as you would ask an assistant. You see the very words that memorybus would add to its prompt, and why.'));

  async function ask(event) {
    event.preventDefault();
    fill(out, loading(4));
    const asked = { query: query.value, token_budget: Number(budget.value), space: space.value, explain: true };
    try {
      fill(out, ...told(await api.search(asked), asked));
    } catch (error) {
      fill(out, problem(error, () => ask(event)));
    }
  }

  fill(main, h('section', { class: 'column wide' },
    h('h1', {}, 'Assistant’s view'),
    h('form', { class: 'question', onsubmit: ask },
      h('div', { class: 'grow' }, h('label', { for: 'question' }, 'Question'), query),
      h('div', {}, h('label', { for: 'ask-space' }, 'Space'), space),
      h('div', {}, h('label', { for: 'budget' }, 'Token budget'), budget),
      h('button', { type: 'submit', class: 'primary' }, 'Show')),
    out));
  query.focus();
  return { search: () => query.focus(), end: () => {} };
}

function told(reply, asked) {
  if (!reply.context) return [empty('Nothing would be told', reason(reply))];
  const share = h('progress', { max: asked.token_budget, value: reply.token_count, 'aria-label': 'Tokens used of the budget' });
  return [
    h('div', { class: 'budget' }, share,
      h('p', {}, `${plural(reply.token_count, 'token')} of ${number(asked.token_budget)} · ${reply.items.length} of ${plural(reply.total_count, 'candidate')}`
        + ` · ${number(Math.round(reply.retrieval_ms))} ms${reply.truncated ? ' · shortened' : ''}`)),
    api.limit.questions > 0 && h('p', { class: 'quiet' }, limited().trim()),
    reply.degraded.length > 0 && h('p', { class: 'warning' }, `Answered without: ${reply.degraded.join(', ')}`),
    h('pre', { tabindex: '0', 'aria-label': 'Context block', dir: 'auto' }, reply.context),
    h('h2', {}, 'Why these'),
    h('ol', { class: 'reasons' }, reply.items.map((item) => h('li', {}, h('details', {},
      h('summary', { dir: 'auto' }, item.snippet), h('div', { class: 'why' }, ...why(item)))))),
  ].filter(Boolean);
}

function limited() {
  return api.limit.questions ? ` This key is a tool’s, with ${api.limit.questions} questions a minute; “memorybus keys create” makes one for a person.` : '';
}

function reason(reply) {
  if (reply.degraded.includes('incognito')) return 'This conversation is incognito: nothing is looked up for it.';
  if (reply.degraded.includes('disabled')) return 'Memory is turned off for this space.';
  if (reply.degraded.includes('rate_limited')) return `Too many questions within a minute: wait a little.${limited()}`;
  return 'No memory is relevant enough, or none fits the budget.';
}
