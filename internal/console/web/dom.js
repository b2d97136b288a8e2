// The building blocks of the page: Preact, its hooks, and htm bound to it.
import { h, render, Fragment } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';
import { plain } from './unseen.js';

const titles = ['title', 'aria-label', 'placeholder', 'alt'];

// text makes invisible characters visible.
const text = (c) => (typeof c === 'string' ? plain(c) : Array.isArray(c) ? c.map(text) : c);

// element creates every element of the page, so that no invisible character gets into its
// text, even where a caller does not check.
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

/** cls joins class names and omits false values. */
export const cls = (...names) => names.filter(Boolean).join(' ');
