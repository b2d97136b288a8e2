// One session: its transcript, live, and the actions on it.
import { html, cls, useEffect, useRef, useState } from './dom.js';
import { get, post, patch, may, seg } from './api.js';
import { useRoute, go, sessionPath } from './route.js';
import { useLog } from './log.js';
import { Windowed } from './windowed.js';
import { Row, Coming } from './rows.js';
import { gist } from './transcript.js';
import { Trouble, Waiting } from './load.js';
import { StatusBadge, Confirm, Dialog, announce, titleOf } from './parts.js';
import { Approval } from './approval.js';
import { useShown } from './inbox.js';
import { useStore } from './store.js';
import { approvals } from './live.js';
import { oneLine, plain } from './text.js';
import { count } from './time.js';

export const modes = ['default', 'plan', 'auto', 'acceptEdits', 'dontAsk', 'bypassPermissions', 'restricted', 'silent'];
const ended = new Set(['completed', 'failed', 'cancelled', 'interrupted']);

/** useMetaAndRun follows a session's meta and its run. */
function useMetaAndRun(id) {
  const [about, set] = useState({ meta: null, run: null, error: null });
  const turn = useRef(0);
  const timer = useRef(0);
  const now = async () => {
    const mine = ++turn.current;
    const [meta, run] = await Promise.allSettled([get('/v1/sessions/' + seg(id)), get('/v1/runs/' + seg(id))]);
    if (mine !== turn.current) return;
    set((a) => ({
      meta: meta.value || a.meta, run: run.value || (run.reason?.status === 404 ? null : a.run),
      error: meta.reason || null,
    }));
  };
  const soon = () => { clearTimeout(timer.current); timer.current = setTimeout(now, 150); };
  useEffect(() => { now(); return () => { turn.current++; clearTimeout(timer.current); }; }, [id]);
  return { ...about, again: now, soon };
}

function Title({ meta, again }) {
  const [editing, edit] = useState(false);
  const [text, set] = useState('');
  const save = async (e) => {
    e.preventDefault();
    await patch('/v1/sessions/' + seg(meta.id), { title: text.trim() }).catch(() => {});
    edit(false);
    again();
  };
  if (editing) {
    return html`<form class="rename" onSubmit=${save}><label class="field field-wide"><span class="sr">Title</span>
      <input type="text" value=${text} maxlength="200" ref=${(el) => el && !el.dataset.ready && ((el.dataset.ready = '1'), el.focus())} onInput=${(e) => set(e.target.value)} onKeyDown=${(e) => e.key === 'Escape' && edit(false)} /></label>
      <button type="submit" class="primary">Rename</button><button type="button" onClick=${() => edit(false)}>Cancel</button></form>`;
  }
  return html`<h1 id="screen-title" tabindex="-1">${titleOf(meta)}</h1>
    ${may('run') && html`<button type="button" class="quiet" onClick=${() => { set(meta.title || ''); edit(true); }}>Rename</button>`}`;
}

/** Mode shows the mode and changes it. */
function Mode({ id, mode, again, say }) {
  const [sure, setSure] = useState('');
  const change = async (m) => {
    try {
      await post(`/v1/runs/${seg(id)}/mode`, { mode: m });
      again();
    } catch (e) { say(e); again(); }
  };
  const pick = (e) => {
    const m = e.target.value;
    e.target.value = mode;
    if (m === 'bypassPermissions' || m === 'dontAsk') setSure(m);
    else change(m);
  };
  return html`<label class="mode"><span class="muted">Mode</span>
    <select value=${mode} disabled=${!may('approve')} onChange=${pick}>${(modes.includes(mode) ? modes : [mode, ...modes]).map((m) => html`<option value=${m}>${m || 'default'}</option>`)}</select></label>
    ${sure && html`<${Confirm} title=${`Change to ${sure}?`} verb=${`Change to ${sure}`} danger=${sure === 'bypassPermissions'} onYes=${() => change(sure)} onClose=${() => setSure('')}>
      <p>${sure === 'bypassPermissions' ? 'The agent will no longer ask: every call that no rule denies runs.' : 'The agent will no longer ask: every call that needs approval is denied.'}</p></${Confirm}>`}`;
}

