// Workspaces: their containers, settings, disk usage and actions.
import { html, useEffect, useState } from './dom.js';
import { get, post, del, may, seg } from './api.js';
import { useRoute, go, setQuery, sessionPath } from './route.js';
import { useLoad, Trouble, Waiting, Empty } from './load.js';
import { Badge, Confirm, Fact, bytes, shortPath, titleOf } from './parts.js';
import { Settings } from './settings.js';
import { Files } from './files.js';
import { Images, useImages } from './images.js';
import { seen, plain, oneLine } from './text.js';
import { Ago, count } from './time.js';

const kinds = { running: 'run', absent: 'plain', exited: 'plain', created: 'plain', paused: 'ask', dead: 'no' };
const place = (slug) => '/workspaces/' + seg(slug);
const tagsOf = (images) => (images.doc?.items || []).flatMap((i) => i.tags);

/** State shows the state of a container. */
function State({ w }) {
  const c = w.container;
  if (!c) return html`<${Badge} kind=${w.agent ? 'ask' : 'no'}>${w.agent ? 'unknown' : 'damaged'}</${Badge}>`;
  return html`<${Badge} kind=${kinds[c.state] || 'plain'}>${oneLine(c.state)}${c.processes > 0 ? `, ${c.processes} busy` : ''}</${Badge}>`;
}

export function Workspaces() {
  const { query } = useRoute();
  const { doc, error, again } = useLoad(() => get('/v1/workspaces'), []);
  const images = useImages();
  useEffect(() => { const t = setInterval(() => { if (!document.hidden) again(); }, 10000); return () => clearInterval(t); }, [again]);
  const problem = doc?.items.find((w) => w.problem && w.agent);
  const making = may('admin') && !!query.get('new');
  return html`<div class="screen screen-wide">
    <div class="screen-head"><h1 id="screen-title" tabindex="-1">Workspaces</h1><p class="muted" role="status">${doc ? count(doc.items.length, 'workspace') : ''}</p>
      ${may('admin') && !making && html`<button type="button" class="primary push" onClick=${() => setQuery({ new: true }, { replace: false })}>New workspace</button>`}</div>
    ${making && html`<section class="panel" aria-labelledby="new"><h2 id="new">New workspace</h2><${Settings} images=${tagsOf(images)} onDone=${(w) => go(place(w.slug))} onClose=${() => setQuery({ new: '' })} /></section>`}
    <${Trouble} error=${error} again=${again} />
    ${problem && html`<${Trouble} error=${{ message: oneLine(problem.problem), hint: oneLine(problem.hint || '') }} />`}
    ${!doc && !error && html`<${Waiting} />`}
    ${doc && !doc.items.length && !making && html`<${Empty} title="No workspaces"><p class="muted">A workspace is a container in which agents work, with a project folder and settings.</p></${Empty}>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="workspaces"><table class="list"><thead><tr><th scope="col">Container</th><th scope="col">Workspace</th><th scope="col">Agent</th><th scope="col">Network</th><th scope="col">Project</th></tr></thead>
      <tbody>${doc.items.map((w) => html`<tr key=${w.slug}><td><${State} w=${w} /></td><td class="main-cell"><a href=${place(w.slug)}>${oneLine(w.slug)}</a>${!w.agent && html`<div class="sub problem">${oneLine(w.problem || '')}</div>`}</td>
        <td>${oneLine(w.agent?.kind || '')}</td><td>${oneLine(w.network?.mode || '')}</td><td class="mono folder" title=${plain(w.project || '')}>${w.project ? shortPath(w.project) : 'its own'}</td></tr>`)}</tbody></table></div>`}
    <${Images} images=${images} />
  </div>`;
}

