// One memory: what it says, where it came from, how it may be found, and what its owner may do with it.

import { TYPES, tagsIn } from './add.js';
import * as api from './api.js';
import { notInUse, tookThePlaceOf } from './aside.js';
import { bar, drafted, failed, fill, h, icon, iconButton, linked, loading, plural, problem, sendByKey, toast, when } from './dom.js';
import { ELSEWHERE, failedFor, isLeaving, known, learn } from './state.js';

const AROUND = 4;
const EMBEDDING = {
  ready: 'Found by words and by meaning',
  pending: 'Found by words; by meaning in a moment',
  error: 'Found by words only: the model could not read it',
};

const CLASH = 'It was changed meanwhile. Open it again to see what is there now; what you typed is kept.';

/** Show an entry in the panel; `on` is told of changes, of forgetting and of closing. */
export async function openEntry(panel, id, on) {
  fill(panel, loading(4));
  let entry;
  try {
    entry = await api.get(id);
  } catch (error) {
    fill(panel, head(on), problem(error.status === 404 ? new Error('This memory does not exist any more.') : error));
    panel.querySelector('button').focus();
    return;
  }
  learn([entry]);
  show(panel, entry, on);
  panel.querySelector('button').focus();
}

function head(on, ...actions) {
  return h('div', { class: 'head' }, ...actions, h('span', { class: 'space' }), iconButton('close', 'Close', on.onclose, { 'aria-keyshortcuts': 'Escape' }));
}

function show(panel, entry, on) {
  const changed = (next) => { on.onchange(next); show(panel, next, on); };
  const pin = h('button', {
    type: 'button', class: 'chip', 'aria-pressed': String(entry.pinned), 'aria-keyshortcuts': 'p', 'data-action': 'pin',
    onclick: async () => {
      try {
        changed(await api.pin(entry.id, !entry.pinned));
        panel.querySelector('.head button').focus();
      } catch (error) {
        failedFor(entry, error);
        if (isLeaving(entry.id)) on.onclose();
      }
    },
  }, icon('pin'), entry.pinned ? 'Pinned' : 'Pin');
  const edit = h('button', { type: 'button', class: 'chip', id: 'edit', 'aria-keyshortcuts': 'e', onclick: () => editForm(panel, entry, on) }, icon('edit'), 'Edit');
  const forget = h('button', { type: 'button', class: 'chip', 'aria-keyshortcuts': 'Delete', 'data-action': 'forget', onclick: () => on.onforget(entry) }, icon('trash'), 'Forget');
  const again = () => { on.onlisted(); openEntry(panel, entry.id, on); };
  const older = h('div', {});
  const past = h('div', {});
  const around = h('div', {});
  fill(panel,
    head(on, pin, edit, forget),
    h('h2', { class: 'said', dir: 'auto' }, entry.text),
    entry.summary && h('p', { class: 'quiet', dir: 'auto' }, entry.summary),
    h('dl', { class: 'facts' }, facts(entry, again)),
    h('div', { class: 'measures' }, bar('Importance', entry.importance, entry.pinned ? 'pinned: never trimmed' : '')),
    entry.last_scores && h('details', {},
      h('summary', {}, 'When it was last used'),
      h('div', { class: 'measures' },
        ['relevance', 'recency', 'importance'].map((name) => bar(name[0].toUpperCase() + name.slice(1), entry.last_scores[name])),
        entry.last_scores.computed_at && h('p', { class: 'quiet' }, when(entry.last_scores.computed_at)))),
    rolledUp(entry, on), older, technical(entry), past, around);
  tookThePlaceOf(older, entry, again);
  history(past, entry);
  conversation(around, entry);
}