/** Composer sends text to the run: to steer it, to give input, or to resume it. */
function Composer({ id, run, meta, stop, again, say }) {
  const [text, set] = useState('');
  const [busy, setBusy] = useState(false);
  const works = run && !ended.has(run.status) && run.status !== 'pending';
  const input = works ? run.inputs?.[0] : null;
  if (!may('run') || meta?.owner) return null; // an agent of a run is resumed with its run
  const kind = input ? 'input' : works ? 'steer' : 'continue';
  const words = { input: ['Answer', `${oneLine(input?.agentName || 'The agent')} asks for input`], steer: ['Steer', 'Say something to the running agent'], continue: ['Continue', 'Continue with'] };
  const send = async () => {
    setBusy(true);
    try {
      if (kind === 'input') await post(`/v1/runs/${seg(id)}/input`, { agent: input.agentName, input_id: input.inputRequestId, text });
      else if (kind === 'steer') await post(`/v1/runs/${seg(id)}/steer`, { text });
      else if (run) await post(`/v1/runs/${seg(id)}/continue`, text.trim() ? { input: text } : {});
      else await post('/v1/runs', { session_id: id, cwd: meta.cwd, input: text || undefined, start: true });
      set('');
    } catch (e) { say(e); }
    setBusy(false);
    again();
  };
  const empty = !text.trim() && kind !== 'continue';
  return html`<form class="composer" onSubmit=${(e) => { e.preventDefault(); if (!busy && !empty) send(); }}>
    <label class="field field-wide"><span>${words[kind][1]}${kind === 'input' && input.prompt ? html`: <q>${oneLine(input.prompt)}</q>` : ''}</span>
      <textarea rows=${Math.min(8, Math.max(1, text.split('\n').length))} value=${text} placeholder=${kind === 'continue' ? 'what to do next (optional)' : ''} onInput=${(e) => set(e.target.value)}
        onKeyDown=${(e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); if (!busy && !empty) send(); } }}></textarea></label>
    <button type="submit" class="primary" disabled=${busy || empty}>${words[kind][0]}</button>
    ${stop && html`<button type="button" class="danger" onClick=${stop}>Stop</button>`}</form>`;
}

function Fork({ id, row, onClose, say }) {
  const [title, set] = useState('');
  const run = async (e) => {
    e.preventDefault();
    try {
      const s = await post(`/v1/sessions/${seg(id)}/fork`, { ...(row ? { at: row.item } : {}), ...(title.trim() ? { title: title.trim() } : {}) });
      onClose();
      go(sessionPath(s.id));
    } catch (err) { onClose(); say(err); }
  };
  return html`<${Dialog} title=${row ? `Fork from record ${row.seq}` : 'Fork from the end'} onClose=${onClose}>
    <p>A new session with everything up to this point. This session does not change.</p>
    <form onSubmit=${run}><label class="field field-wide"><span>Title (optional)</span><input type="text" value=${title} maxlength="200" onInput=${(e) => set(e.target.value)} /></label>
      <div class="actions"><button type="submit" class="primary">Fork</button><button type="button" onClick=${onClose}>Cancel</button></div></form></${Dialog}>`;
}

const tailWords = { loading: '', connecting: 'connecting', live: '', lost: 'connection lost, reconnecting', gone: 'this session was deleted', away: '', hidden: '' };

/** useRowAnnouncer announces new rows to screen readers, not too often. */
function useRowAnnouncer() {
  const timer = useRef(0);
  const last = useRef('');
  return (e) => {
    const p = e.payload || {};
    if (e.kind === 'item' && p.item?.role === 'assistant') {
      for (const x of p.item.parts || []) {
        if (x.type === 'text') last.current = 'assistant: ' + oneLine(x.text).slice(0, 200);
        if (x.type === 'tool_use') last.current = `${oneLine(x.name)}: ${oneLine(gist(x.name, x.input)).slice(0, 120)}`;
      }
    } else if (e.kind === 'run.event' && ended.has(p.event)) last.current = 'run ' + p.event;
    else return;
    timer.current ||= setTimeout(() => { timer.current = 0; announce(last.current); }, 2000);
  };
}

function useRows() {
  const [open, setOpen] = useState(new Map());
  const [raw, setRaw] = useState(new Set());
  const isOpen = (r) => open.get(r.key) ?? false;
  return {
    isOpen, isRaw: (r) => raw.has(r.key),
    toggle: (r) => setOpen((m) => new Map(m).set(r.key, !isOpen(r))),
    raw: (r) => setRaw((s) => { const n = new Set(s); if (!n.delete(r.key)) n.add(r.key); return n; }),
  };
}

