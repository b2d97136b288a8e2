// Container images, and building one.
import { html, useState } from './dom.js';
import { get, may, postStream } from './api.js';
import { store, useStore } from './store.js';
import { useLoad, Trouble } from './load.js';
import { announce, bytes } from './parts.js';
import { seen, oneLine } from './text.js';
import { Ago } from './time.js';

/** useImages returns the images of the container engine. */
export const useImages = () => useLoad(() => get('/v1/images').catch((e) => { if (e.code === 'no_engine') return { items: [], engine: e }; throw e; }), []);

// The build continues while other screens are shown: {lines, bytes, total, image, error, stop}.
const build = store(null);

const stages = { wait: 'waiting for another build', base: 'building the base', package: 'downloading packages', send: 'sending to the engine', make: 'building', done: 'done' };

/** startBuild builds an image and updates the store with its progress. */
async function startBuild(spec, again) {
  const stopper = new AbortController();
  const update = (more) => build.set({ ...build.get(), ...more });
  build.set({ lines: [], stage: '', stop: () => stopper.abort() });
  try {
    await postStream('/v1/images', spec, (event, doc) => {
      if (event === 'failed') update({ error: { status: doc.status, message: doc.detail || doc.title, hint: doc.hint } });
      else if (event === 'image') update({ image: doc });
      else update({ stage: doc.stage, bytes: doc.bytes || 0, total: doc.total || 0, lines: doc.text ? [...build.get().lines, doc.text].slice(-200) : build.get().lines });
    }, stopper.signal);
    if (!build.get().image && !build.get().error) update({ error: { message: 'lost the connection to the daemon before the image was built', hint: 'build it again' } });
  } catch (e) {
    update(e.name === 'AbortError' ? { stopped: true } : { error: e });
  }
  update({ stop: null });
  announce(build.get().image ? 'The image was built' : 'The image was not built');
  again();
}

function Progress() {
  const b = useStore(build);
  if (!b) return null;
  return html`<div class="made"><p role="status">${b.image ? `Built ${oneLine(b.image.tags[0] || b.image.id)}, ${bytes(b.image.size)}` : b.stopped ? 'Stopped.' : b.error ? 'Not built.' : `Building: ${stages[b.stage] || 'starting'} …`}</p>
    <${Trouble} error=${b.error} />
    ${b.stop && html`<progress aria-label="progress" value=${b.total > 0 ? b.bytes : undefined} max=${b.total > 0 ? b.total : undefined}></progress>${b.total > 0 && html`<span class="num muted">${bytes(b.bytes)} of ${bytes(b.total)}</span>`}`}
    ${b.lines.length > 0 && html`<pre class="output tail" tabindex="0" role="region" aria-label="build output" ref=${(el) => { if (el) el.scrollTop = el.scrollHeight; }}>${seen(b.lines.join('\n'))}</pre>`}
    ${b.stop ? html`<button type="button" class="danger" onClick=${b.stop}>Stop the build</button>` : html`<button type="button" onClick=${() => build.set(null)}>Done</button>`}</div>`;
}

const agents = ['claude', 'codex'];

function Build({ again }) {
  const b = useStore(build);
  const [variant, setVariant] = useState('scratch');
  const [want, setWant] = useState([]);
  const [base, setBase] = useState('');
  const [fresh, setFresh] = useState(false);
  const debian = variant === 'debian';
  const start = (e) => {
    e.preventDefault();
    startBuild({ variant, ...(debian && want.length ? { with: want } : {}), ...(debian && base.trim() ? { base: base.trim() } : {}), ...(fresh ? { fresh } : {}) }, again);
  };
  return html`<form class="filters" onSubmit=${start}><label class="field"><span>Build an image</span><select value=${variant} onChange=${(e) => setVariant(e.target.value)}><option value="scratch">scratch: only this program</option><option value="debian">debian: with a shell and agents</option></select></label>
    ${debian && html`<fieldset class="checks"><legend>With</legend>${agents.map((a) => html`<label class="check"><input type="checkbox" checked=${want.includes(a)} onChange=${(e) => setWant(e.target.checked ? [...want, a] : want.filter((x) => x !== a))} /> ${a}</label>`)}</fieldset>
      <label class="field field-wide"><span>Base image, which the engine must have; empty: create one</span><input type="text" class="mono" value=${base} spellcheck=${false} autocomplete="off" onInput=${(e) => setBase(e.target.value)} /></label>`}
    <label class="check"><input type="checkbox" checked=${fresh} onChange=${(e) => setFresh(e.target.checked)} /> rebuild even if it exists</label>
    <button type="submit" disabled=${!!b?.stop}>Build</button></form>`;
}

export function Images({ images }) {
  const { doc, error, again } = images;
  return html`<section class="panel" aria-labelledby="image-list"><h2 id="image-list">Images</h2>
    <${Trouble} error=${error} again=${again} />
    ${doc?.engine && html`<p class="muted">${oneLine(doc.engine.message)}${doc.engine.hint && html` <span class="hint">hint: <code>${oneLine(doc.engine.hint)}</code></span>`}</p>`}
    ${doc && !doc.engine && !doc.items.length && html`<p class="muted">No image yet. Build one to create containers.</p>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="images"><table class="list"><thead><tr><th scope="col">Name</th><th scope="col">Variant</th><th scope="col">With</th><th scope="col">Version</th><th scope="col" class="right">Size</th><th scope="col" class="right">Built</th></tr></thead>
      <tbody>${doc.items.map((i) => html`<tr key=${i.id}><td class="mono main-cell">${oneLine(i.tags.join(', ') || i.id)}</td><td class="nowrap">${oneLine(i.variant)}</td><td>${oneLine((i.with || []).join(', '))}</td><td>${oneLine(i.version)}</td><td class="num right nowrap">${bytes(i.size)}</td><td class="num right nowrap">${i.created && html`<${Ago} at=${i.created} />`}</td></tr>`)}</tbody></table></div>`}
    <${Progress} />${may('admin') && doc && !doc.engine && html`<${Build} again=${again} />`}</section>`;
}
