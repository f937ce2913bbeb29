// Settings that are numbers. What a shorter time would remove is counted, and told before anything is.

import * as api from './api.js';
import { dialog, h, plural } from './dom.js';

const MOST_PAGES = 5;
const DAY = 86_400_000;
const WHOLE = 'A whole number, 0 or more.';
const WHOLE_DAYS = 'A whole number of days, 0 or more.';

/** A field for the number `name` of the settings `now` of a space; `save` gets the change, what puts the old value back, and what asks the user first. */
export function amount(name, label, note, { now, space, save }) {
  const fault = h('p', { class: 'fault', id: `${name}-fault`, role: 'alert' });
  const input = h('input', {
    type: 'number', min: '0', id: name, inputmode: 'numeric', value: now[name] ?? '', placeholder: 'as configured', 'aria-describedby': `${name}-note ${name}-fault`,
    onchange: () => change(), onblur: () => { if (input.validity.badInput) change(); },
  });
  const undo = () => { input.value = now[name] ?? ''; };

  function change() {
    const value = input.value === '' ? null : Number(input.value);
    const isWrong = input.validity.badInput || value < 0 || !Number.isInteger(value ?? 0);
    const whole = name === 'soft_cap' ? WHOLE : WHOLE_DAYS;
    fault.textContent = isWrong ? whole : '';
    input.setAttribute('aria-invalid', String(isWrong));
    if (!isWrong) save({ [name]: value }, undo, () => isAgreed(name, value, now[name], space));
  }

  return h('div', { class: 'setting' }, h('div', {}, h('label', { for: name }, label), h('p', { id: `${name}-note`, class: 'quiet' }, note), fault), input);
}

/** Whether nothing is removed by this value, or the user wants it so. */
async function isAgreed(name, value, before, space) {
  if (!(name in LOST)) return true;
  const days = value ?? (space === '*' ? 0 : (await api.settings('*')).settings[name]);
  if (!days || (before && days >= before)) return true;
  const words = await LOST[name](days, space === '*' ? null : space);
  return words ? agreed(words) : true;
}

/** What would be lost for each setting, in words; none, if nothing would. */
const LOST = {
  async retention_days(days, space) {
    const isOld = (one) => isOlder(one.last_said_at, days) && !one.pinned && !one.manually_saved;
    const list = (status) => (cursor) => api.list({ space, status, limit: 1000, cursor });
    const [used, aside] = [await found(list('active'), isOld), await found(list('superseded'), isOld)];
    return told(await ofThese([...used.ones, ...aside.ones], space, 'retention_days'), used.isMore || aside.isMore, ['memory', 'memories'],
      (count, is) => `${count} ${is} older than ${plural(days, 'day')} and will be forgotten for good. Pinned and saved ones stay.`);
  },
  async originals_kept_days(days, space) {
    const isOld = (one) => one.state === 'done' && isOlder(one.at, days);
    const { ones, isMore } = await found((cursor) => api.rollUps({ space, limit: 50, cursor }), isOld);
    return told(await ofThese(ones, space, 'originals_kept_days'), isMore, ['roll-up', 'roll-ups'],
      (count, is) => `${count} ${is} older than ${plural(days, 'day')}. The originals will be gone for good, and with them the way back.`);
  },
};

const isOlder = (iso, days) => Date.now() - new Date(iso) > days * DAY;

/** Those of the first pages that are meant, and whether there are more pages. */
async function found(page, isMeant) {
  const ones = [];
  let cursor = null;
  for (let at = 0; at < MOST_PAGES; at += 1) {
    const reply = await page(cursor);
    ones.push(...reply.items.filter(isMeant));
    cursor = reply.next_cursor;
    if (!cursor) break;
  }
  return { ones, isMore: Boolean(cursor) };
}

/** Those that a setting holds for: one of all spaces holds where a space has none of its own. */
async function ofThese(ones, space, name) {
  if (space) return ones.length;
  const spaces = [...new Set(ones.map((one) => one.space))];
  const own = await Promise.all(spaces.map(async (one) => (await api.settings(one)).own[name]));
  return ones.filter((one) => own[spaces.indexOf(one.space)] === null).length;
}

function told(count, isMore, [one, many], words) {
  if (!count && !isMore) return null;
  return words(`${isMore ? 'At least ' : ''}${plural(count, one, many)}`, count === 1 ? 'is' : 'are');
}

function agreed(words) {
  return new Promise((resolve) => {
    const asked = dialog('This cannot be undone', (close) => [h('p', {}, words), h('div', { class: 'row end' },
      h('button', { type: 'button', onclick: close }, 'Cancel'),
      h('button', { type: 'button', class: 'danger', onclick: () => asked.close('yes') }, 'Go on'))]);
    asked.addEventListener('close', () => resolve(asked.returnValue === 'yes'));
  });
}
