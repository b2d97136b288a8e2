// Requests that only a user can answer: plans, and questions of the model.
import { html, cls, useState } from './dom.js';
import { seen, oneLine, hidesSomething } from './text.js';
import { markdown } from './markdown.js';

const own = (q) => q.requests?.length === 1 && q.requests[0].person && q.requests[0].input;

/** planOf returns the plan of a request; undefined for other requests. */
export const planOf = (q) => {
  const text = q.tool === 'ExitPlanMode' && own(q) ? own(q).plan : undefined;
  return typeof text === 'string' ? text : undefined;
};

/** choicesOf returns the model's questions to the user; undefined for other requests. */
export const choicesOf = (q) => {
  const list = q.tool === 'AskUserQuestion' && own(q) ? own(q).questions : undefined;
  return Array.isArray(list) && list.every((c) => typeof c?.question === 'string' && Array.isArray(c.options)) ? list : undefined;
};

/** Plan shows a plan, formatted or as plain text. */
export function Plan({ text }) {
  const [raw, setRaw] = useState(false);
  return html`<div class="plan">
    ${raw ? html`<pre class="code">${seen(text)}</pre>` : html`<div class="prose">${markdown(text)}</div>`}
    ${hidesSomething(text) && html`<p class="warning">The text contains invisible characters. They are marked.</p>`}
    <button type="button" class="link" aria-pressed=${raw} onClick=${() => setRaw(!raw)}>${raw ? 'Formatted' : 'Plain text'}</button></div>`;
}

/** given returns the answers so far: a list of texts for each question. */
export const given = (list, inputs) => list.map((c, i) => {
  const s = inputs[i] || { picked: [], own: false, text: '' };
  const words = s.own && s.text.trim() ? [s.text.trim()] : [];
  return c.multiSelect ? [...s.picked, ...words.filter((w) => !s.picked.includes(w))] : s.own ? words : s.picked.slice(0, 1);
});

/** answersOf returns the answer's input, or null while an answer is missing. */
export const answersOf = (list, inputs) => {
  const all = given(list, inputs);
  if (all.some((a) => a.length === 0)) return null;
  return { answers: Object.fromEntries(list.map((c, i) => [c.question, all[i].length === 1 ? all[i][0] : all[i]])) };
};

/** Choices shows the questions. props: id; list; inputs and setInputs, the choices by question. */
export function Choices({ id, list, inputs, setInputs, disabled }) {
  const at = (i) => inputs[i] || { picked: [], own: false, text: '' };
  const set = (i, change) => setInputs({ ...inputs, [i]: { ...at(i), ...change } });
  return html`<div class="ask">${list.map((c, i) => {
    const s = at(i);
    const kind = c.multiSelect ? 'checkbox' : 'radio';
    const pick = (label, on) => set(i, c.multiSelect ? { picked: on ? [...s.picked, label] : s.picked.filter((p) => p !== label) } : { picked: [label], own: false });
    return html`<fieldset key=${i} class="scope" disabled=${disabled}>
      <legend><span class="badge">${oneLine(c.header)}</span> ${seen(c.question)}${c.multiSelect && html` <span class="muted">choose one or more</span>`}</legend>
      ${c.options.map((o, j) => html`<label key=${j} class="choice option"><input type=${kind} name=${`ask-${id}-${i}`} checked=${s.picked.includes(o.label) && (c.multiSelect || !s.own)}
        onChange=${(e) => pick(o.label, e.target.checked)} />
        <span><b>${seen(o.label)}</b>${o.description && html` <span class="muted">${seen(o.description)}</span>`}${o.preview && html`<pre class="code">${seen(o.preview)}</pre>`}</span></label>`)}
      <label class="choice option"><input type=${kind} name=${`ask-${id}-${i}`} checked=${s.own} onChange=${(e) => set(i, { own: e.target.checked })} /><span>your own answer</span></label>
      ${s.own && html`<label class="field"><span>Your answer</span><textarea rows="2" maxlength="4000" value=${s.text} onInput=${(e) => set(i, { text: e.target.value })}></textarea></label>`}
    </fieldset>`;
  })}</div>`;
}

/** PlanActions are the buttons of a plan. */
export function PlanActions({ ready, busy, decide, open, panel, keyOf }) {
  const off = !ready || busy;
  const yes = (mode) => decide({ decision: 'allow', input: { mode } });
  return html`<button type="button" class="allow" disabled=${off} onClick=${() => yes('default')}>Allow, ask before each change${keyOf('y')}</button>
    <button type="button" class="allow" disabled=${off} onClick=${() => yes('acceptEdits')}>Allow, edit files without asking</button>
    <button type="button" class="deny" disabled=${off} onClick=${() => decide({ decision: 'deny' })}>Keep planning${keyOf('n')}</button>
    <button type="button" class=${cls(panel === 'reason' && 'open')} disabled=${off} aria-expanded=${panel === 'reason'} onClick=${() => open('reason')}>Keep planning, because…${keyOf('m')}</button>
    <button type="button" disabled=${off} onClick=${() => decide({ decision: 'deny', stop: true })}>Stop${keyOf('s')}</button>`;
}

/** ChoiceActions are the buttons of the model's questions. */
export function ChoiceActions({ ready, busy, answers, decide, open, panel, keyOf }) {
  const off = !ready || busy;
  return html`<button type="button" class="allow" disabled=${off || !answers} onClick=${() => decide({ decision: 'allow', input: answers })}>Answer${keyOf('y')}</button>
    <button type="button" class="deny" disabled=${off} onClick=${() => decide({ decision: 'deny' })}>No answer${keyOf('n')}</button>
    <button type="button" disabled=${off} aria-expanded=${panel === 'reason'} onClick=${() => open('reason')}>No answer, because…${keyOf('m')}</button>
    <button type="button" disabled=${off} onClick=${() => decide({ decision: 'deny', stop: true })}>No answer, and stop${keyOf('s')}</button>
    ${!answers && ready && html`<span class="muted">Choose an answer to each question.</span>`}`;
}
