// Settings of a space, incognito conversations, themes, export and erasing.

import { tagsIn } from './add.js';
import { amount } from './amounts.js';
import * as api from './api.js';
import { dialog, dropDrafts, failed, fill, h, loading, number, plural, problem, toast, when } from './dom.js';
import { known, place } from './state.js';

/** The view; gives back what ends it. */
export function settings(main) {
  const space = h('select', { id: 'of-space', onchange: () => load() },
    [...known.spaces].map((name) => h('option', { value: name, selected: name === (place.space || 'default') }, name)),
    h('option', { value: '*' }, 'All that decide nothing'));
  const body = h('div', {}, loading(4));
  fill(main, h('section', { class: 'column wide settings' },
    h('h1', {}, 'Settings'),
    h('div', { class: 'of' }, h('label', { for: 'of-space' }, 'Space'), space),
    body, incognito(), themes(), look(), yours()));

  async function load() {
    const wanted = space.value;
    fill(body, loading(4));  // nobody changes the settings of the space before by mistake
    try {
      const reply = await api.settings(wanted);
      if (wanted === space.value) fill(body, ...fields(reply.settings));
    } catch (error) {
      fill(body, problem(error, load));
    }
  }

  function fields(now) {
    const of = space.value;
    let last = Promise.resolve();
    const save = (...made) => { last = last.then(() => send(...made)); };  // in the order in which they were made
    const send = async (change, undo, isAgreed = () => true) => {
      try {
        if (!(await isAgreed())) return undo();
        const [[name, value]] = Object.entries(change);
        const reply = await api.setSettings(value === null ? { space: of, reset: [name] } : { space: of, change });
        Object.assign(now, reply.settings);
        return toast('Saved. It holds everywhere within a second.');
      } catch (error) {
        undo();
        return failed(new Error(error.message.replace(/^change\.\w+: /, '')));
      }
    };
    const toggle = (name, label, note) => {
      const input = h('input', {
        type: 'checkbox', role: 'switch', id: name, checked: Boolean(now[name]), 'aria-describedby': `${name}-note`,
        onchange: () => save({ [name]: input.checked }, () => { input.checked = !input.checked; }),
      });
      return h('div', { class: 'setting' }, h('div', {}, h('label', { for: name }, label), h('p', { id: `${name}-note`, class: 'quiet' }, note)), input);
    };
    const count = (...words) => amount(...words, { now, space: of, save });
    const tags = (name, label, note) => {
      const held = () => (now[name] ?? []).join(', ');
      const input = h('input', {
        id: name, value: held(), placeholder: 'none', 'aria-describedby': `${name}-note`,
        onchange: () => save({ [name]: tagsIn(input.value) }, () => { input.value = held(); }),
      });
      return h('div', { class: 'setting' }, h('div', {}, h('label', { for: name }, label), h('p', { id: `${name}-note`, class: 'quiet' }, note)), input);
    };
    const zone = () => {
      const input = h('input', {
        id: 'time_zone', value: now.time_zone ?? '', placeholder: 'UTC', autocomplete: 'off', 'aria-describedby': 'time_zone-note',
        onchange: () => save({ time_zone: input.value.trim() || null }, () => { input.value = now.time_zone ?? ''; }),
      });
      const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
      const note = `Where your days begin when an assistant asks about “yesterday”. Here: ${here}`;
      return h('div', { class: 'setting' }, h('div', {}, h('label', { for: 'time_zone' }, 'Time zone'), h('p', { id: 'time_zone-note', class: 'quiet' }, note)), input);
    };
    return [
      toggle('memory_enabled', 'Remember', 'Off: nothing new is kept, and assistants are told nothing from this space.'),
      toggle('incognito_default', 'Incognito by default', 'New conversations leave no trace unless you end incognito in them; what you add here is kept once you end it for “notes”.'),
      count('retention_days', 'Forget after days', 'What was last said longer ago is forgotten, unless pinned or saved. 0: never.'),
      count('soft_cap', 'Memories kept', 'When there are more, the least important are archived. 0: any number.'),
      count('roll_up_after_days', 'Roll up after days', 'What nobody said or needed since becomes a few lines per topic. Originals are archived; pinned and saved stay. 0: never.'),
      count('originals_kept_days', 'Keep originals for days', 'After that a roll-up stands alone, and cannot be undone. 0: for ever.'),
      tags('gives_tags', 'Tags shared with other spaces', 'Only spaces that take the same tag see what carries it.'),
      tags('takes_tags', 'Tags taken from other spaces', 'Nothing passes unless both spaces say so.'),
      zone(),
    ];
  }

  load();
  return { end: () => {} };
}

