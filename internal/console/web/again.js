// An answer that was refused for now: it stays on its card and is sent again.
import { html, useEffect, useState } from './dom.js';

const names = {
  allow: 'Allow', deny: 'Deny', 'allow-session': 'Allow for this session', 'deny-session': 'Deny for this session',
};

const reasons = { 0: 'the daemon does not answer', 507: 'the disk of its store is full' };

/** forNow reports whether an error says that nothing was done, and that the same may be asked again. */
export const forNow = (e) => e.status === 503 || e.status === 507 || e.status === 0;

/** useAgain keeps an answer that was refused for now, and has send(answer) called when its time has come. */
export function useAgain(send, idle) {
  const [kept, keep] = useState(null); // {answer, error}
  useEffect(() => {
    if (!kept || !idle) return undefined;
    const timer = setTimeout(() => send(kept.answer), (kept.error.after || 2) * 1000);
    return () => clearTimeout(timer);
  }, [kept, idle]);
  return [kept, keep];
}

/** Again says what was not taken, and why. */
export function Again({ kept, busy, send, drop }) {
  const name = (kept.answer.always ? 'Always allow' : names[kept.answer.decision]) + (kept.answer.stop ? ' and stop' : '');
  return html`<div class="again" role="status">
    <p class="warning">Your answer, <strong>${name}</strong>, was not taken: ${reasons[kept.error.status] || 'the store is away, or the daemon is about to end'}. It is kept here and sent again by itself.</p>
    <div class="actions"><button type="button" disabled=${busy} onClick=${() => send(kept.answer)}>Send now</button>
      <button type="button" disabled=${busy} onClick=${drop}>Do not send it</button></div></div>`;
}
