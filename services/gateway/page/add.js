// How a memory is made by hand: its words, its type, its space and its tags.

import * as api from './api.js';
import { dialog, drafted, fill, h, sendByKey, toast } from './dom.js';
import { known, place } from './state.js';

export const TYPES = ['fact', 'preference', 'decision', 'instruction', 'note', 'summary', 'other'];

/** The names in a text that parts them by commas. */
export const tagsIn = (text) => [...new Set(text.split(',').map((tag) => tag.trim()).filter(Boolean))];

const whyNot = (error) => (error.message.startsWith('memory is off')
  ? ['Memory is off in this space, so this was not kept. ', h('a', { href: '#/settings' }, 'Turn it on in the settings'), ', then add it again.']
  : [error.message]);

/** Ask for a text and remember it. */
export function addDialog(onadded) {
  const text = h('textarea', { id: 'new-text', required: true, rows: '4', maxlength: '16000', placeholder: 'I prefer trains over planes' });
  const type = h('select', { id: 'new-type' }, h('option', { value: '' }, 'Decide by its words'), TYPES.map((one) => h('option', { value: one }, one)));
  const tags = h('input', { id: 'new-tags', placeholder: 'travel, habits' });
  const space = h('input', { id: 'new-space', value: place.space || 'default', required: true, maxlength: '256', list: 'spaces' });
  const fault = h('p', { class: 'fault', role: 'alert' });
  const draft = drafted('add', text, type, space, tags);
  dialog('Add a memory', (close) => [h('form', {
    onkeydown: sendByKey,
    onsubmit: async (event) => {
      event.preventDefault();
      const button = event.submitter;
      if (button) button.disabled = true;
      fault.textContent = '';
      try {
        const entry = await api.add({
          text: text.value, type: type.value || null, space: space.value.trim(), manually_saved: true, tags: tagsIn(tags.value),
        });
        draft.drop();
        close();
        toast('Remembered.');
        onadded(entry);
      } catch (error) { fill(fault, ...whyNot(error)); }
      if (button) button.disabled = false;
    },
  },
  h('label', { for: 'new-text' }, 'What should be remembered?'), text,
  h('div', { class: 'pair' },
    h('div', {}, h('label', { for: 'new-type' }, 'Type'), type),
    h('div', {}, h('label', { for: 'new-space' }, 'Space'), space,
      h('datalist', { id: 'spaces' }, [...known.spaces].map((name) => h('option', { value: name }))))),
  h('label', { for: 'new-tags' }, 'Tags, separated by commas'), tags,
  draft.isOld && h('p', { class: 'quiet small' }, 'What you had typed is still here; Cancel drops it.'),
  fault,
  h('div', { class: 'row end' },
    h('button', { type: 'button', onclick: () => { draft.drop(); close(); } }, 'Cancel'),
    h('button', { type: 'submit', class: 'primary' }, 'Remember')))]);
  text.focus();
}
