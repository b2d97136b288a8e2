// The policy: the decision chains, a tester, and the grants.
import { html, useEffect, useState } from './dom.js';
import { get, post, del, may, seg } from './api.js';
import { useRoute, setQuery, sessionPath } from './route.js';
import { useLoad, Trouble, Waiting, Empty } from './load.js';
import { Badge, Confirm, Origin, Verdict, titleOf } from './parts.js';
import { Field } from './sessions.js';
import { modes } from './session.js';
import { seen, plain, oneLine } from './text.js';
import { Ago } from './time.js';

/** group groups the tools that have the same chain. */
function group(chains) {
  const by = new Map();
  for (const c of chains || []) {
    const links = c.policies || c.links || [];
    const key = JSON.stringify([c.mode, links]);
    if (!by.has(key)) by.set(key, { tools: [], mode: c.mode, links });
    by.get(key).tools.push(c.tool || 'all tools');
  }
  return [...by.values()];
}

function Chains({ chains }) {
  return html`<div class="chains">${group(chains).map((g, i) => html`<section class="chain" key=${i}>
    <h3>${g.tools.map(oneLine).join(', ')}</h3>
    <ol>${g.links.map((l) => html`<li><span class="mono">${seen(l.name)}</span>${l.stage && html` <span class="muted">${oneLine(l.stage)}</span>`}${l.origin && html` <${Origin} rule=${l.origin} />`}</li>`)}</ol></section>`)}</div>`;
}

function Rules({ rules }) {
  if (!rules?.length) return html`<p class="muted">No rules: the permission mode decides.</p>`;
  const order = { deny: 0, ask: 1, allow: 2 };
  const list = [...rules].sort((a, b) => (order[a.effect] ?? 3) - (order[b.effect] ?? 3));
  return html`<div class="table-box" tabindex="0" role="region" aria-label="rules"><table class="list"><thead><tr><th scope="col">Effect</th><th scope="col">Rule</th><th scope="col">Layer</th><th scope="col">Where</th></tr></thead>
    <tbody>${list.map((r, i) => html`<tr key=${i}><td><${Verdict} effect=${r.effect} /></td><td class="mono">${seen(r.rule)}</td><td>${oneLine(r.layer || '')}</td><td class="mono muted">${plain(r.file || '')}${r.line ? ':' + r.line : ''}</td></tr>`)}</tbody></table></div>`;
}

const tools = { Bash: 'command', Read: 'file_path', Write: 'file_path', Edit: 'file_path', Glob: 'pattern', Grep: 'pattern', WebFetch: 'url' };

function inputOf(tool, text) {
  const t = text.trim();
  if (t.startsWith('{')) return JSON.parse(t);
  const key = tools[tool];
  if (!key) throw new Error(`the input of ${tool} must be JSON`);
  const more = tool === 'Write' ? { content: '' } : tool === 'Edit' ? { old_string: 'a', new_string: 'b' } : tool === 'WebFetch' ? { prompt: '' } : {};
  return { [key]: text, ...more };
}