function facts(entry, again) {
  const rows = [
    ['Type', entry.type],
    ['Said by', entry.speaker ? `${entry.speaker} (${entry.role})` : entry.role],
    ['First said', when(entry.created_at)],
    entry.repeat_count ? ['Last said', `${when(entry.last_said_at)}, ${entry.repeat_count + 1} times in all`] : null,
    ['Space', entry.space],
    entry.persona_id ? ['Persona', entry.persona_id] : null,
    entry.themes.length ? ['Themes', entry.themes.map((slug) => known.themes.get(slug) ?? slug).join(', ')] : null,
    entry.tags.length ? ['Tags', entry.tags.join(', ')] : null,
    entry.entities.length ? ['Names in it', [...new Set(entry.entities.map((one) => one.text))].join(', ')] : null,
    entry.rolled_up_into ? ['Rolled up into', linked(entry.rolled_up_into)] : null,
    entry.source_ids.length && entry.source !== 'rollup' ? ['Sources', entry.source_ids.join(', ')] : null,
    ['Search', notInUse(entry, again) ?? EMBEDDING[entry.embedding_state]],
    entry.embedding_error ? ['Why not', entry.embedding_error] : null,
    entry.clock_ahead ? ['Clock', 'its publisher’s clock was ahead; the time of arrival is shown'] : null,
  ];
  return told(rows);
}

const told = (rows) => rows.filter(Boolean).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', { dir: 'auto' }, value)));

/** Of a roll-up: what each line was said in, and the way back. */
function rolledUp(entry, on) {
  if (entry.source !== 'rollup') return null;
  const undo = async () => {
    try {
      const { restored } = await api.undoRollUp(entry.id);
      toast(`Undone: ${plural(restored.length, 'memory', 'memories')} in use again.`);
      on.onundone();
    } catch (error) { failed(error); }
  };
  const lines = entry.text.split('\n');
  return h('section', { 'aria-label': 'Rolled up from' },
    h('h3', {}, 'Rolled up from'),
    h('p', { class: 'quiet small' }, `${plural(entry.source_ids.length, 'older memory', 'older memories')}, archived · `,
      h('button', { type: 'button', class: 'link', onclick: undo }, 'Undo')),
    h('ul', { class: 'past' }, entry.line_sources.map((ids, n) => h('li', {}, linked(ids[0], lines[n])))));
}

const technical = (entry) => h('details', {}, h('summary', {}, 'For programs'), h('dl', { class: 'facts' }, told([
  ['Id', h('code', {}, entry.id)],
  ['Version', String(entry.version)],
  entry.embedding_model ? ['Model', entry.embedding_model] : null,
])));

function editForm(panel, entry, on) {
  const text = h('textarea', { id: 'edit-text', rows: '5', required: true, dir: 'auto', value: entry.text });
  text.value = entry.text;
  const type = h('select', { id: 'edit-type' }, TYPES.map((one) => h('option', { value: one, selected: one === entry.type }, one)));
  const tags = h('input', { id: 'edit-tags', value: entry.tags.join(', ') });
  const themes = h('input', { id: 'edit-themes', value: entry.themes.join(', ') });
  const redact = h('input', { type: 'checkbox', id: 'edit-redact' });
  const fault = h('p', { class: 'fault', role: 'alert' });
  let clashed = false;
  const back = () => {
    if (clashed) return openEntry(panel, entry.id, on);
    show(panel, entry, on);
    return panel.querySelector('#edit').focus();
  };
  const draft = drafted(`edit ${entry.id}`, text, type, tags, themes);
  fill(panel, head({ onclose: back }, h('h2', {}, 'Edit')), h('form', {
    class: 'edit',
    onkeydown: sendByKey,
    onsubmit: async (event) => {
      event.preventDefault();
      const body = {
        text: text.value === entry.text ? null : text.value,
        type: type.value === entry.type ? null : type.value,
        tags: tags.value === entry.tags.join(', ') ? null : tagsIn(tags.value),
        themes: themes.value === entry.themes.join(', ') ? null : tagsIn(themes.value),
        redact: redact.checked,
      };
      try {
        const next = await api.change(entry, body);
        draft.drop();
        on.onchange(next);
        show(panel, next, on);
        panel.querySelector('#edit').focus();
        toast('Saved.');
      } catch (error) {
        clashed ||= error.code === 'changed' || error.code === 'conflict';
        fault.textContent = clashed ? CLASH : error.status === 404 ? ELSEWHERE : error.message;
      }
    },
  },
  h('label', { for: 'edit-text' }, 'Text'), text,
  h('label', { for: 'edit-type' }, 'Type'), type,
  h('label', { for: 'edit-tags' }, 'Tags, separated by commas'), tags,
  h('label', { for: 'edit-themes' }, 'Themes, separated by commas'), themes,
  known.themes.size > 0 && h('p', { class: 'quiet small' }, `There are: ${[...known.themes.keys()].join(', ')}`),
  h('label', { class: 'check', for: 'edit-redact' }, redact, 'Keep nothing of the earlier words'),
  draft.isOld && h('p', { class: 'quiet small' }, 'What you had typed is still here; Cancel drops it.'),
  fault,
  h('div', { class: 'row' },
    h('button', { type: 'submit', class: 'primary' }, 'Save'),
    h('button', { type: 'button', onclick: () => { draft.drop(); back(); } }, 'Cancel'))));
  text.focus();
}

