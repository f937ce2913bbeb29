// Why an entry was found: its scores, which of the two searches found it, and every feature behind them, drawn.

import { bar, h, score } from './dom.js';

const LEGS = [
  ['words', 'lexical', 'lexical_rank', 'its words'],
  ['meaning', 'semantic', 'semantic_rank', 'its meaning'],
];
const NAMES = {
  rrf: ['Both orders fused', 30],
  coverage: ['Share of the question found', 1],
  cosine: ['Likeness of meaning', 1],
  cosine_context: ['… with its neighbours', 1],
  bm25: ['Words, with its neighbours', 25],
  bm25_turn: ['Words of its own', 25],
};

/** The drawing for a retrieved item that carries an explanation. */
export function why(item) {
  const { scores, signals, explanation } = item;
  return [
    h('div', { class: 'measures', role: 'group', 'aria-label': 'Scores' },
      bar('Relevance', scores.relevance, 'how well it answers'),
      bar('Recency', scores.recency, 'how lately it was said'),
      bar('Importance', scores.importance, 'how much it is worth keeping'),
      h('p', { class: 'total' }, `Total ${score(scores.total)}`),
      explanation?.importance_value !== undefined && h('p', { class: 'quiet' }, worth(explanation))),
    h('div', { class: 'legs' }, LEGS.map(([name, signal, rank, by]) => h('p', { class: signals[signal] ? 'leg found' : 'leg' },
      h('span', { class: 'dot', 'aria-hidden': 'true' }),
      signals[signal] ? `Found by ${by}${explanation?.[rank] ? `, as number ${explanation[rank]}` : ''}` : `Not found by ${by}`))),
    explanation && h('details', {},
      h('summary', {}, 'All features'),
      h('div', { class: 'measures' }, features(explanation))),
  ].filter(Boolean);
}

/** What importance is made of at this moment. */
function worth({ importance_own: own, importance_repeats: repeats, importance_answers: answers, importance_kept: kept, importance_value: value, importance_level: level }) {
  const grown = [repeats > 0 && `${score(repeats)} for being said again`, answers > 0 && `${score(answers)} for being asked for`].filter(Boolean);
  const faded = kept < 1 ? `, of which silence has left ${Math.round(100 * kept)} %` : '';
  return `Worth ${score(value)} now, level ${level} of 3: ${[`${score(own)} by itself`, ...grown].join(', ')}${faded}.`;
}

function features(explanation) {
  return Object.entries(explanation)
    .filter(([name, value]) => typeof value === 'number' && !name.endsWith('_rank') && !name.startsWith('importance_'))
    .map(([name, value]) => {
      const [label, most] = NAMES[name] ?? [name.replaceAll('_', ' '), 1];
      const drawn = bar(label, name === 'rrf' ? value * most : value / most);
      drawn.querySelector('.value').textContent = score(value);
      return drawn;
    });
}