function Recent({ project }) {
  const { doc } = useLoad(() => get('/v1/sessions', { project, limit: 10 }), [project]);
  return html`<section class="panel" aria-labelledby="recent"><h2 id="recent">Sessions</h2>
    ${doc && !doc.items.length && html`<p class="muted">None yet.</p>`}
    ${doc?.items.length > 0 && html`<ul>${doc.items.map((s) => html`<li key=${s.id}><a href=${sessionPath(s.id)}>${titleOf(s)}</a> <span class="muted"><${Ago} at=${s.updated_at} /></span></li>`)}</ul>`}</section>`;
}

/** Prompt starts a session in a workspace and opens it. */
function Prompt({ slug }) {
  const [text, set] = useState('');
  const [busy, setBusy] = useState(false);
  const [bad, setBad] = useState(null);
  const run = async (e) => {
    e.preventDefault();
    setBusy(true);
    try {
      const r = await post('/v1/runs', { workspace: slug, input: text });
      go(sessionPath(r.sessionId));
    } catch (err) { setBad(err); setBusy(false); }
  };
  return html`<section class="panel" aria-labelledby="prompt"><h2 id="prompt">New session</h2><${Trouble} error=${bad} />
    <form class="composer" onSubmit=${run}><label class="field field-wide"><span>Prompt</span><textarea rows=${Math.min(8, Math.max(2, text.split('\n').length))} value=${text} onInput=${(e) => set(e.target.value)}></textarea></label>
      <button type="submit" class="primary" disabled=${busy || !text.trim()}>${busy ? 'Starting …' : 'Run'}</button></form></section>`;
}

/** Delete shows what is deleted and what is kept, and then deletes. */
function Delete({ id, w, say, onGone, onClose }) {
  const [alone, setAlone] = useState(false);
  const lost = !!w && !w.container;
  const yes = async () => {
    try { onGone(await del('/v1/workspaces/' + seg(id), { no_engine: alone ? 'true' : '' })); } catch (e) { say(e); }
  };
  return html`<${Confirm} title=${`Delete ${oneLine(id)}?`} verb="Delete" danger=${true} onYes=${yes} onClose=${onClose}>
    <p>Deletes its container with everything that runs in it, and the home of its agents${w?.agent && !w.project ? ', and its own project folder' : ''}. This cannot be undone.</p>
    <p>${w?.project && html`The project <span class="mono">${seen(w.project)}</span> is kept. `}Its sessions are kept, too, and can be read.</p>
    ${lost && html`<label class="check"><input type="checkbox" checked=${alone} onChange=${(e) => setAlone(e.target.checked)} /> do not remove the container, because the container engine no longer exists</label>`}</${Confirm}>`;
}

function Gone({ id, gone }) {
  return html`<div class="screen"><div class="screen-head"><h1 id="screen-title" tabindex="-1">${oneLine(id)}</h1></div>
    <${Empty} title="Deleted"><p class="muted">${count(gone.entries, 'file or folder', 'files and folders')} deleted; ${gone.sessions_told === 1 ? '1 session is kept' : `${gone.sessions_told} sessions are kept`}.</p>${(gone.notices || []).map((n) => html`<p class="warning">${seen(n)}</p>`)}
      <p><a href="/workspaces">All workspaces</a></p></${Empty}></div>`;
}

