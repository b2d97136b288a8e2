// What every part of the page builds with: Preact, its hooks, and htm bound to it.
import { h, render, Fragment } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

export const html = htm.bind(h);
export { render, Fragment };
export {
  useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState, useId,
} from './vendor/hooks.mjs';

/** cls joins class names and leaves out what is false. */
export const cls = (...names) => names.filter(Boolean).join(' ');
