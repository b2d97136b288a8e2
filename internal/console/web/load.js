// Asking for a document and showing how far that is.
import { html, useCallback, useEffect, useRef, useState } from './dom.js';

/**
 * useLoad asks when its keys change, and again with again(). While it asks anew, what was
 * there stays. The answer is {doc, error, busy, again}.
 */
export function useLoad(ask, keys) {
  const [state, set] = useState({ doc: null, error: null, busy: true });
  const turn = useRef(0);
  const again = useCallback(async () => {
    const mine = ++turn.current;
    set((s) => ({ ...s, busy: true }));
    try {
      const doc = await ask();
      if (mine === turn.current) set({ doc, error: null, busy: false });
    } catch (error) {
      if (mine === turn.current) set((s) => ({ doc: s.doc, error, busy: false }));
    }
  }, keys);
  useEffect(() => {
    again();
    return () => { turn.current++; };
  }, [again]);
  return { ...state, again };
}

/** Trouble says what went wrong and what to do. */
export function Trouble({ error, again }) {
  if (!error) return null;
  return html`<div class="trouble" role="alert">
    <p><strong>${error.status === 0 ? 'Not connected' : error.status === 403 ? 'Not allowed' : 'That did not work'}.</strong>
      ${' '}${error.message}</p>
    ${error.hint && html`<p class="hint">hint: <code>${error.hint}</code></p>`}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

/** Waiting stands where something will be. */
export const Waiting = ({ what = 'Loading' }) => html`<p class="waiting" role="status">${what} …</p>`;

/** Empty says that there is nothing, and what would change that. */
export const Empty = ({ title, children }) => html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
