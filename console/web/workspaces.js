// Workspaces: their containers, settings and disk, and the files of one.
import { html, useEffect, useState } from './dom.js';
import { get, post, del, may, seg } from './api.js';
import { useRoute, setQuery, sessionPath } from './route.js';
import { useLoad, Trouble, Waiting, Empty } from './load.js';
import { Badge, Confirm, Fact, shortPath, titleOf } from './parts.js';
import { seen, plain, oneLine } from './text.js';
import { Ago, count } from './time.js';

const kinds = { running: 'run', absent: 'plain', exited: 'plain', created: 'plain', paused: 'ask', dead: 'no' };
const place = (slug) => '/workspaces/' + seg(slug);

/** State is how a container is. */
function State({ w }) {
  const c = w.container;
  if (!c) return html`<${Badge} kind=${w.agent ? 'ask' : 'no'}>${w.agent ? 'unknown' : 'damaged'}</${Badge}>`;
  return html`<${Badge} kind=${kinds[c.state] || 'plain'}>${oneLine(c.state)}${c.processes > 0 ? `, ${c.processes} busy` : ''}</${Badge}>`;
}

const bytes = (n) => (n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(1) + ' KiB' : n < 1073741824 ? (n / 1048576).toFixed(1) + ' MiB' : (n / 1073741824).toFixed(1) + ' GiB');

export function Workspaces() {
  const { doc, error, again } = useLoad(() => get('/v1/workspaces'), []);
  useEffect(() => { const t = setInterval(() => { if (!document.hidden) again(); }, 10000); return () => clearInterval(t); }, [again]);
  const problem = doc?.items.find((w) => w.problem && w.agent);
  return html`<div class="screen screen-wide">
    <div class="screen-head"><h1 id="screen-title" tabindex="-1">Workspaces</h1><p class="muted" role="status">${doc ? count(doc.items.length, 'workspace') : ''}</p></div>
    <${Trouble} error=${error} again=${again} />
    ${problem && html`<${Trouble} error=${{ message: oneLine(problem.problem), hint: oneLine(problem.hint || '') }} />`}
    ${!doc && !error && html`<${Waiting} />`}
    ${doc && !doc.items.length && html`<${Empty} title="No workspaces"><p class="muted">Make one: <code>holdfast workspace create NAME --project FOLDER</code></p></${Empty}>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="workspaces"><table class="list"><thead><tr><th scope="col">Container</th><th scope="col">Workspace</th><th scope="col">Agent</th><th scope="col">Network</th><th scope="col">Project</th></tr></thead>
      <tbody>${doc.items.map((w) => html`<tr key=${w.slug}><td><${State} w=${w} /></td><td class="main-cell"><a href=${place(w.slug)}>${oneLine(w.slug)}</a>${!w.agent && html`<div class="sub problem">${oneLine(w.problem || '')}</div>`}</td>
        <td>${oneLine(w.agent?.kind || '')}</td><td>${oneLine(w.network?.mode || '')}</td><td class="mono folder" title=${plain(w.project || '')}>${w.project ? shortPath(w.project) : 'its own'}</td></tr>`)}</tbody></table></div>`}
  </div>`;
}

