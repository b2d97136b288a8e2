// Loading a document and showing the progress.
import { html, useCallback, useEffect, useRef, useState } from './dom.js';

/**
 * useLoad loads when its keys change, and again with again(). While it reloads, the previous
 * document stays. It returns {doc, error, busy, again}.
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

/** Trouble shows an error and its hint. */
export function Trouble({ error, again }) {
  if (!error) return null;
  return html`<div class="trouble" role="alert">
    <p><strong>${error.status === 0 ? 'Not connected' : error.status === 403 ? 'Not allowed' : 'Error'}.</strong>
      ${' '}${error.message}</p>
    ${error.hint && html`<p class="hint">hint: <code>${error.hint}</code></p>`}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

/** Waiting is shown while content loads. */
export const Waiting = ({ what = 'Loading' }) => html`<p class="waiting" role="status">${what} …</p>`;

/** Empty is shown if there is no content, with what to do about it. */
export const Empty = ({ title, children }) => html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
