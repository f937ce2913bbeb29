// What took the place of what: an older statement is kept aside, and can be in use again beside the newer one.

import * as api from './api.js';
import { failed, h, linked, toast, when } from './dom.js';

/** A button that has something in use again, told by these words; `then` is called once it is. */
function inUse(label, work, words, then, about = label) {
  const onclick = async () => {
    try {
      await work();
      toast(words);
      then();
    } catch (error) { failed(error); }
  };
  return h('button', { type: 'button', class: 'link', 'aria-label': about, onclick }, label);
}

function stillTrue(newer, older, about, then) {
  const work = () => api.resolve({ newer, older, keep: 'both' });
  return inUse('Still true', work, 'Both are in use now.', then, `Still true: ${about.slice(0, 60)}`);
}

/** Have an entry in use again that was set aside, for good. */
export const keep = (entry) => api.change(entry, { manually_saved: true });

/** Why an entry is not found, if it is not in use; `then` is called once it is again. */
export function notInUse(entry, then) {
  if (entry.expires_at) return [`Set aside, and forgotten on ${when(entry.expires_at)} `, inUse('Keep it', () => keep(entry), 'Kept.', then)];
  if (entry.status === 'archived') return 'Archived: no longer found';
  if (entry.status !== 'superseded') return null;
  return ['Kept aside: ', linked(entry.superseded_by, 'something newer'), ' took its place ', stillTrue(entry.superseded_by, entry.id, entry.text, then)];
}

/** Show what an entry took the place of, as far as it is still there; `then` is called once one is in use again. */
export async function tookThePlaceOf(place, entry, then) {
  const all = await Promise.all(entry.supersedes.map((id) => api.get(id).catch(() => null)));
  const older = all.filter((one) => one?.status === 'superseded');
  if (!older.length) return;
  place.append(h('section', { 'aria-label': 'Took the place of' },
    h('h3', {}, 'Took the place of'),
    h('ul', { class: 'past' }, older.map((one) => h('li', {}, linked(one.id, one.text),
      h('p', { class: 'meta' }, h('time', { datetime: one.last_said_at }, when(one.last_said_at)), stillTrue(entry.id, one.id, one.text, then)))))));
}