function Files({ slug }) {
  const { query } = useRoute();
  const where = query.get('in') || 'project';
  const path = query.get('path') || '';
  const cursor = query.get('cursor') || '';
  const { doc, error, again } = useLoad(() => get(`/v1/workspaces/${seg(slug)}/files`, { in: where, path, cursor, hidden: 'true', limit: 100 }), [slug, where, path, cursor]);
  const [bad, setBad] = useState(null);
  const [taking, take] = useState(null);
  const full = (f) => (path ? path + '/' : '') + f.name;
  const remove = async (f) => { try { await del(`/v1/workspaces/${seg(slug)}/files?in=${where}&path=${seg(full(f))}`); setBad(null); } catch (e) { setBad(e); } again(); };
  const to = (p) => setQuery({ path: p, cursor: '' }, { replace: false });
  const name = (f) => seen(f.name);
  return html`<section class="panel" aria-labelledby="files"><div class="panel-head"><h2 id="files">Files</h2>
      <label class="field"><span class="sr">Folder</span><select value=${where} onChange=${(e) => setQuery({ in: e.target.value, path: '', cursor: '' })}><option value="project">project</option><option value="home">home</option></select></label></div>
    <p class="mono">/${seen(path)} ${path && html`<button type="button" class="quiet" onClick=${() => to(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')}>Up</button>`}</p>
    <${Trouble} error=${error || bad} again=${again} />
    ${doc && !doc.items.length && html`<p class="muted">Nothing is here.</p>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="files"><table class="list"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col" class="right">Size</th><th scope="col" class="right">Changed</th><th scope="col"><span class="sr">Do</span></th></tr></thead>
      <tbody>${doc.items.map((f) => html`<tr key=${f.name}><td class="mono">${f.type === 'folder' && !f.escaped ? html`<button type="button" class="quiet" onClick=${() => to(full(f))}>${name(f)}</button>` : f.type === 'file' && !f.escaped && may('run') ? html`<a href=${`/v1/workspaces/${seg(slug)}/files/content?in=${where}&path=${seg(full(f))}`} download="">${name(f)}</a>` : name(f)}${f.target && html` <span class="muted">→ ${seen(f.target)}</span>`}</td>
        <td>${f.type}</td><td class="num right nowrap">${f.type === 'file' ? bytes(f.size || 0) : ''}</td><td class="num right nowrap">${f.modified && html`<${Ago} at=${f.modified} />`}</td>
        <td class="right">${may('run') && !f.escaped && html`<button type="button" onClick=${() => take(f)}>Remove<span class="sr"> ${name(f)}</span></button>`}</td></tr>`)}</tbody></table></div>`}
    ${doc?.next_cursor && html`<p><button type="button" onClick=${() => setQuery({ cursor: doc.next_cursor }, { replace: false })}>Next page</button></p>`}
    ${taking && html`<${Confirm} title=${`Remove ${oneLine(taking.name)}?`} verb="Remove" danger=${true} onYes=${() => remove(taking)} onClose=${() => take(null)}><p>${taking.type === 'folder' ? 'The folder goes with all that is in it.' : 'It cannot be taken back.'}</p></${Confirm}>`}</section>`;
}

function Recent({ project }) {
  const { doc } = useLoad(() => get('/v1/sessions', { project, limit: 10 }), [project]);
  return html`<section class="panel" aria-labelledby="recent"><h2 id="recent">Sessions</h2>
    ${doc && !doc.items.length && html`<p class="muted">None yet.</p>`}
    ${doc?.items.length > 0 && html`<ul>${doc.items.map((s) => html`<li key=${s.id}><a href=${sessionPath(s.id)}>${titleOf(s)}</a> <span class="muted"><${Ago} at=${s.updated_at} /></span></li>`)}</ul>`}</section>`;
}

export function Workspace({ id }) {
  const at = '/v1/workspaces/' + seg(id);
  const { doc: w, error, again } = useLoad(() => get(at), [id]);
  const usage = useLoad(() => get(at + '/usage'), [id]);
  const [bad, setBad] = useState(null);
  const [busy, setBusy] = useState('');
  const act = async (verb) => { setBusy(verb); try { await post(`${at}/${verb}`); setBad(null); } catch (e) { setBad(e); } setBusy(''); again(); };
  const u = usage.doc;
  return html`<div class="screen screen-wide"><div class="screen-head"><h1 id="screen-title" tabindex="-1">${oneLine(id)}</h1>${w && html`<${State} w=${w} />`}</div>
    <${Trouble} error=${error || bad} again=${again} />${!w && !error && html`<${Waiting} />`}
    ${w && html`<section class="panel" aria-labelledby="about"><div class="panel-head"><h2 id="about">Container and settings</h2>${may('run') && html`<span>
        <button type="button" disabled=${!!busy} onClick=${() => act('start')}>${busy === 'start' ? 'Starting …' : 'Start'}</button> <button type="button" disabled=${!!busy} onClick=${() => act('stop')}>${busy === 'stop' ? 'Stopping …' : 'Stop'}</button></span>`}</div>
      ${w.problem && html`<${Trouble} error=${{ message: oneLine(w.problem), hint: oneLine(w.hint || '') }} />`}
      <dl class="facts">${w.container && html`<${Fact} name="container"><span class="mono">${oneLine(w.container.name)}</span>${w.container.outdated && html` <${Badge} kind="ask">settings have changed</${Badge}>`}${w.container.unconfined && html` <span class="muted">${seen(w.container.unconfined)}</span>`}</${Fact}>`}
        <${Fact} name="project"><span class="mono">${seen(w.project || 'its own')}</span></${Fact}><${Fact} name="agent">${seen([w.agent?.kind, ...(w.agent?.command || [])].join(' '))} <span class="muted">${oneLine(w.model || '')}</span></${Fact}>
        <${Fact} name="image"><span class="mono">${seen(w.image || 'the default')}</span></${Fact}><${Fact} name="limits">memory ${w.limits?.memory}, ${w.limits?.cpus} processors, ${w.limits?.pids} processes, disk ${w.limits?.disk}</${Fact}>
        <${Fact} name="network">${w.network?.mode}${w.network?.domains?.length > 0 && html`: ${seen(w.network.domains.join(', '))}`}</${Fact}>${(w.mounts || []).map((m) => html`<${Fact} name="mount"><span class="mono">${seen(m.host)} at ${seen(m.at)}</span>${m.readonly ? ' read only' : ''}</${Fact}>`)}
        ${u && html`<${Fact} name="disk">${bytes(u.bytes)} of ${u.limit}${u.over && html` <${Badge} kind="no">used up</${Badge}>`} <span class="muted">${count(u.home.files + (u.project?.files || 0), 'file')}</span></${Fact}>`}</dl></section>
    ${w.session_project && html`<${Recent} project=${w.session_project} />`}<${Files} slug=${id} />`}
  </div>`;
}
