// What all views share: the space that is looked at, names seen so far, and forgettings that can still be undone.

import * as api from './api.js';
import { UNDO_SECONDS, dropDrafts, failed, plural, toast } from './dom.js';

const LEFT = 'memory-left';

export const known = { spaces: new Set(['default']), tags: new Set(), themes: new Map(), conversations: new Set() };

export const place = {
  get space() { return api.chosen('memory-space'); },
  set space(name) { api.choose('memory-space', name); },
};

/** Take note of the names that entries carry. */
export function learn(entries) {
  for (const entry of entries) {
    known.spaces.add(entry.space);
    if (entry.conversation_id) known.conversations.add(entry.conversation_id);
    entry.tags.forEach((tag) => known.tags.add(tag));
    entry.themes?.forEach((slug) => { if (!known.themes.has(slug)) known.themes.set(slug, slug); });
  }
}

const pending = new Map(); // id → what forgets it now
const gone = new Set();
const listeners = new Set();

export const isLeaving = (id) => pending.has(id) || gone.has(id);
export const onLeaving = (listener) => { listeners.add(listener); return () => listeners.delete(listener); };
const tell = () => listeners.forEach((listener) => listener());

/** Forget these now; gives back what could not be, by its id. What was gone already is no failure. */
async function forgetNow(ids, keepalive) {
  try {
    if (ids.length > 1) {
      const { failed: kept } = await api.bulk(ids, 'forget', {}, keepalive);
      return new Map(kept.filter((one) => one.code !== 'not_found').map((one) => [one.id, new Error(one.message)]));
    }
    await api.forget(ids[0], keepalive);
    return new Map();
  } catch (error) {
    return new Map(error.status === 404 ? [] : ids.map((id) => [id, error]));
  }
}

/** Forget these; whether all of them are gone. */
async function end(ids, keepalive) {
  const left = await forgetNow(ids, keepalive);
  ids.forEach((id) => { if (!left.has(id)) gone.add(id); else gone.delete(id); });
  ids.filter((id) => gone.has(id)).forEach((id) => dropDrafts(`edit ${id}`));
  if (left.size) failed([...left.values()][0]);
  return !left.size;
}

/** Forget entries in ten seconds; until then nothing is removed anywhere, and it can be undone. */
export function forgetSoon(entries) {
  const ids = entries.map((entry) => entry.id);
  const settle = () => ids.forEach((id) => pending.delete(id));
  const undo = () => {
    undos.delete(undo);
    removeToast();
    settle();
    tell();
  };
  const now = async (keepalive = false) => {
    undos.delete(undo);
    removeToast();
    await end(ids, keepalive);
    settle();
    tell();
  };
  const words = ids.length === 1 ? 'Memory forgotten.' : `${ids.length} memories forgotten.`;
  const removeToast = toast(words, { action: 'Undo', onaction: undo, onend: () => now() });
  ids.forEach((id) => pending.set(id, now));
  undos.add(undo);
  tell();
}

export const ELSEWHERE = 'This memory is gone: it was forgotten elsewhere.';

/** Tell why something could not be done to an entry; if another tab has forgotten it, no list shows it any more. */
export function failedFor(entry, error) {
  if (error.status !== 404) return failed(error);
  gone.add(entry.id);
  tell();
  return failed(new Error(ELSEWHERE));
}

const undos = new Set(); // of the forgettings that can still be undone, the latest last
export const undoLast = () => [...undos].at(-1)?.();

/** Forget at once what could still be undone: who asks next may be another user. Gives back how many are gone. */
export async function forgetPending() {
  const ids = [...pending.keys()];
  await Promise.all([...new Set(pending.values())].map((now) => now()));
  return ids.filter((id) => gone.has(id)).length;
}

export const tellLeft = (count) => count && toast(`Leaving the page forgot ${plural(count, 'memory', 'memories')} for good.`, { seconds: UNDO_SECONDS });

// A page that is closed meanwhile keeps its word: the browser sends what is left after it is gone. A browser does not
// say whether the page is closed or loaded anew, so that is done then, too, and told when it is back.
addEventListener('pagehide', () => {
  if (!pending.size) return;
  sessionStorage.setItem(LEFT, JSON.stringify([...pending.keys()]));
  new Set(pending.values()).forEach((now) => now(true));
});

addEventListener('pageshow', async () => {
  const ids = JSON.parse(sessionStorage.getItem(LEFT) ?? '[]');
  if (!ids.length) return;
  sessionStorage.removeItem(LEFT);
  ids.forEach((id) => gone.add(id));
  tell();
  if (await end(ids)) tellLeft(ids.length);
  else tell();
});
