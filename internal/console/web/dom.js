// What every part of the page builds with: Preact, its hooks, and htm bound to it.
import { h, render, Fragment } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';
import { plain } from './unseen.js';

const titles = ['title', 'aria-label', 'placeholder', 'alt'];

// text makes what cannot be seen visible, wherever it is put.
const text = (c) => (typeof c === 'string' ? plain(c) : Array.isArray(c) ? c.map(text) : c);

// element is what every element of the page is made by: nothing that cannot be seen gets
// into its text, whoever forgot to look.
function element(type, props, ...children) {
  if (typeof type === 'string' && props) {
    for (const t of titles) if (typeof props[t] === 'string') props[t] = plain(props[t]);
  }
  return h(type, props, ...children.map(text));
}

export const html = htm.bind(element);
export { render, Fragment };
export {
  useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState, useId,
} from './vendor/hooks.mjs';

/** cls joins class names and leaves out what is false. */
export const cls = (...names) => names.filter(Boolean).join(' ');
