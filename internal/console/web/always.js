// An answer that lasts: the rule that it writes into a settings file, and what was written.
import { html, useEffect, useRef, useState } from './dom.js';
import { seen, plain, hidesSomething } from './text.js';
import { store, useStore } from './store.js';
import { may } from './api.js';
import { announce } from './parts.js';

const layers = { local: 'Always in this project', user: 'Always for me' };

/** lasts reports whether an answer to a question can be for good, and the person may say so. */
export const lasts = (q) => may('admin') && !!q.always && ((q.always.rules || []).length > 0 || !!q.always.path || (q.always.hosts || []).length > 0 || (q.scopes || []).length > 0);

const written = store(null); // what the last answer for good has written

/** tellKept shows what an answer has written. */
export function tellKept(kept) {
  if (!kept) return;
  written.set(kept);
  announce(kept.text);
}

/** Kept says what was written, and where, until it is closed. */
export function Kept() {
  const kept = useStore(written);
  if (!kept) return null;
  return html`<div class="kept" role="status"><p>${seen(kept.text)}</p>
    <button type="button" class="quiet" onClick=${() => written.set(null)}>Close</button></div>`;
}

/** Always is where a rule is chosen and where it is written to. */
export function Always({ q, ready, busy, decide, onClose }) {
  const { rules = [], hosts = [], files = [], refused } = q.always;
  const path = q.always.path || hosts.join(' at '); // what is opened in the sandbox, instead of a rule
  const [choice, setChoice] = useState(0);
  const [rule, setRule] = useState(rules[0]?.rule || '');
  const first = useRef(null);
  useEffect(() => { first.current?.focus(); }, []);
  const own = choice === rules.length;
  const pick = (i) => { setChoice(i); if (i < rules.length) setRule(rules[i].rule); };
  const wrong = busy || !ready || (!path && !rule.trim());
  const scope = path ? undefined : rule.trim();
  const name = 'always-' + q.id;
  return html`<fieldset class="scope" onKeyDown=${(e) => { if (e.key === 'Escape') { e.stopPropagation(); onClose(); } }}>
    <legend>${path ? (hosts.length ? 'Always let commands connect to' : 'Always let commands write') : 'Always allow, by the rule'}</legend>
    ${path ? html`<p class="mono">${seen(path)}</p>` : html`
    ${rules.map((s, i) => html`<label key=${i} class="choice"><input type="radio" name=${name} checked=${choice === i} ref=${i === 0 ? first : null} onChange=${() => pick(i)} />
      <span>${seen(s.text)} <code>${seen(s.rule)}</code></span></label>`)}
    <label class="choice"><input type="radio" name=${name} checked=${own} ref=${rules.length === 0 ? first : null} onChange=${() => pick(rules.length)} /><span>a rule of your own</span></label>
    <label class="field"><span>Rule</span>
      <input type="text" class="mono" value=${rule} spellcheck=${false} autocomplete="off" maxlength="4096" onInput=${(e) => setRule(e.target.value)} placeholder="Bash(npm run build:*)" /></label>
    ${hidesSomething(rule) && html`<p class="warning">The rule has characters that cannot be seen: ${plain(rule)}</p>`}`}
    ${files.filter((f) => layers[f.layer]).map((f) => html`<p key=${f.layer} class="note-line">${layers[f.layer]} writes <span class="mono">${seen(f.file)}</span></p>`)}
    ${refused && html`<p class="note-line">${seen(refused)}</p>`}
    <div class="actions">
      ${files.filter((f) => layers[f.layer]).map((f) => html`<button key=${f.layer} type="button" class="allow" disabled=${wrong}
        onClick=${() => decide({ decision: 'allow-session', scope, always: f.layer })}>${layers[f.layer]}</button>`)}
      <button type="button" onClick=${onClose}>Cancel</button>
    </div></fieldset>`;
}
