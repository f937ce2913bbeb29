// The frame of the page: which view is shown, who is asking, and the keys.

import { AWAY, identity, onSignIn } from './api.js';
import { dialog, fill, h, iconButton, problem } from './dom.js';
import { memories } from './memories.js';
import { forgetPending, tellLeft, undoLast } from './state.js';

const main = document.getElementById('main');
const load = {
  known: async () => (await import('./known.js')).whatIsKnown,
  context: async () => (await import('./context.js')).context,
  activity: async () => (await import('./activity.js')).activity,
  settings: async () => (await import('./settings.js')).settings,
  health: async () => (await import('./health.js')).health,
};
const TITLES = { '': 'Memories', known: 'Known', context: 'Assistant’s view', activity: 'Activity', settings: 'Settings', health: 'Health' };

const SWITCHED = 'memory-switched';

const look = localStorage.getItem('memory-look');
if (look) document.documentElement.dataset.look = look;

let view = null;
let shown = null;
let turn = 0;

async function route() {
  const mine = ++turn;
  document.querySelectorAll('dialog[open]:not(.must)').forEach((open) => open.close());
  const [, name = '', id] = location.hash.split('/').map(decodeURIComponent);
  const wanted = name === 'memory' ? '' : name in load ? name : '';
  document.title = `${TITLES[wanted]} · Memory`;
  for (const link of document.querySelectorAll('#views a')) {
    link.toggleAttribute('aria-current', link.getAttribute('href') === `#/${wanted}`);
    if (link.hasAttribute('aria-current')) link.setAttribute('aria-current', 'page');
  }
  if (shown === '' && wanted === '') return view.moveTo(id);
  const make = wanted ? await load[wanted]().catch(() => away) : memories;
  if (mine !== turn) return null;
  view?.end();
  const first = shown === null;
  shown = wanted;
  view = make(main, id);
  scrollTo(0, 0);
  if (!first && !main.contains(document.activeElement)) main.focus();
  main.dataset.view = wanted;
  return null;
}

/** In place of a view whose file could not be loaded. */
function away() {
  fill(main, problem(new Error(AWAY), route));
  return { end: () => {} };
}

/** Begin anew as another user, or as nobody; what was about to be forgotten is forgotten now, and told then. */
async function begin(as) {
  const forgotten = await forgetPending();
  as();
  sessionStorage.setItem(SWITCHED, forgotten);
  if (location.hash.startsWith('#/memory/')) location.hash = '#/';  // it is the user's before
  location.reload();
}

function begun() {
  const forgotten = sessionStorage.getItem(SWITCHED);
  if (forgotten === null) return;
  sessionStorage.removeItem(SWITCHED);
  document.querySelector('.user').focus();
  tellLeft(Number(forgotten));
}

function who() {
  const label = identity.key ? 'Sign out' : identity.user;
  fill(document.getElementById('who'), iconButton('keys', 'Keys', help, { class: 'icon keys-button', 'aria-keyshortcuts': '?' }), h('button', {
    type: 'button', class: 'link user', title: identity.key ? null : 'Whose memory this is', 'aria-label': identity.key ? 'Sign out' : `User ${identity.user}: change`,
    onclick: identity.key ? () => begin(() => sessionStorage.clear()) : changeUser,
  }, label));
}

function changeUser() {
  const name = h('input', { id: 'user-name', required: true, maxlength: '512', value: identity.user });
  dialog('Whose memory?', (close) => [h('form', {
    onsubmit: (event) => { event.preventDefault(); close(); begin(() => { identity.user = name.value.trim(); }); },
  },
  h('p', { class: 'quiet' }, 'This memorybus runs for this machine alone, and needs no sign-in.'),
  h('label', { for: 'user-name' }, 'User'), name,
  h('div', { class: 'row end' }, h('button', { type: 'button', onclick: close }, 'Cancel'), h('button', { type: 'submit', class: 'primary' }, 'Show')))]);
  name.select();
}

let asking = null;
onSignIn(() => {
  asking ??= new Promise((resolve) => {
    const key = h('input', { id: 'key', type: 'password', required: true, autocomplete: 'current-password' });
    const shownDialog = dialog('Sign in', (close) => [h('form', {
      onsubmit: (event) => { event.preventDefault(); identity.key = key.value.trim(); asking = null; close(); who(); resolve(); },
    },
    h('p', {}, identity.key ? 'This key was not accepted. It may have expired.' : 'This memorybus asks who you are.'),
    h('label', { for: 'key' }, 'API key'), key,
    h('p', { class: 'quiet' }, 'An operator makes one with ', h('code', {}, 'memorybus keys create'), '. It is kept until this tab is closed.'),
    h('div', { class: 'row end' }, h('button', { type: 'submit', class: 'primary' }, 'Sign in')))]);
    shownDialog.classList.add('must');
    shownDialog.querySelector('header button').remove();
    shownDialog.addEventListener('cancel', (event) => event.preventDefault());
    key.focus();
  });
  return asking;
});

const HELP = [
  ['/', 'search'], ['n', 'add a memory'], ['j  k', 'next, previous memory'], ['Enter', 'open'], ['p', 'pin or unpin'],
  ['e', 'edit the open memory'], ['x', 'select, to do the same to several'], ['Delete', 'forget the memory that has the focus'], ['u', 'undo forgetting'], ['Esc', 'close; what you typed is kept'], ['Ctrl Enter', 'save what you add or edit'], ['g then m k c a s h', 'go to a view'],
];

function help() {
  dialog('Keys', () => [h('dl', { class: 'keys' }, HELP.map(([key, does]) => h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, does))))]);
}

function step(by) {
  const links = [...document.querySelectorAll('.timeline a.text')];
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}

const GO = { m: '#/', k: '#/known', c: '#/context', a: '#/activity', s: '#/settings', h: '#/health' };
let going = false;

const KEYS = {
  '/': () => view?.search?.(),
  n: () => view?.add?.(),
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => document.activeElement?.matches('a.text') && step(1),
  ArrowUp: () => document.activeElement?.matches('a.text') && step(-1),
  p: () => onCurrent('pin'),
  x: () => onCurrent('select'),
  Delete: () => onCurrent('forget'),
  e: () => document.getElementById('edit')?.click(),
  u: undoLast,
  '?': help,
};

function onCurrent(action) {
  const entry = view?.current?.();
  if (entry) view[action](entry);
  else document.querySelector(`.detail [data-action="${action}"]`)?.click();
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape' && document.getElementById('detail')?.hidden === false) {
    event.preventDefault();
    document.querySelector('.detail .head button:last-child')?.click();
    return;
  }
  if (event.key === 'Escape' && event.target.type === 'search') event.preventDefault();  // which would empty it
  if (event.key === 'Escape' && !view?.escape?.()) event.target.blur();
  if (event.target.closest('input:not([type="checkbox"]), textarea, select') || localStorage.getItem('memory-keys') === 'off') return;
  if (going && GO[event.key]) {
    going = false;
    location.hash = GO[event.key];
    return;
  }
  going = event.key === 'g';
  const does = KEYS[event.key];
  if (!does) return;
  if (!event.key.startsWith('Arrow')) event.preventDefault();
  else if (event.target.matches('a.text')) event.preventDefault();
  does();
});

who();
begun();
addEventListener('hashchange', route);
route();
