// An answer that saves a rule in a settings file, and the result.
import { html, useEffect, useRef, useState } from './dom.js';
import { seen, plain, hidesSomething } from './text.js';
import { store, useStore } from './store.js';
import { may } from './api.js';
import { announce } from './parts.js';

const layers = { local: 'Always in this project', user: 'Always for me' };

/** canSaveRule reports whether the answer to a request can be saved as a rule, and the caller may do so. */
export const canSaveRule = (q) => may('admin') && !!q.always && ((q.always.rules || []).length > 0 || !!q.always.path || (q.always.hosts || []).length > 0 || (q.scopes || []).length > 0);

const lastSaved = store(null); // what the last answer saved

/** showSaved shows what an answer saved. */
export function showSaved(saved) {
  if (!saved) return;
  lastSaved.set(saved);
  announce(saved.text);
}

/** SavedNotice shows what was saved, and where, until it is closed. */
export function SavedNotice() {
  const saved = useStore(lastSaved);
  if (!saved) return null;
  return html`<div class="kept" role="status"><p>${seen(saved.text)}</p>
    <button type="button" class="quiet" onClick=${() => lastSaved.set(null)}>Close</button></div>`;
}

/** SaveRule is the form that chooses a rule and its settings file. */
export function SaveRule({ q, ready, busy, decide, onClose }) {
  const { rules = [], hosts = [], files = [], refused } = q.always;
  const path = q.always.path || hosts.join(' at '); // a sandbox permission instead of a rule
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
    <legend>${path ? (hosts.length ? 'Always let commands connect to' : 'Always let commands write') : 'Always allow with this rule'}</legend>
    ${path ? html`<p class="mono">${seen(path)}</p>` : html`
    ${rules.map((s, i) => html`<label key=${i} class="choice"><input type="radio" name=${name} checked=${choice === i} ref=${i === 0 ? first : null} onChange=${() => pick(i)} />
      <span>${seen(s.text)} <code>${seen(s.rule)}</code></span></label>`)}
    <label class="choice"><input type="radio" name=${name} checked=${own} ref=${rules.length === 0 ? first : null} onChange=${() => pick(rules.length)} /><span>your own rule</span></label>
    <label class="field"><span>Rule</span>
      <input type="text" class="mono" value=${rule} spellcheck=${false} autocomplete="off" maxlength="4096" onInput=${(e) => setRule(e.target.value)} placeholder="Bash(npm run build:*)" /></label>
    ${hidesSomething(rule) && html`<p class="warning">The rule contains invisible characters: ${plain(rule)}</p>`}`}
    ${files.filter((f) => layers[f.layer]).map((f) => html`<p key=${f.layer} class="note-line">${layers[f.layer]} writes <span class="mono">${seen(f.file)}</span></p>`)}
    ${refused && html`<p class="note-line">${seen(refused)}</p>`}
    <div class="actions">
      ${files.filter((f) => layers[f.layer]).map((f) => html`<button key=${f.layer} type="button" class="allow" disabled=${wrong}
        onClick=${() => decide({ decision: 'allow-session', scope, always: f.layer })}>${layers[f.layer]}</button>`)}
      <button type="button" onClick=${onClose}>Cancel</button>
    </div></fieldset>`;
}
