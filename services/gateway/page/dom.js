// Elements, words for times, notices and dialogs. Whatever users said only ever becomes text nodes.

import { identity } from './api.js';

const SVG = 'http://www.w3.org/2000/svg';

const ICONS = {
  pin: 'M9 3.5h6l-.8 6 3.3 3.5h-11L9.8 9.5 9 3.5zM12 13v7.5',
  edit: 'M4.5 19.5l.8-3.7L15.6 5.5l2.9 2.9L8.2 18.7l-3.7.8zM13.5 7.6l2.9 2.9',
  trash: 'M5 7h14M9.5 7V4.5h5V7M7 7l.8 12.5h8.4L17 7M10.3 10.5v5.5M13.7 10.5v5.5',
  close: 'M6 6l12 12M18 6L6 18',
  why: 'M5 19V11M12 19V5M19 19v-5',
  search: 'M15.5 15.5L20 20M17 10.5a6.5 6.5 0 11-13 0 6.5 6.5 0 0113 0z',
  plus: 'M12 5v14M5 12h14',
  keys: 'M3.5 7h17v10.5h-17zM7 10.3h.01M10.3 10.3h.01M13.7 10.3h.01M17 10.3h.01M8 14.2h8',
  all: 'M4.5 12.5l4 4L16 8M12.5 16.5L20 8.5',
  tag: 'M4 4.5h7.2l8.3 8.3-6.7 6.7L4.5 11.2 4 4.5zM8.4 8.4h.01',
};

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== 'string') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...present(children));
  return element;
}

const present = (children) => children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);

/** Show these children in place of all others; what is null, undefined or false is none. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

export const linked = (id, text = id) => h('a', { dir: 'auto', href: `#/memory/${encodeURIComponent(id)}` }, text);

/** A button that shows only an icon; its label is read aloud and shown on hover. */
export function iconButton(name, label, onclick, more = {}) {
  return h('button', { type: 'button', class: 'icon', 'aria-label': label, title: label, onclick, ...more }, icon(name));
}

/** A bar from 0 to 1 with its value; what is outside is cut off in the drawing and told in full. */
export function bar(label, value, note = '') {
  const fill = h('span', { class: 'fill' });
  fill.style.width = `${Math.round(100 * Math.min(1, Math.max(0, value)))}%`;
  return h('div', { class: 'measure' },
    h('span', { class: 'name' }, label),
    h('span', { class: 'track', 'aria-hidden': 'true' }, fill),
    h('span', { class: 'value' }, score(value)),
    note && h('span', { class: 'note' }, note));
}

export const number = (value) =>
  Number.isInteger(value) ? value.toLocaleString('en') : value.toLocaleString('en', { maximumSignificantDigits: 3 });

/** A number between 0 and 1, or a little more, so that numbers in a column can be compared. */
export const score = (value) => value.toFixed(value !== 0 && Math.abs(value) < 0.1 ? 3 : 2);

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });
const DAY_OF_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

export const timeOf = (iso) => TIME.format(new Date(iso));

export function dayOf(iso) {
  const at = new Date(iso);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return (at.getFullYear() === new Date().getFullYear() ? DAY : DAY_OF_YEAR).format(at);
}

export const when = (iso) => `${dayOf(iso)}, ${timeOf(iso)}`;

export const UNDO_SECONDS = 10;

/** A notice; with an action it stays as long as that can be taken. Time stands still while it is looked at. Returns what removes it. */
export function toast(words, { action, onaction, onend = () => {}, seconds = action ? UNDO_SECONDS : 5, bad = false } = {}) {
  let [timer, since, rest, from] = [null, 0, seconds * 1000, null];
  const remove = () => {
    hold();
    const focused = element.contains(document.activeElement);
    element.remove();
    if (focused) from?.focus();
  };
  const run = () => {
    if (timer || !element.isConnected || element.matches(':hover, :focus-within')) return;
    since = performance.now();
    timer = setTimeout(() => { remove(); onend(); }, rest);
  };
  const hold = () => {
    if (timer) rest -= performance.now() - since;
    clearTimeout(timer);
    timer = null;
  };
  const element = h('div', {
    class: bad ? 'toast bad' : 'toast', role: bad ? 'alert' : null,
    onpointerenter: hold, onpointerleave: run, onfocusout: () => setTimeout(run),
    onfocusin: (event) => { hold(); if (!element.contains(event.relatedTarget)) from = event.relatedTarget; },
  }, h('span', {}, words));
  if (action) {
    const left = h('span', { class: 'left', 'aria-hidden': 'true' });
    left.style.animationDuration = `${seconds}s`;
    element.append(h('button', { type: 'button', onclick: () => { remove(); onaction(); } }, action), left);
  } else {
    element.append(iconButton('close', 'Dismiss', remove));
  }
  document.getElementById('toasts').append(element);
  run();
  return remove;
}

export const failed = (error) => toast(error.message, { bad: true, seconds: 8 });

/** A dialog that gives back the focus when it closes; `make` gets what closes it. */
export function dialog(title, make) {
  const element = h('dialog', { 'aria-label': title });
  const close = () => element.close();
  element.append(
    h('header', {}, h('h2', {}, title), iconButton('close', 'Close', close)),
    ...make(close));
  element.addEventListener('close', () => {
    element.remove();
    if (document.activeElement === document.body) document.getElementById('main').focus();  // what opened it was a key
  });
  element.addEventListener('click', (event) => { if (event.target === element) close(); });
  document.body.append(element);
  element.showModal();
  return element;
}

/** Keep what this user types into these fields until it is sent or given up; `isOld` says whether there was something. */
export function drafted(name, ...fields) {
  const draft = `memory-draft ${identity.user} ${name}`;
  const typed = JSON.parse(sessionStorage.getItem(draft));
  typed?.forEach((value, n) => { fields[n].value = value; });
  const keep = () => sessionStorage.setItem(draft, JSON.stringify(fields.map((field) => field.value)));
  fields.forEach((field) => field.addEventListener('input', keep));
  return { isOld: Boolean(typed), drop: () => sessionStorage.removeItem(draft) };
}

/** Give up what this user typed for what has a name that begins so. */
export function dropDrafts(name = '') {
  const start = `memory-draft ${identity.user} ${name}`;
  Object.keys(sessionStorage).filter((key) => key.startsWith(start)).forEach((key) => sessionStorage.removeItem(key));
}

/** For forms whose words may have lines: Enter ends a line there, and with Ctrl or Cmd it sends. */
export function sendByKey(event) {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.querySelector('[type="submit"]').click();
}

export const empty = (title, ...words) => h('div', { class: 'empty' }, h('h2', {}, title), h('p', {}, ...words));

export function problem(error, again) {
  return h('div', { class: 'empty', role: 'alert' },
    h('h2', {}, 'That did not work'), h('p', {}, error.message),
    again && h('button', { type: 'button', onclick: again }, 'Try again'));
}

export const loading = (rows = 5) =>
  h('div', { class: 'loading', role: 'status' }, h('span', { class: 'hidden' }, 'Loading…'),
    Array.from({ length: rows }, () => h('div', { class: 'bone', 'aria-hidden': 'true' })));
