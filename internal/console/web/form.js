// An MCP server's form, with one input for each field.
import { html } from './dom.js';
import { seen, oneLine } from './text.js';

/** formOf returns the MCP form of a request, with its fields; undefined for other requests. */
export const formOf = (q) => {
  const r = q.requests?.length === 1 ? q.requests[0] : undefined;
  if (!r?.form || !r.person || !r.input || typeof r.input !== 'object') return undefined;
  const { server, message, requestedSchema: schema, content } = r.input;
  return { server, message, proposed: content || {}, fields: fieldsOf(schema || {}) };
};

const option = (value, title) => ({ value, title: typeof title === 'string' && title && title !== value ? title : '' });
const constants = (list) => list.map((c) => option(c.const, c.title));

/** fieldsOf reads the fields of a schema: kind is text, number, boolean, one or several. */
function fieldsOf(schema) {
  const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.keys(schema.properties || {}).sort().map((name) => {
    const p = schema.properties[name] || {};
    const f = { name, schema: p, title: p.title || name, about: p.description, needed: needed.has(name), kind: 'text', options: [] };
    if (p.items) return { ...f, kind: 'several', options: p.items.enum ? p.items.enum.map((v) => option(v)) : constants(p.items.anyOf || []) };
    if (p.enum) return { ...f, kind: 'one', options: p.enum.map((v, i) => option(v, p.enumNames?.[i])) };
    if (p.oneOf) return { ...f, kind: 'one', options: constants(p.oneOf) };
    return { ...f, kind: { number: 'number', integer: 'number', boolean: 'boolean' }[p.type] || 'text' };
  });
}

const has = (o, name) => Object.prototype.hasOwnProperty.call(o, name);

// start returns a field's input so far: text, or the chosen values of options.
const start = (f, proposed) => {
  const v = has(proposed, f.name) ? proposed[f.name] : undefined;
  if (f.kind === 'several') return Array.isArray(v) ? v : [];
  if (f.schema.format === 'date-time' && typeof v === 'string') return local(v);
  return v === undefined ? '' : String(v);
};

// local returns a time for a browser input, in the user's time zone.
const local = (text) => {
  const d = new Date(text);
  return Number.isNaN(d.getTime()) ? '' : new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
};

const at = (form, inputs, i) => (has(inputs, i) ? inputs[i] : start(form.fields[i], form.proposed));

// value returns the value of a field; undefined: the field is omitted.
function value(f, s, proposed) {
  if (f.kind === 'several') return s.length || f.needed ? f.options.filter((o) => s.includes(o.value)).map((o) => o.value) : undefined;
  if (s === '') return has(proposed, f.name) && proposed[f.name] === '' ? '' : undefined;
  if (f.kind === 'boolean') return s === 'true';
  if (f.kind === 'number') return Number(s);
  if (f.schema.format === 'date-time') return Number.isNaN(Date.parse(s)) ? s : new Date(s).toISOString();
  return s;
}

/** filledOf returns the answer's input, or null while a required field is missing. */
export const filledOf = (form, inputs) => {
  const content = Object.create(null);
  for (const [i, f] of form.fields.entries()) {
    const v = value(f, at(form, inputs, i), form.proposed);
    if (v === undefined && f.needed || typeof v === 'number' && !Number.isFinite(v)) return null;
    if (v !== undefined) content[f.name] = v;
  }
  return { content };
};

const types = { email: 'email', uri: 'url', date: 'date', 'date-time': 'datetime-local' };

/** Form shows a form. props: id; form; inputs and setInputs, the inputs by index of the field. */
export function Form({ id, form, inputs, setInputs, disabled }) {
  return html`<div class="ask form"><p class="asks"><b>${oneLine(form.server)}</b> asks: ${seen(form.message)}</p>
    ${form.fields.map((f, i) => html`<${Field} key=${i} id=${`form-${id}-${i}`} f=${f} s=${at(form, inputs, i)} set=${(v) => setInputs({ ...inputs, [i]: v })} disabled=${disabled} />`)}</div>`;
}

function Field({ id, f, s, set, disabled }) {
  const { schema: p } = f;
  const about = f.about && html`<span class="muted" id=${id + '-about'}>${seen(f.about)}</span>`;
  const described = f.about ? id + '-about' : undefined;
  const name = html`${seen(f.title)}${f.needed ? html` <span class="badge">required</span>` : html` <span class="muted">optional</span>`}`;
  if (f.kind === 'boolean' || f.kind === 'one' || f.kind === 'several') {
    const several = f.kind === 'several';
    const options = f.kind === 'boolean' ? [option('true', 'yes'), option('false', 'no')] : f.options;
    const pick = (v, on) => set(several ? (on ? [...s, v] : s.filter((x) => x !== v)) : v);
    return html`<fieldset class="scope" disabled=${disabled} aria-describedby=${described}><legend>${name}${several && html` <span class="muted">choose one or more</span>`}</legend>${about}
      ${options.map((o, j) => html`<label key=${j} class="choice option"><input type=${several ? 'checkbox' : 'radio'} name=${id} checked=${several ? s.includes(o.value) : s === o.value}
        onChange=${(e) => pick(o.value, e.target.checked)} /><span>${seen(o.title || o.value)}</span></label>`)}
      ${!several && !f.needed && html`<label class="choice option"><input type="radio" name=${id} checked=${s === ''} onChange=${() => set('')} /><span class="muted">no answer</span></label>`}</fieldset>`;
  }
  const long = f.kind === 'text' && !p.format && !p.pattern && !(p.maxLength <= 200);
  const common = { id, disabled, value: s, 'aria-describedby': described, 'aria-required': f.needed, autocomplete: 'off', onInput: (e) => set(e.target.value) };
  return html`<div class="scope field"><label for=${id}>${name}</label>${about}
    ${f.kind === 'number' ? html`<input type="number" step=${p.type === 'integer' ? 1 : 'any'} min=${p.minimum} max=${p.maximum} ...${common} />`
    : long ? html`<textarea rows="2" maxlength=${p.maxLength} ...${common}></textarea>`
      : html`<input type=${types[p.format] || 'text'} step=${p.format === 'date-time' ? 1 : undefined} maxlength=${p.maxLength} ...${common} />`}</div>`;
}

/** FormActions are the buttons of a form. */
export function FormActions({ ready, busy, filled, decide, keyOf }) {
  const off = !ready || busy;
  return html`<button type="button" class="allow" disabled=${off || !filled} onClick=${() => decide({ decision: 'allow', input: filled })}>Answer${keyOf('y')}</button>
    <button type="button" class="deny" disabled=${off} onClick=${() => decide({ decision: 'deny' })}>No answer${keyOf('n')}</button>
    <button type="button" disabled=${off} onClick=${() => decide({ decision: 'deny', stop: true })}>No answer, and stop</button>
    ${!filled && ready && html`<span class="muted">Fill in the required fields.</span>`}`;
}
