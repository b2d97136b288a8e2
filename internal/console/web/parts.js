// Small components that several screens use.
import { html, cls, useEffect, useRef, useState } from './dom.js';
import { seen, plain, oneLine } from './text.js';

/** Origin shows a rule's text, file and line. */
export function Origin({ rule }) {
  if (!rule) return null;
  return html`<span class="origin">${rule.rule && html`<code>${seen(rule.rule)}</code> `}${rule.file
    ? html`<span class="mono muted">${plain(rule.file)}${rule.line ? ':' + rule.line : ''}</span>`
    : rule.layer && html`<span class="muted">${rule.layer}</span>`}</span>`;
}

/** Badge is a word with a color; the word alone carries the meaning. */
export const Badge = ({ kind, children, title }) => html`<span class=${'badge badge-' + kind} title=${title}>${children}</span>`;

const verdicts = { allow: 'yes', deny: 'no', ask: 'ask' };
export const Verdict = ({ effect }) => html`<${Badge} kind=${verdicts[effect] || 'plain'}>${effect || 'no opinion'}</${Badge}>`;

/** Json shows a whole value, with invisible characters marked. */
export const Json = ({ value, label = 'JSON' }) => html`<pre class="code json" tabindex="0" role="region" aria-label=${label}>${seen(JSON.stringify(value, null, 2))}</pre>`;

/** Fact is one line of a list of facts. */
export const Fact = ({ name, children }) => html`<div class="fact"><dt>${name}</dt><dd>${children}</dd></div>`;

/** Fold hides long content until it is opened. */
export function Fold({ summary, children, open = false, onToggle }) {
  const [is, set] = useState(open);
  return html`<details class="fold" open=${is} onToggle=${(e) => { set(e.target.open); onToggle?.(e.target.open); }}>
    <summary>${summary}</summary>${is && children}</details>`;
}

/** Dialog shows a question or an explanation. It takes the focus and returns it. */
export function Dialog({ title, onClose, children, wide }) {
  const ref = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.isConnected && before.focus?.();
  }, []);
  return html`<dialog ref=${ref} class=${cls('dialog', wide && 'wide')} aria-labelledby="dialog-title"
    onClose=${onClose} onClick=${(e) => e.target === ref.current && onClose()}>
    <div class="dialog-body">
      <h2 id="dialog-title">${title}</h2>${children}
    </div></dialog>`;
}

/** Confirm asks before an action that cannot be undone. */
export function Confirm({ title, children, verb, danger, onYes, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>${children}
    <div class="actions"><button type="button" class=${danger ? 'danger' : 'primary'} onClick=${() => { onClose(); onYes(); }}>${verb}</button>
      <button type="button" onClick=${onClose}>Cancel</button></div></${Dialog}>`;
}

/** bytes formats a size. */
export const bytes = (n) => (n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(1) + ' KiB' : n < 1073741824 ? (n / 1048576).toFixed(1) + ' MiB' : (n / 1073741824).toFixed(1) + ' GiB');

/** titleOf returns the title of a session. */
export const titleOf = (s) => oneLine(s.title || s.summary || s.first_prompt || s.id);

/** shortPath shortens a path for lists; the whole path is in the title attribute. */
export function shortPath(p) {
  const s = oneLine(p).replace(/^\/(home|Users)\/[^/]+/, '~').replace(/^\/root(?=\/|$)/, '~');
  const parts = s.split('/');
  return s.length > 42 && parts.length > 4 ? [parts[0], parts[1], '…', ...parts.slice(-2)].join('/') : s;
}

const statuses = {
  pending: 'plain', running: 'run', waiting: 'ask', completed: 'yes', failed: 'no', cancelled: 'plain', interrupted: 'ask',
};

/** StatusBadge shows the state of a run. */
export function StatusBadge({ status, questions = 0 }) {
  if (questions > 0) return html`<${Badge} kind="ask">${questions === 1 ? 'waiting' : `waiting (${questions})`}</${Badge}>`;
  if (!status) return html`<${Badge} kind="plain">idle</${Badge}>`;
  return html`<${Badge} kind=${statuses[status] || 'plain'}>${status}</${Badge}>`;
}

/** typing reports whether a key press is for a field. */
export const typing = (e) => e.ctrlKey || e.metaKey || e.altKey || e.isComposing
  || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target?.tagName || '') || e.target?.isContentEditable || !!document.querySelector('dialog[open]');

/** announce announces a text to screen readers, politely. */
export function announce(text, urgent = false) {
  const el = document.getElementById(urgent ? 'urgent' : 'polite');
  if (!el) return;
  el.textContent = '';
  setTimeout(() => { el.textContent = text; }, 30);
}