function Facts({ w, u }) {
  return html`<dl class="facts">${w.container && html`<${Fact} name="container"><span class="mono">${oneLine(w.container.name)}</span>${w.container.outdated && html` <${Badge} kind="ask" title=${oneLine(w.container.outdated)}>recreated when idle</${Badge}>`}${w.container.unconfined && html` <span class="muted">${seen(w.container.unconfined)}</span>`}</${Fact}>`}
    <${Fact} name="project"><span class="mono">${seen(w.project || 'its own')}</span></${Fact}><${Fact} name="agent">${seen([w.agent?.kind, ...(w.agent?.command || [])].join(' '))} <span class="muted">${oneLine(w.model || '')}</span></${Fact}>
    <${Fact} name="image"><span class="mono">${seen(w.image || 'the default')}</span></${Fact}><${Fact} name="limits">memory ${w.limits?.memory}, ${w.limits?.cpus} processors, ${w.limits?.pids} processes, disk ${w.limits?.disk}</${Fact}>
    <${Fact} name="network">${w.network?.mode}${w.network?.domains?.length > 0 && html`: ${seen(w.network.domains.join(', '))}`}</${Fact}>${(w.mounts || []).map((m) => html`<${Fact} name="mount"><span class="mono">${seen(m.host)} at ${seen(m.at)}</span>${m.readonly ? ' read only' : ''}</${Fact}>`)}
    ${w.credentials?.length > 0 && html`<${Fact} name="credentials"><span class="mono">${seen(w.credentials.join(', '))}</span></${Fact}>`}
    ${u && html`<${Fact} name="disk">${bytes(u.bytes)} of ${u.limit}${u.over && html` <${Badge} kind="no">limit reached</${Badge}>`} <span class="muted">${count(u.home.files + (u.project?.files || 0), 'file')}</span></${Fact}>`}</dl>`;
}

export function Workspace({ id }) {
  const at = '/v1/workspaces/' + seg(id);
  const { query } = useRoute();
  const { doc: w, error, again } = useLoad(() => get(at), [id]);
  const usage = useLoad(() => get(at + '/usage'), [id]);
  const images = useImages();
  const [bad, setBad] = useState(null);
  const [busy, setBusy] = useState('');
  const [sure, ask] = useState('');
  const [gone, setGone] = useState(null);
  const changing = may('admin') && !!query.get('change');
  const act = async (verb) => { setBusy(verb); try { await post(`${at}/${verb}`); setBad(null); } catch (e) { setBad(e); } setBusy(''); again(); };
  if (gone) return html`<${Gone} id=${id} gone=${gone} />`;
  const done = () => setQuery({ change: '' });
  return html`<div class="screen screen-wide"><div class="screen-head"><h1 id="screen-title" tabindex="-1">${oneLine(id)}</h1>${w && html`<${State} w=${w} />`}
      ${may('admin') && (w || (error && error.status !== 404)) && html`<button type="button" class="danger push" onClick=${() => ask('delete')}>Delete</button>`}</div>
    <${Trouble} error=${error || bad} again=${again} />${!w && !error && html`<${Waiting} />`}
    ${w && html`<section class="panel" aria-labelledby="about"><div class="panel-head"><h2 id="about">Container and settings</h2><div class="head-tools">
        ${may('run') && html`<button type="button" disabled=${!!busy} onClick=${() => act('start')}>${busy === 'start' ? 'Starting …' : 'Start'}</button><button type="button" disabled=${!!busy} onClick=${() => ask('stop')}>${busy === 'stop' ? 'Stopping …' : 'Stop'}</button>`}
        ${may('admin') && !changing && html`<button type="button" onClick=${() => setQuery({ change: true }, { replace: false })}>Change settings</button>`}</div></div>
      ${w.problem && html`<${Trouble} error=${{ message: oneLine(w.problem), hint: oneLine(w.hint || '') }} />`}
      ${changing ? html`<${Settings} w=${w} images=${tagsOf(images)} onDone=${() => { done(); again(); usage.again(); }} onClose=${done} />` : html`<${Facts} w=${w} u=${usage.doc} />`}</section>
    ${may('run') && html`<${Prompt} slug=${id} />`}
    ${w.session_project && html`<${Recent} project=${w.session_project} />`}<${Files} slug=${id} />`}
    ${sure === 'stop' && html`<${Confirm} title=${`Stop ${oneLine(id)}?`} verb="Stop" danger=${true} onYes=${() => act('stop')} onClose=${() => ask('')}><p>This ends everything that runs in the container${w?.container?.processes > 0 ? `: ${count(w.container.processes, 'agent')}` : ''}. The container, its home and the project are kept.</p></${Confirm}>`}
    ${sure === 'delete' && html`<${Delete} id=${id} w=${w} say=${setBad} onGone=${setGone} onClose=${() => ask('')} />`}
  </div>`;
}