/** Tester shows the decision for a call, and runs nothing. */
function Tester({ cwd, session }) {
  const [tool, setTool] = useState('Bash');
  const [text, setText] = useState('');
  const [mode, setMode] = useState('');
  const [said, setSaid] = useState(null);
  const [error, setError] = useState(null);
  const test = async (e) => {
    e.preventDefault();
    setError(null);
    try {
      const input = inputOf(tool, text);
      setSaid(await post('/v1/policy/test', { cwd: cwd || '/', tool, input, ...(session ? { session } : {}), ...(mode ? { mode } : {}) }));
    } catch (err) { setSaid(null); setError(err); }
  };
  const verdict = said?.verdict || said?.effect;
  return html`<section class="panel" aria-labelledby="tester"><h2 id="tester">Test a call</h2>
    <form class="filters" onSubmit=${test}>
      <label class="field"><span>Tool</span><input type="text" list="tools" value=${tool} spellcheck=${false} onInput=${(e) => setTool(e.target.value)} /></label>
      <datalist id="tools">${Object.keys(tools).map((t) => html`<option value=${t} />`)}</datalist>
      <label class="field field-wide"><span>${tools[tool] ? tools[tool].replace('_', ' ') : 'input'}, or its input as JSON</span><input type="text" class="mono" value=${text} spellcheck=${false} autocomplete="off" placeholder=${tool === 'Bash' ? 'git push --force' : ''} onInput=${(e) => setText(e.target.value)} /></label>
      <label class="field"><span>Mode</span><select value=${mode} onChange=${(e) => setMode(e.target.value)}><option value="">as set</option>${modes.map((m) => html`<option value=${m}>${m}</option>`)}</select></label>
      <button type="submit" class="primary" disabled=${!text.trim()}>Test</button></form>
    <${Trouble} error=${error} />
    ${said && html`<div class="verdict" role="status"><p><${Verdict} effect=${verdict} /> ${seen(said.reason || '')} <span class="muted">by ${oneLine(said.by || '')}</span></p>${said.rule && html`<p><${Origin} rule=${said.rule} /></p>`}
      <ol class="said">${(said.trace || said.said || []).map((t) => html`<li><span class="mono">${oneLine(t.policy)}</span> <${Verdict} effect=${t.effect} /> <span class="muted">${seen(t.reason || '')}</span> <${Origin} rule=${t.rule} /></li>`)}</ol></div>`}
  </section>`;
}

function Grants({ session }) {
  const { doc, error, again } = useLoad(() => get(`/v1/sessions/${seg(session)}/grants`), [session]);
  const [taking, take] = useState(null);
  const [bad, setBad] = useState(null);
  const revoke = async (g) => {
    try { await del(`/v1/sessions/${seg(session)}/grants/${seg(g.id)}`); setBad(null); } catch (e) { setBad(e); }
    again();
  };
  return html`<section class="panel" aria-labelledby="grants"><h2 id="grants">Granted in <a href=${sessionPath(session)}>${oneLine(session)}</a></h2>
    <${Trouble} error=${error || bad} again=${again} />
    ${doc && !doc.items.length && html`<p class="muted">This session has no grants.</p>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="grants"><table class="list"><thead><tr><th scope="col">Effect</th><th scope="col">Covers</th><th scope="col">By</th><th scope="col">When</th><th scope="col"><span class="sr">Revoke</span></th></tr></thead><tbody>
      ${doc.items.map((g) => html`<tr key=${g.id}><td><${Verdict} effect=${g.effect} /></td><td><span class="mono">${seen(g.scope || `${g.tool} ${g.resource || ''}`)}</span>${g.cwd && html` <span class="muted">in ${plain(g.cwd)}</span>`}${g.confined && html` <${Badge} kind="plain">sandboxed only</${Badge}>`}</td>
        <td>${oneLine(g.by || '')}</td><td class="nowrap"><${Ago} at=${g.at} /></td><td class="right">${may('approve') && html`<button type="button" onClick=${() => take(g)}>Revoke</button>`}</td></tr>`)}</tbody></table></div>`}
    ${taking && html`<${Confirm} title="Revoke this grant?" verb="Revoke" danger=${true} onYes=${() => revoke(taking)} onClose=${() => take(null)}><p class="mono">${seen(taking.scope || `${taking.tool} ${taking.resource || ''}`)}</p><p>It no longer applies from the next call.</p></${Confirm}>`}</section>`;
}

function Live({ session }) {
  const { doc, error } = useLoad(() => get(`/v1/sessions/${seg(session)}/policy`), [session]);
  return html`<section class="panel" aria-labelledby="live"><h2 id="live">Policy of this session</h2><${Trouble} error=${error} />
    ${doc && html`<p class="muted">mode ${oneLine(doc.mode || 'default')}, version ${doc.version}</p><${Chains} chains=${doc.chains} />`}</section>`;
}

