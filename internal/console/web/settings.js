// The settings of a new or existing workspace, as a form.
import { html, cls, useEffect, useState } from './dom.js';
import { patch, post, seg } from './api.js';
import { Trouble } from './load.js';
import { announce } from './parts.js';

const lines = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean);
const joined = (list) => (list || []).join('\n');

/** textsOf returns a workspace's settings as the form's texts. */
export const textsOf = (w) => ({
  slug: w.slug || '', project: w.project || '', image: w.image || '', 'agent.kind': w.agent?.kind || 'holdfast', 'agent.command': joined(w.agent?.command), model: w.model || '',
  'limits.memory': w.limits?.memory || '', 'limits.cpus': String(w.limits?.cpus ?? ''), 'limits.pids': String(w.limits?.pids ?? ''), 'limits.disk': w.limits?.disk || '',
  'network.mode': w.network?.mode || 'none', 'network.domains': joined(w.network?.domains),
  mounts: joined((w.mounts || []).map((m) => `${m.host}:${m.at}${m.readonly ? ':ro' : ''}`)), credentials: joined(w.credentials),
});

/** InvalidField is an invalid field that the form itself finds. */
class InvalidField extends Error {
  constructor(field, message, hint) {
    super(message);
    Object.assign(this, { field, hint });
  }
}

function number(texts, field, hint) {
  const n = Number(texts[field]);
  if (!texts[field].trim() || !Number.isFinite(n)) throw new InvalidField(field, 'This is not a number.', hint);
  return n;
}

const mountOf = (line) => {
  const m = /^(.+?):([^:]+)(:ro)?$/.exec(line);
  if (!m) throw new InvalidField('mounts', `${line} is no mount.`, 'use FOLDER:PATH or FOLDER:PATH:ro, such as /srv/data:/mnt/data:ro');
  return { host: m[1], at: m[2], ...(m[3] ? { readonly: true } : {}) };
};

/** docOf turns the form's texts into the daemon's document. An empty limit of a new workspace is the default. */
export function docOf(t, making) {
  const given = (field) => !making || t[field].trim() !== '';
  const limits = {};
  if (given('limits.memory')) limits.memory = t['limits.memory'].trim();
  if (given('limits.cpus')) limits.cpus = number(t, 'limits.cpus', 'such as 2 or 0.5');
  if (given('limits.pids')) limits.pids = number(t, 'limits.pids', 'such as 512');
  if (given('limits.disk')) limits.disk = t['limits.disk'].trim();
  const kind = t['agent.kind'];
  const command = kind === 'holdfast' ? [] : lines(t['agent.command']);
  const mode = t['network.mode'];
  return {
    project: t.project.trim(), image: t.image.trim(), agent: { kind, ...(command.length ? { command } : {}) }, model: t.model.trim(), limits,
    network: { mode, ...(mode === 'proxy' ? { domains: lines(t['network.domains']) } : {}) },
    mounts: lines(t.mounts).map(mountOf), credentials: lines(t.credentials),
  };
}

/** changesOf returns the differences between two documents. */
export const changesOf = (was, is) => Object.fromEntries(Object.entries(is).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(was[k])));

/** fieldOf returns the form field of a problem, or ''. */
export const fieldOf = (field, texts) => Object.keys(texts).find((n) => field === n || field.startsWith(n + '[')) || '';

const idOf = (name) => 'set-' + name.replace('.', '-');

/** Entry is one field with its error. */
function Entry({ form, name, label, hint, rows, options, wide, ...more }) {
  const id = idOf(name);
  const wrong = form.place === name ? form.error : null;
  const props = {
    id, name, value: form.texts[name], onInput: (e) => form.write(name, e.target.value), autocomplete: 'off', spellcheck: false,
    'aria-invalid': wrong ? 'true' : undefined, 'aria-describedby': cls(hint && id + '-hint', wrong && id + '-wrong') || undefined, ...more,
  };
  const said = wrong?.message.split(wrong.field + ': ').pop();
  return html`<div class=${cls('entry', wide && 'entry-wide')}><label for=${id}>${label}</label>
    ${options ? html`<select ...${props}>${options.map(([v, text]) => html`<option value=${v}>${text}</option>`)}</select>` : rows ? html`<textarea class="mono" rows=${rows} ...${props}></textarea>` : html`<input type="text" ...${props} />`}
    ${wrong && html`<p class="problem" id=${id + '-wrong'}>${said}${wrong.hint && html` <span class="hint">hint: ${wrong.hint}</span>`}</p>`}
    ${hint && html`<p class="small muted" id=${id + '-hint'}>${hint}</p>`}</div>`;
}

