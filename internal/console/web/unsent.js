// An answer that could not be stored yet. It stays on its card and is sent again.
import { html, useEffect, useState } from './dom.js';

const names = {
  allow: 'Allow', deny: 'Deny', 'allow-session': 'Allow for this session', 'deny-session': 'Deny for this session',
};

const reasons = { 0: 'the daemon does not answer', 507: 'the disk of its store is full' };

/** isTemporary reports whether an error is temporary: nothing was done, and the request can be sent again. */
export const isTemporary = (e) => e.status === 503 || e.status === 507 || e.status === 0;

/** useUnsentAnswer keeps an answer that could not be stored yet, and calls send(answer) when it is time to retry. */
export function useUnsentAnswer(send, idle) {
  const [pending, setPending] = useState(null); // {answer, error}
  useEffect(() => {
    if (!pending || !idle) return undefined;
    const timer = setTimeout(() => send(pending.answer), (pending.error.after || 2) * 1000);
    return () => clearTimeout(timer);
  }, [pending, idle]);
  return [pending, setPending];
}

/** UnsentAnswer shows which answer was not stored, and why. */
export function UnsentAnswer({ pending, busy, send, drop }) {
  const name = (pending.answer.always ? 'Always allow' : names[pending.answer.decision]) + (pending.answer.stop ? ' and stop' : '');
  return html`<div class="again" role="status">
    <p class="warning">Your answer, <strong>${name}</strong>, could not be stored: ${reasons[pending.error.status] || 'the store is unreachable, or the daemon is stopping'}. This page keeps it and sends it again automatically.</p>
    <div class="actions"><button type="button" disabled=${busy} onClick=${() => send(pending.answer)}>Send now</button>
      <button type="button" disabled=${busy} onClick=${drop}>Discard it</button></div></div>`;
}