export function Policy() {
  const { query } = useRoute();
  const session = query.get('session') || '';
  const recent = useLoad(() => get('/v1/sessions', { limit: 100 }), []);
  const folders = [...new Set((recent.doc?.items || []).map((s) => s.cwd).filter(Boolean))];
  const cwd = query.get('cwd') || folders[0] || '';
  const { doc, error, again } = useLoad(() => (cwd ? get('/v1/policy', { cwd }) : null), [cwd]);
  const pick = (e) => {
    const s = recent.doc.items.find((i) => i.id === e.target.value);
    setQuery({ session: e.target.value, cwd: s?.cwd || cwd });
  };
  useEffect(() => { document.getElementById('main')?.scrollTo?.(0, 0); }, [session]);
  return html`<div class="screen screen-wide"><div class="screen-head"><h1 id="screen-title" tabindex="-1">Policy</h1><p class="muted">Deny wins over ask, and ask over allow. Unclear commands need approval.</p></div>
    <form class="filters" onSubmit=${(e) => e.preventDefault()}><${Field} name="cwd" label="Folder" type="text" value=${cwd} wide=${true} />
      <label class="field"><span>Session</span><select value=${session} onChange=${pick}><option value="">none</option>${session && !recent.doc?.items.some((s) => s.id === session) && html`<option value=${session}>${oneLine(session)}</option>`}
        ${(recent.doc?.items || []).map((s) => html`<option value=${s.id}>${titleOf(s).slice(0, 60)}</option>`)}</select></label></form>
    <${Trouble} error=${error} again=${again} />
    ${!cwd && recent.doc && html`<${Empty} title="Choose a folder"><p class="muted">A folder's policy combines its settings, your settings and the managed settings.</p></${Empty}>`}
    ${cwd && !doc && !error && html`<${Waiting} />`}
    ${doc && html`<${Tester} cwd=${cwd} session=${session} />
    ${session && html`<${Grants} key=${session} session=${session} /><${Live} key=${'live' + session} session=${session} />`}
    <section class="panel" aria-labelledby="rules"><h2 id="rules">Rules of ${plain(doc.folder || cwd)}</h2><p class="muted">mode ${oneLine(doc.mode || 'default')}${doc.mode_from ? html` from <${Origin} rule=${doc.mode_from} />` : ''}${doc.bypass_disabled_by ? ', bypassPermissions is disabled' : ''}</p><${Rules} rules=${doc.rules} />
      ${(doc.warnings || []).map((w) => html`<p class="warning">${seen(typeof w === 'string' ? w : w.what || JSON.stringify(w))}</p>`)}
      ${(doc.ignored || []).length > 0 && html`<h3>Ignored</h3><ul>${doc.ignored.map((w) => html`<li class="muted">${seen(typeof w === 'string' ? w : [w.what, w.file, w.why].filter(Boolean).join(' · ') || JSON.stringify(w))}</li>`)}</ul>`}</section>
    <section class="panel" aria-labelledby="layers"><h2 id="layers">Layers</h2>${doc.layers?.length ? html`<ul class="plain">${doc.layers.map((l) => html`<li><strong>${oneLine(l.layer)}</strong> <span class="mono muted">${plain(l.file || '')}</span> ${l.rules != null && html`<span class="muted num">${l.rules === 1 ? '1 rule' : l.rules + ' rules'}</span>`} ${l.untrusted && html`<${Badge} kind="ask" title="what it allows does not count until the folder is trusted">not trusted</${Badge}>`}</li>`)}</ul>` : html`<p class="muted">No settings files.</p>`}</section>
    <section class="panel" aria-labelledby="chain"><h2 id="chain">The decision chain, in order</h2><${Chains} chains=${doc.chains} /></section>`}
  </div>`;
}