export function Session({ id }) {
  const { hash } = useRoute();
  const wanted = +(/^seq-(\d+)$/.exec(hash)?.[1] || 0);
  const about = useMetaAndRun(id);
  const says = useRowAnnouncer();
  const { log, older, newer, jump } = useLog(id, wanted, (e) => { says(e); if (/^(run\.event|policy\.changed|approval\.|turn\.|meta\.)/.test(e.kind)) about.soon(); });
  const [stick, setStick] = useState(!wanted);
  const [goal, setGoal] = useState(null);
  const [error, say] = useState(null);
  const [forking, fork] = useState(null);
  const rows = useRows();
  const open = useStore(approvals).items.filter((q) => q.session_id === id || q.run_id === id);
  const { shown: asked, gone, mine } = useShown(open);
  const list = log.fold.shown();
  const done = useRef('');
  const head = useRef(null);

  useEffect(() => { // a link to a record: scroll to it, and load it if needed
    if (!wanted || !list.length || done.current === hash) return;
    const row = list.find((r) => r.records.some((e) => e.seq === wanted)) || [...list].reverse().find((r) => r.seq <= wanted);
    if (wanted < log.first || (log.live === 'away' && wanted > log.after)) { jump(wanted); return; }
    if (!row) return;
    done.current = hash;
    setStick(false);
    setGoal({ key: row.key, n: wanted });
  });
  const latest = () => {
    if (location.hash) go(location.pathname, { replace: true });
    setGoal(null);
    setStick(true);
    if (log.live === 'away') jump(0);
    else scrollTo(0, document.documentElement.scrollHeight);
  };
  const stop = async () => { try { await post(`/v1/runs/${seg(id)}/stop`); } catch (e) { say(e); } about.again(); };
  const { meta, run } = about;
  if (about.error && !meta) return html`<div class="screen"><${Trouble} error=${about.error} again=${about.again} /><p><a href="/sessions">All sessions</a></p></div>`;
  if (!meta) return html`<div class="screen"><${Waiting} /></div>`;
  const status = run?.status || meta.run;
  const works = status === 'running' || status === 'waiting';
  const coming = log.live === 'live' || log.live === 'connecting' ? [...log.coming.by] : [];
  const on = { ...rows, fork: may('run') ? (r) => fork({ row: r }) : null };
  const mode = log.fold.mode || run?.mode || 'default';
  const space = /^workspace:([^:]+):/.exec(meta.project || '')?.[1];
  return html`<div class="screen session">
    <div class="session-head" ref=${head}>
      <div class="screen-head"><${Title} meta=${meta} again=${about.again} />
        <div class="push head-tools"><${StatusBadge} status=${status} questions=${open.length} />
          <${Mode} id=${id} mode=${run?.mode || mode} again=${about.again} say=${say} />
          ${may('run') && html`<button type="button" onClick=${() => fork({ row: null })}>Fork</button>`}</div></div>
      <p class="meta muted"><span class="mono" title=${plain(meta.cwd || '')}>${oneLine(meta.cwd || '')}</span>${meta.model && html`<span>${oneLine(meta.model)}</span>`}${meta.git_branch && html`<span>branch ${oneLine(meta.git_branch)}</span>`}
        <span>${count(meta.message_count, 'message')}</span><span>${count(log.head || meta.head, 'record')}</span>${meta.parent && html`<span>fork of <a href=${sessionPath(meta.parent, meta.parent_seq)}>${oneLine(meta.parent)}</a></span>`}
        ${space && html`<span>in <a href=${'/workspaces/' + seg(space)}>workspace ${oneLine(space)}</a></span>`}${meta.owner && html`<span>agent of <a href=${sessionPath(meta.owner)}>${oneLine(meta.owner)}</a></span>`}<a href=${'/v1/sessions/' + seg(id) + '/export?format=jsonl'} download>Export</a>
        <a href=${'/policy?session=' + seg(id) + '&cwd=' + seg(meta.cwd || '')}>Policy</a><a href=${'/audit?session=' + seg(id)}>Audit</a></p>
    </div>
    ${error && html`<${Trouble} error=${error} />`}
    ${run?.error && html`<div class="trouble"><p><strong>${run.error.code}.</strong> ${oneLine(run.error.message)}</p></div>`}
    ${log.error && html`<${Trouble} error=${log.error} again=${() => jump(wanted)} />`}
    ${!log.top && list.length > 0 && html`<p class="waiting">${log.busy ? 'Loading earlier records …' : html`<button type="button" class="link" onClick=${older}>Earlier records</button>`}</p>`}
    ${log.live === 'loading' && !list.length && html`<${Waiting} />`}
    <${Windowed} rows=${list} label="transcript" head=${8} stick=${stick} goal=${goal} onStick=${setStick} onTop=${older} onEnd=${newer}
      show=${(r) => html`<${Row} key=${r.key} r=${r} v=${r.v} id=${id} open=${rows.isOpen(r)} raw=${rows.isRaw(r)} marked=${wanted > 0 && r.records.some((e) => e.seq === wanted)} on=${on} />`} />
    ${coming.map(([agent, now]) => html`<${Coming} key=${agent} agent=${agent} now=${now} />`)}
    ${asked.length > 0 && html`<section class="questions" aria-label="pending approvals">${asked.map((q) => html`<${Approval} key=${q.id} q=${q} within=${true} gone=${open.includes(q) ? null : gone.get(q.id)?.answer} onDone=${(d) => mine(d.id)} />`)}</section>`}
    <div class=${cls('session-foot')}>
      ${tailWords[log.live] && html`<p class="tail-state muted" role="status">${tailWords[log.live]}</p>`}
      ${(!stick || log.live === 'away') && html`<button type="button" class="latest" onClick=${latest}>Jump to latest ↓</button>`}
      <${Composer} id=${id} run=${run} meta=${meta} stop=${works ? stop : null} again=${about.again} say=${say} />
    </div>
    ${forking && html`<${Fork} id=${id} row=${forking.row} onClose=${() => fork(null)} say=${say} />`}
  </div>`;
}