const kinds = [['holdfast', 'holdfast, the built-in agent'], ['claude', 'claude, Claude Code'], ['codex', 'codex, Codex'], ['acp', 'acp, any other']];
const ways = [['none', 'none'], ['proxy', 'through the proxy']];

function Entries({ form, making, images }) {
  const { texts } = form;
  const one = (name, label, more) => html`<${Entry} key=${name} form=${form} name=${name} label=${label} ...${more} />`;
  return html`
    <fieldset class="entries"><legend>Project</legend>
      ${making && one('slug', 'Name', { hint: 'a to z, 0 to 9, and dashes in between', required: true, maxlength: 63 })}
      ${one('project', 'Folder', { wide: true, class: 'mono', hint: 'absolute path on the daemon’s machine; empty: its own folder, deleted with the workspace' })}</fieldset>
    <fieldset class="entries"><legend>Agent</legend>${one('agent.kind', 'Kind', { options: kinds })}
      ${one('model', 'Model', { hint: 'in the agent’s own notation; empty: its default' })}
      ${texts['agent.kind'] !== 'holdfast' && one('agent.command', 'Command', { rows: 2, wide: true, hint: texts['agent.kind'] === 'acp' ? 'the program and its arguments, one per line' : 'the program and its arguments, one per line; empty: the agent’s default' })}
      ${one('credentials', 'Credentials', { rows: 2, wide: true, hint: 'names of environment variables of the daemon, one per line; values are passed to the agent and not stored' })}</fieldset>
    <fieldset class="entries"><legend>Network</legend>${one('network.mode', 'Network access', { options: ways })}
      ${texts['network.mode'] === 'proxy' && one('network.domains', 'Domains', { rows: 3, wide: true, hint: 'allowed domains, one per line, such as api.anthropic.com or *.example.com:443' })}</fieldset>
    <fieldset class="entries"><legend>Limits</legend>
      ${[['limits.memory', 'Memory', '2g'], ['limits.cpus', 'Processors', '2'], ['limits.pids', 'Processes and threads', '512'], ['limits.disk', 'Disk', '20g']].map(([name, label, usual]) => one(name, label, making ? { placeholder: usual } : { required: true }))}</fieldset>
    <fieldset class="entries"><legend>Container</legend>${one('image', 'Image', { wide: true, class: 'mono', list: 'images', hint: 'empty: the image built on this machine' })}
      <datalist id="images">${images.map((t) => html`<option value=${t} />`)}</datalist>
      ${one('mounts', 'Mounts', { rows: 2, wide: true, hint: 'additional folders of the daemon’s machine, one per line: FOLDER:PATH, or FOLDER:PATH:ro for read only' })}</fieldset>`;
}

/** Settings is the form for a new workspace, or for w. onDone gets the workspace. */
export function Settings({ w, images = [], onDone, onClose }) {
  const making = !w;
  const [was] = useState(() => textsOf(w || {}));
  const [texts, setTexts] = useState(was);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const place = error ? fieldOf(error.status === 409 && making ? 'slug' : error.field || '', texts) : '';
  const form = { texts, error, place, write: (name, value) => setTexts((t) => ({ ...t, [name]: value })) };
  useEffect(() => { if (place) document.getElementById(idOf(place))?.focus(); }, [error]);
  const save = async (e) => {
    e.preventDefault();
    setBusy(true);
    try {
      const doc = docOf(texts, making);
      const made = making ? await post('/v1/workspaces', { slug: texts.slug.trim(), ...doc }) : await patch('/v1/workspaces/' + seg(w.slug), changesOf(docOf(was, false), doc));
      announce(making ? 'The workspace was created' : 'The settings were saved');
      onDone(made);
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return html`<form class="settings" novalidate onSubmit=${save}>
    ${error && !place && html`<${Trouble} error=${error} />`}${error && place && html`<p class="sr" role="alert">${error.message}</p>`}
    <${Entries} form=${form} making=${making} images=${images} />
    ${!making && html`<p class="muted">An existing container is recreated with the new settings when it is idle, so no agent is interrupted. The home and the project are kept.</p>`}
    <div class="actions"><button type="submit" class="primary" disabled=${busy}>${making ? 'Create the workspace' : 'Save'}</button><button type="button" onClick=${onClose}>Cancel</button></div></form>`;
}