function incognito() {
  const name = h('input', { id: 'conversation', 'aria-describedby': 'conversation-told', maxlength: '256', list: 'conversations', placeholder: 'id of the conversation' });
  const told = h('p', { class: 'quiet', id: 'conversation-told', role: 'status' });
  const change = async (on) => {
    if (!name.value.trim()) {
      told.textContent = 'Type the id of the conversation first: its memories show it under “Where it came from”.';
      return name.focus();
    }
    try {
      const reply = await api.incognito(on, { conversation_id: name.value.trim() });
      told.textContent = on ? `Nothing of this conversation is kept${reply.until ? `, until ${when(reply.until)}` : ''}.` : 'This conversation is not incognito.';
      return null;
    } catch (error) { return failed(error); }
  };
  return h('section', { class: 'part', 'aria-labelledby': 'incognito-title' },
    h('h2', { id: 'incognito-title' }, 'Incognito conversation'),
    h('p', { class: 'quiet' }, 'Nothing said in it is kept anywhere, and nothing is looked up for it.'),
    h('form', { class: 'row', onsubmit: (event) => { event.preventDefault(); change(true); } },
      h('label', { class: 'hidden', for: 'conversation' }, 'Conversation'), name,
      h('datalist', { id: 'conversations' }, [...known.conversations].map((one) => h('option', { value: one }))),
      h('button', { type: 'submit' }, 'Start'),
      h('button', { type: 'button', onclick: () => change(false) }, 'End')), told);
}

function themes() {
  const items = h('ul', { class: 'themes' });
  const proposed = h('div', {});
  const name = h('input', { id: 'theme-name', required: true, maxlength: '80', placeholder: 'Travel' });
  const note = h('input', { id: 'theme-note', maxlength: '400', placeholder: 'what belongs to it' });
  const propose = async () => {
    try {
      const { items: found } = await api.themeProposals();
      fill(proposed, found.length > 0 && h('ul', { class: 'themes', 'aria-label': 'Proposed themes' }, found.map((one) => proposalOf(one, load))));
    } catch { fill(proposed); } // without vectors nothing is proposed
  };
  const load = async () => {
    propose();
    try {
      const reply = await api.themes();
      known.themes.clear();
      reply.items.forEach((theme) => known.themes.set(theme.slug, theme.display_name));
      fill(items, ...reply.items.map((theme) => themeOf(theme, load)));
    } catch (error) { fill(items, h('li', { class: 'quiet' }, error.message)); }
  };
  load();
  return h('section', { class: 'part', 'aria-labelledby': 'themes-title' },
    h('h2', { id: 'themes-title' }, 'Themes'), h('p', { class: 'quiet' }, 'Subjects to file memories under. A memory gets its themes when it is edited, or with a theme that its likes suggest.'), items, proposed,
    h('form', {
      class: 'row', onsubmit: async (event) => {
        event.preventDefault();
        const saved = { slug: slugOf(name.value), display_name: name.value.trim(), description: note.value.trim() };
        try {
          await api.saveTheme(saved);
          event.target.reset();
          await load();
          name.focus();
        } catch (error) { failed(error); }
      },
    },
    h('label', { class: 'hidden', for: 'theme-name' }, 'Name of a theme'), name,
    h('label', { class: 'hidden', for: 'theme-note' }, 'Description'), note,
    h('button', { type: 'submit' }, 'Add')));
}

// A name without a Latin letter has no slug of its own.
const slugOf = (name) =>
  name.toLowerCase().normalize('NFKD').replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 64) || `theme-${Date.now().toString(36)}`;

function proposalOf(theme, load) {
  const accept = async () => {
    try {
      await api.saveTheme({ slug: theme.slug, display_name: theme.display_name, ids: theme.ids });
      await load();
      document.getElementById('theme-name').focus();
    } catch (error) { failed(error); }
  };
  return h('li', {}, h('div', {}, h('p', { dir: 'auto' }, `${theme.display_name}?`), h('p', { class: 'quiet', dir: 'auto' }, `${plural(theme.count, 'memory', 'memories')}: ${theme.examples[0]}`)),
    h('button', { type: 'button', 'aria-label': `Add the theme ${theme.display_name}`, onclick: accept }, 'Add'));
}

function themeOf(theme, load) {
  const remove = async () => {
    try {
      await api.removeTheme(theme.slug);
      await load();
      document.getElementById('theme-name').focus();
    } catch (error) { failed(error); }
  };
  return h('li', {},
    h('div', {}, h('p', {}, theme.display_name),
      h('p', { class: 'quiet' }, [theme.description, plural(theme.count ?? 0, 'memory', 'memories')].filter(Boolean).join(' · '))),
    h('div', { class: 'row' },
      h('button', { type: 'button', class: 'link', 'data-theme': theme.slug, 'aria-label': `Rename theme ${theme.display_name}`, onclick: () => renameDialog(theme, load) }, 'Rename'),
      h('button', { type: 'button', class: 'link', 'aria-label': `Remove theme ${theme.display_name}`, onclick: remove }, 'Remove')));
}

