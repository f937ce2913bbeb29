// The pipeline as it works: what is stored, what waits, what could not be digested.

import * as api from './api.js';
import { fill, h, loading, number, problem } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const KEPT = 60;
const STAGES = ['ingest', 'dedupe', 'enrich', 'embed'];
const WHAT = {
  ingest: 'reads turns', dedupe: 'merges repeats', enrich: 'finds names and types', embed: 'reads meaning',
};

/** The view; gives back what ends it. */
export function health(main) {
  const stop = new AbortController();
  const waited = [];
  const state = h('p', { class: 'quiet', role: 'status' }, 'Connecting…');
  const body = h('div', {}, loading(3));
  fill(main, h('section', { class: 'column wide' }, h('h1', {}, 'Health'), state, body));

  async function follow() {
    let fails = 0;
    while (!stop.signal.aborted) {
      try {
        await api.live((event) => { fails = 0; show(event); }, stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error.status === 404) return fill(body, problem(error));
        fails += 1;
        if (fails > 1) state.textContent = 'The connection was lost. Trying again…';
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** fails, 10_000)));
    }
    return null;
  }

  function show(event) {
    if (!event.ok) {
      state.textContent = `Nothing can be counted now: ${event.problem}`;
      return;
    }
    const total = sum(Object.values(event.backlog));
    const behind = Math.max(0, ...Object.values(event.lag_seconds));
    if (!waited.length) waited.push(total);  // a line has two ends
    waited.push(total);
    if (waited.length > KEPT) waited.shift();
    const working = total || event.pending;
    const words = working ? `Working${behind >= 1 ? `, ${span(behind)} behind` : ''}.` : 'All caught up.';
    if (state.textContent !== words) state.textContent = words;  // a screen reader reads what is written anew
    state.className = working ? 'quiet state pending' : 'quiet';
    fill(body,
      h('dl', { class: 'numbers' }, [
        ['Memories', event.entries], ['Turns', event.turns], ['Repeats', event.merged], ['Vectors', event.vectors],
        ['Waiting', total], ['Dead letters', event.dead_letters, event.dead_letters > 0],
      ].filter(([, value]) => typeof value === 'number').map(([name, value, bad]) => h('div', { class: bad ? 'bad' : null }, h('dt', {}, name), h('dd', {}, number(value))))),
      event.dead_letters > 0 && h('p', { class: 'warning' }, 'Dead letters could not be read and wait for an operator: ', h('code', {}, 'memorybus dead list')),
      h('h2', {}, 'Stages'),
      h('ol', { class: 'stages' }, STAGES.map((stage) => stageOf(stage, event))),
      h('h2', {}, 'Waiting over the last minute'), spark(waited));
  }

  follow();
  return { end: () => stop.abort() };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const span = (seconds) => (seconds < 90 ? `${number(Math.round(seconds))} s` : `${number(Math.round(seconds / 60))} min`);

function stageOf(stage, { backlog, lag_seconds: lag }) {
  const own = Object.keys(backlog).filter((name) => name === stage || name.startsWith(`${stage}-`));
  const count = sum(own.map((name) => backlog[name]));
  const behind = Math.max(0, ...own.map((name) => lag[name] ?? 0));
  const filled = h('span', { class: 'fill' });
  filled.style.width = `${Math.min(100, 20 * Math.log10(1 + count))}%`;
  return h('li', {}, h('span', { class: 'name' }, stage), h('span', { class: 'quiet' }, WHAT[stage]),
    h('span', { class: 'track', 'aria-hidden': 'true' }, filled),
    h('span', { class: 'value' }, count ? `${number(count)} waiting${behind >= 1 ? ` for ${span(behind)}` : ''}` : 'caught up'));
}

function spark(values) {
  const most = Math.max(...values, 1);
  const points = values.map((value, at) => `${((KEPT - values.length + at) / (KEPT - 1)) * 100},${30 - (value / most) * 28}`).join(' ');
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 100 31');
  svg.setAttribute('class', 'spark');
  svg.setAttribute('role', 'img');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-label', `Waiting over the last ${values.length} readings: now ${values.at(-1)}, at most ${Math.max(...values)}`);
  const line = document.createElementNS(SVG, 'polyline');
  line.setAttribute('points', points);
  svg.append(line);
  return svg;
}
