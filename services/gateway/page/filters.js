// The chips that narrow a list: one of several values, or whether something is so.

import { h } from './dom.js';

/** A chip of which one option is chosen, or `none`; an option is a value, or a value and its name. */
export function choice(label, value, options, onchange, none) {
  const pairs = options.map((option) => Array.isArray(option) ? option : [option, option]);
  if (value && !pairs.some(([key]) => key === value)) pairs.push([value, value]);  // what is chosen stays in sight
  return h('select', {
    'aria-label': label, class: value ? 'chip on' : 'chip', 'data-focus': label, onchange: (event) => onchange(event.target.value),
  }, h('option', { value: '' }, none),
  pairs.map(([key, name]) => h('option', { value: key, selected: key === value }, name)));
}

/** A chip that is on or off. */
export function flag(label, name, value, onchange) {
  return h('button', {
    type: 'button', class: 'chip', 'aria-pressed': String(value), 'data-focus': name, onclick: () => onchange(!value),
  }, label);
}
