// Several memories chosen at once, and what may be done with all of them.

import { tagsIn } from './add.js';
import * as api from './api.js';
import { dialog, failed, fill, h, icon, iconButton, plural, toast } from './dom.js';
import { forgetSoon, known } from './state.js';

const memories = (count) => plural(count, 'memory', 'memories');

const CHANGES = {
  pin: () => ({ pinned: true }),
  unpin: () => ({ pinned: false }),
  tag: (entry, tags) => ({ tags: [...new Set([...entry.tags, ...tags])] }),
  untag: (entry, tags) => ({ tags: entry.tags.filter((tag) => !tags.includes(tag)) }),
};

/** What is chosen of a list that `shown` gives, `render` draws anew and `change` takes changed entries for. */
export function selection({ shown, render, change }) {
  const chosen = new Set();
  let on = false;
  const panel = h('div', { class: 'selection', role: 'group', 'aria-label': 'Selected memories', hidden: true });
  const button = h('button', { type: 'button', class: 'link', id: 'select', 'aria-keyshortcuts': 'x', hidden: true, onclick: () => set(!on) });

  function set(is) {
    on = is;
    chosen.clear();
    render();
  }

  function end() {
    set(false);
    (button.hidden ? document.getElementById('main') : button).focus();
  }

  function flip(entry) {
    on = true;
    if (!chosen.delete(entry.id)) chosen.add(entry.id);
    render();
  }

  function draw() {
    const listed = shown();
    const ones = listed.filter((entry) => chosen.has(entry.id));
    button.textContent = on ? 'Done' : 'Select';
    button.hidden = !on && !listed.length;
    panel.hidden = !on;
    if (!on) return;
    const pinned = ones.length > 0 && ones.every((entry) => entry.pinned);
    const none = !ones.length;
    const every = ones.length === listed.length;
    const all = () => { listed.forEach(({ id }) => (every ? chosen.delete(id) : chosen.add(id))); render(); };
    fill(panel,
      h('p', { role: 'status' }, none ? 'None selected' : `${ones.length} selected`),
      action('all', every ? 'None' : 'All shown', all, !listed.length),
      action('pin', pinned ? 'Unpin' : 'Pin', () => act(ones, pinned ? 'unpin' : 'pin'), none),
      action('tag', 'Tag…', () => tagDialog(ones), none),
      action('trash', 'Forget', () => { forgetSoon(ones); end(); }, none),
      iconButton('close', 'End selecting', end, { 'aria-keyshortcuts': 'Escape' }));
  }

  const action = (name, label, onclick, disabled) =>
    h('button', { type: 'button', class: 'chip', 'data-focus': `selected-${name}`, disabled, onclick }, icon(name), label);

  async function act(ones, verb, tags) {
    try {
      const { done, failed: left } = await api.bulk(ones.map((entry) => entry.id), verb, tags && { tags });
      const changed = new Set(done);
      end();
      change(ones.filter((entry) => changed.has(entry.id)).map((entry) => ({ ...entry, ...CHANGES[verb](entry, tags) })));
      if (left.length) failed(new Error(`${memories(left.length)} could not be changed: ${left[0].message}`));
      if (done.length) toast(`${memories(done.length)} changed.`);
    } catch (error) { failed(error); }
  }

  function tagDialog(ones) {
    const field = h('input', { id: 'bulk-tags', required: true, placeholder: 'travel, habits', autocomplete: 'off' });
    const taken = [...new Set(ones.flatMap((entry) => entry.tags))];
    dialog(`Tag ${memories(ones.length)}`, (close) => {
      const say = (verb) => {
        if (!field.reportValidity() || !tagsIn(field.value).length) return;
        close();
        tagsIn(field.value).forEach((tag) => known.tags.add(tag));
        act(ones, verb, tagsIn(field.value));
      };
      return [h('form', { onsubmit: (event) => { event.preventDefault(); say('tag'); } },
        h('label', { for: 'bulk-tags' }, 'Tags, separated by commas'), field,
        taken.length > 0 && h('p', { class: 'quiet' }, `Carried now: ${taken.join(', ')}`),
        h('div', { class: 'row end' },
          h('button', { type: 'button', onclick: close }, 'Cancel'),
          h('button', { type: 'button', onclick: () => say('untag') }, 'Take away'),
          h('button', { type: 'submit', class: 'primary' }, 'Add')))];
    });
    field.focus();
  }

  /** The box before an entry; none while nothing is being chosen. */
  const box = (entry) => on && h('input', {
    type: 'checkbox', class: 'choose', 'aria-label': `Select “${entry.text.slice(0, 60)}”`, checked: chosen.has(entry.id),
    'data-focus': `choose-${entry.id}`, onchange: () => flip(entry),
  });

  return { panel, button, draw, box, flip, end, isOn: () => on };
}
