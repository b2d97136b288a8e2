// The files of a workspace: its home and its project.
import { html, useRef, useState } from './dom.js';
import { get, put, del, may, seg } from './api.js';
import { useRoute, setQuery } from './route.js';
import { useLoad, Trouble } from './load.js';
import { Confirm, announce, bytes } from './parts.js';
import { seen, oneLine } from './text.js';
import { Ago } from './time.js';

const maxSize = 50 * 1048576; // maximum size of an uploaded file

/** Upload copies files from the browser's machine into a folder. It asks before it replaces a file. */
function Upload({ at, where, path, names, again, say }) {
  const [busy, setBusy] = useState('');
  const [sure, ask] = useState(null);
  const field = useRef(null);
  const full = (f) => (path ? path + '/' : '') + f.name;
  const send = async (files) => {
    try {
      for (const f of files) {
        setBusy(f.name);
        await put(at + '/content', { in: where, path: full(f) }, f);
      }
      say(null);
      announce(files.length === 1 ? `${oneLine(files[0].name)} was uploaded` : `${files.length} files were uploaded`);
    } catch (e) { say(e); }
    setBusy('');
    again();
  };
  const take = (e) => {
    const files = [...e.target.files];
    e.target.value = '';
    const large = files.find((f) => f.size > maxSize);
    if (large) say({ message: `${oneLine(large.name)} is ${bytes(large.size)}`, hint: `a file has at most ${bytes(maxSize)}; copy larger files into the folder on the daemon's machine` });
    else if (files.some((f) => names.includes(f.name))) ask(files);
    else if (files.length) send(files);
  };
  return html`<input type="file" id="upload" class="sr" tabindex="-1" multiple ref=${field} onChange=${take} aria-label="Files to upload" /><button type="button" disabled=${!!busy} onClick=${() => field.current.click()}>${busy ? `Uploading ${oneLine(busy)} …` : 'Upload'}</button>
    ${sure && html`<${Confirm} title="Replace existing files?" verb="Replace" danger=${true} onYes=${() => send(sure)} onClose=${() => ask(null)}><p>${sure.filter((f) => names.includes(f.name)).map((f) => oneLine(f.name)).join(', ')} ${sure.length === 1 ? 'is' : 'are'} already in this folder.</p></${Confirm}>`}`;
}

export function Files({ slug }) {
  const { query } = useRoute();
  const at = `/v1/workspaces/${seg(slug)}/files`;
  const where = query.get('in') || 'project';
  const path = query.get('path') || '';
  const cursor = query.get('cursor') || '';
  const { doc, error, again } = useLoad(() => get(at, { in: where, path, cursor, hidden: 'true', limit: 100 }), [slug, where, path, cursor]);
  const [bad, setBad] = useState(null);
  const [taking, take] = useState(null);
  const full = (f) => (path ? path + '/' : '') + f.name;
  const remove = async (f) => { try { await del(at, { in: where, path: full(f) }); setBad(null); } catch (e) { setBad(e); } again(); };
  const to = (p) => setQuery({ path: p, cursor: '' }, { replace: false });
  const name = (f) => seen(f.name);
  return html`<section class="panel" aria-labelledby="files"><div class="panel-head"><h2 id="files">Files</h2><div class="head-tools">
      <label class="field"><span class="sr">Folder</span><select value=${where} onChange=${(e) => setQuery({ in: e.target.value, path: '', cursor: '' })}><option value="project">project</option><option value="home">home</option></select></label>
      ${may('run') && doc && html`<${Upload} at=${at} where=${where} path=${path} names=${doc.items.map((f) => f.name)} again=${again} say=${setBad} />`}</div></div>
    <p class="mono">/${seen(path)} ${path && html`<button type="button" class="quiet" onClick=${() => to(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')}>Up</button>`}</p>
    <${Trouble} error=${error || bad} again=${error ? again : null} />
    ${doc && !doc.items.length && html`<p class="muted">This folder is empty.</p>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="files"><table class="list"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col" class="right">Size</th><th scope="col" class="right">Changed</th><th scope="col"><span class="sr">Do</span></th></tr></thead>
      <tbody>${doc.items.map((f) => html`<tr key=${f.name}><td class="mono folder">${f.type === 'folder' && !f.escaped ? html`<button type="button" class="quiet" onClick=${() => to(full(f))}>${name(f)}</button>` : f.type === 'file' && !f.escaped && may('run') ? html`<a href=${`${at}/content?in=${where}&path=${seg(full(f))}`} download="">${name(f)}</a>` : name(f)}${f.target && html` <span class="muted">→ ${seen(f.target)}</span>`}</td>
        <td class="nowrap">${f.type}</td><td class="num right nowrap">${f.type === 'file' ? bytes(f.size || 0) : ''}</td><td class="num right nowrap">${f.modified && html`<${Ago} at=${f.modified} />`}</td>
        <td class="right">${may('run') && !f.escaped && html`<button type="button" onClick=${() => take(f)}>Remove<span class="sr"> ${name(f)}</span></button>`}</td></tr>`)}</tbody></table></div>`}
    ${doc?.next_cursor && html`<p><button type="button" onClick=${() => setQuery({ cursor: doc.next_cursor }, { replace: false })}>Next page</button></p>`}
    ${taking && html`<${Confirm} title=${`Remove ${oneLine(taking.name)}?`} verb="Remove" danger=${true} onYes=${() => remove(taking)} onClose=${() => take(null)}><p>${taking.type === 'folder' ? 'The folder and everything in it will be deleted.' : 'This cannot be undone.'}</p></${Confirm}>`}</section>`;
}