async function history(place, entry) {
  const reply = await api.history(entry.id).catch(() => null);
  const earlier = reply?.items?.filter((one) => one.text !== entry.text) ?? [];
  if (!earlier.length) return;
  place.append(h('h3', {}, 'Earlier wording'), h('ul', { class: 'past' }, earlier.map((one) => h('li', {},
    h('p', { dir: 'auto' }, one.text ?? 'redacted'),
    h('p', { class: 'meta' }, h('time', { datetime: one.at }, when(one.at)), one.by && h('span', {}, one.by))))));
}

async function conversation(place, entry) {
  if (!entry.conversation_id) return;
  const reply = await api.list({ conversation_id: entry.conversation_id, space: entry.space, limit: 500 }).catch(() => null);
  const said = reply?.items ?? [];
  learn(said);
  const order = (one) => saidAt(one, entry.conversation_id);
  said.sort((a, b) => order(a).localeCompare(order(b)));
  const at = said.findIndex((one) => one.id === entry.id);
  if (at < 0) return;
  const near = said.slice(Math.max(0, at - AROUND), at + AROUND + 1);
  place.append(
    h('h3', {}, 'Where it came from'),
    h('p', { class: 'quiet small' }, 'Conversation ', h('code', {}, entry.conversation_id), ' · ',
      h('button', { type: 'button', class: 'link', onclick: () => hush(entry.conversation_id) }, 'Keep nothing more of it')),
    h('ol', { class: 'around' }, near.map((one, n) => h('li', { class: one.id === entry.id ? 'this' : null },
      whoOf(one) !== whoOf(near[n - 1]) && h('span', { class: 'who' }, whoOf(one)),
      one.id === entry.id ? h('span', { dir: 'auto', 'aria-current': 'true' }, one.text)
        : h('a', { dir: 'auto', href: `#/memory/${encodeURIComponent(one.id)}` }, one.text)))));
}

/** When an entry was said in a conversation, which for some is a repeat of what was said in an earlier one. */
const saidAt = (entry, conversation) =>
  entry.conversation_id === conversation ? entry.created_at : entry.repeated_in?.find((one) => one.conversation_id === conversation)?.at ?? entry.created_at;

const whoOf = (entry) => entry && (entry.speaker ?? entry.role);

async function hush(conversation) {
  const say = (on) => api.incognito(on, { conversation_id: conversation });
  try {
    const { until } = await say(true);
    toast(`Incognito until ${when(until)}.`, { action: 'Undo', onaction: () => say(false).catch(failed) });
  } catch (error) { failed(error); }
}