function renameDialog(theme, load) {
  const name = h('input', { id: 'rename-name', required: true, maxlength: '80', value: theme.display_name });
  const note = h('input', { id: 'rename-note', maxlength: '400', value: theme.description ?? '' });
  const fault = h('p', { class: 'fault', role: 'alert' });
  dialog('Rename a theme', (close) => [h('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await api.saveTheme({ slug: theme.slug, display_name: name.value.trim(), description: note.value.trim() });
        close();
        await load();
        document.querySelector(`[data-theme="${theme.slug}"]`)?.focus();
      } catch (error) { fault.textContent = error.message; }
    },
  },
  h('label', { for: 'rename-name' }, 'Name'), name,
  h('label', { for: 'rename-note' }, 'Description'), note, fault,
  h('div', { class: 'row end' },
    h('button', { type: 'button', onclick: close }, 'Cancel'), h('button', { type: 'submit', class: 'primary' }, 'Save')))]);
  name.select();
}

function look() {
  const choice = h('select', { id: 'look', onchange: () => setLook(choice.value) },
    [['', 'As the system'], ['light', 'Light'], ['dark', 'Dark']].map(([value, label]) =>
      h('option', { value, selected: value === (localStorage.getItem('memory-look') ?? '') }, label)));
  return h('section', { class: 'part', 'aria-labelledby': 'look-title' },
    h('h2', { id: 'look-title' }, 'This page'),
    h('div', { class: 'setting' }, h('label', { for: 'look' }, 'Colours'), choice),
    h('div', { class: 'setting' },
      h('div', {}, h('label', { for: 'keys' }, 'Single-key shortcuts'), h('p', { id: 'keys-note', class: 'quiet' }, 'Press ? to see them.')),
      h('input', {
        type: 'checkbox', role: 'switch', id: 'keys', 'aria-describedby': 'keys-note', checked: localStorage.getItem('memory-keys') !== 'off',
        onchange: (event) => localStorage.setItem('memory-keys', event.target.checked ? 'on' : 'off'),
      })));
}

export function setLook(value = localStorage.getItem('memory-look') ?? '') {
  localStorage.setItem('memory-look', value);
  if (value) document.documentElement.dataset.look = value;
  else delete document.documentElement.dataset.look;
}

function yours() {
  const download = async (event) => {
    event.target.disabled = true;
    try {
      const link = h('a', { href: URL.createObjectURL(await api.exported()), download: `memory-${new Date().toISOString().slice(0, 10)}.jsonl` });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) { failed(error); }
    event.target.disabled = false;
    if (document.activeElement === document.body) event.target.focus();
  };
  return h('section', { class: 'part', 'aria-labelledby': 'yours-title' },
    h('h2', { id: 'yours-title' }, 'It is yours'),
    h('div', { class: 'setting' },
      h('div', {}, h('p', {}, 'Export'), h('p', { class: 'quiet' }, 'Everything, as lines of JSON that memorybus can import again.')),
      h('button', { type: 'button', onclick: download }, 'Download')),
    h('div', { class: 'setting' },
      h('div', {}, h('p', {}, 'Erase everything'), h('p', { class: 'quiet' }, 'All memories and conversations, in every space. This cannot be undone.')),
      h('button', { type: 'button', class: 'danger', onclick: eraseDialog }, 'Erase…')));
}

function eraseDialog() {
  const word = h('input', { id: 'erase-word', autocomplete: 'off', required: true, pattern: '\\s*[Ee][Rr][Aa][Ss][Ee]\\s*' });
  const out = h('div', { role: 'status' });
  dialog('Erase everything', (close) => [h('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      event.submitter.disabled = true;
      try {
        let { receipt } = await api.erase();
        while (receipt.state === 'under_way') {
          fill(out, h('p', {}, 'Erasing… it goes on by itself if you leave.'));
          await new Promise((resolve) => setTimeout(resolve, 1000));
          ({ receipt } = await api.erase({ requested_at: receipt.requested_at }));
        }
        fill(out, receiptOf(receipt));
        out.closest('dialog').addEventListener('close', () => { dropDrafts(); location.hash = '#/'; location.reload(); });  // nothing is left in this tab either
      } catch (error) {
        event.submitter.disabled = false;
        fill(out, h('p', { class: 'fault' }, error.message));
      }
    },
  },
  h('p', {}, 'All memories, conversations, themes and settings are removed from every store and file. Nobody can bring them back.'),
  h('p', {}, 'Only your wish for nothing to be kept stays: where memory is off or incognito, it is so until you decide otherwise.'),
  h('label', { for: 'erase-word' }, 'Type “erase” to go on'), word, out,
  h('div', { class: 'row end' },
    h('button', { type: 'button', onclick: close }, 'Close'),
    h('button', { type: 'submit', class: 'danger' }, 'Erase everything')))]);
  word.focus();
}

function receiptOf(receipt) {
  const removed = Object.entries(receipt.removed).filter(([, count]) => count);
  const left = Object.values(receipt.left).reduce((sum, count) => sum + count, 0);
  return h('div', {},
    h('p', {}, left ? `Still found: ${number(left)}.` : 'Done. Looking again found nothing.'),
    h('ul', { class: 'past' }, removed.map(([what, count]) => h('li', {}, `${what}: ${number(count)}`))));
}
