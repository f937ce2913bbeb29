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
  let counts = {};
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
        if (error.status === 404 || error.status === 401) return fill(body, problem(error));
        fails += 1;
        if (fails > 1) state.textContent = 'The connection was lost. Trying again…';
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** fails, 10_000)));
    }
    return null;
  }

  async function count() {
    while (!stop.signal.aborted) {
      counts = await api.status().catch(() => counts);
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }

  function show(event) {
    if (!event.ok) {
      state.textContent = `Nothing can be counted now: ${event.problem}`;
      return;
    }
    const backlog = event.backlog;
    const total = Object.values(backlog).reduce((sum, count) => sum + count, 0);
    if (!waited.length) waited.push(total);
    waited.push(total);
    if (waited.length > KEPT) waited.shift();
    const behind = event.lag_seconds > 0 ? `, ${number(event.lag_seconds)} s behind` : '';
    state.textContent = total || counts.pending ? `Working${behind}.` : 'All caught up.';
    fill(body, 
      h('dl', { class: 'numbers' }, [
        ['Memories', counts.entries], ['Turns', counts.turns], ['Merged repeats', counts.merged], ['Vectors', counts.vectors],
        ['Waiting', total], ['Dead letters', event.dead_letters, event.dead_letters > 0],
      ].filter(([, value]) => typeof value === 'number').map(([name, value, bad]) => h('div', { class: bad ? 'bad' : null }, h('dt', {}, name), h('dd', {}, number(value))))),
      h('h2', {}, 'Waiting, by stage'),
      h('ol', { class: 'stages' }, STAGES.map((stage) => stageOf(stage, backlog))),
      h('h2', {}, 'Waiting, lately'), spark(waited));
  }

  api.status().then((found) => { counts = found; }).catch(() => {}).then(follow);
  count();
  return { end: () => stop.abort() };
}

function stageOf(stage, backlog) {
  const count = Object.entries(backlog).filter(([name]) => name === stage || name.startsWith(`${stage}-`)).reduce((sum, [, n]) => sum + n, 0);
  const filled = h('span', { class: 'fill' });
  filled.style.width = `${Math.min(100, 20 * Math.log10(1 + count))}%`;
  return h('li', {}, h('span', { class: 'name' }, stage), h('span', { class: 'quiet' }, WHAT[stage]),
    h('span', { class: 'track', 'aria-hidden': 'true' }, filled),
    h('span', { class: 'value' }, number(count)));
}

function spark(values) {
  const most = Math.max(...values, 1);
  const points = values.map((value, at) => `${(at / (KEPT - 1)) * 100},${30 - (value / most) * 28}`).join(' ');
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
