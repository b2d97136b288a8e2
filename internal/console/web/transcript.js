// Turns a session's records into the rows of the transcript. Everything about one call (the
// call, the decision, the approval and the outcome) is one row.

const kindOf = (p) => (p.type === 'media' && p.mime?.startsWith('image/') ? 'image' : p.type);
const partText = (p) => (p?.type === 'text' ? p.text : p?.type === 'structured' ? JSON.stringify(p.value, null, 2)
  : p?.type ? `[${kindOf(p)}${p.name || p.path ? ' ' + (p.name || p.path) : ''}]` : '');
const textOf = (content) => (typeof content === 'string' ? content : Array.isArray(content) ? content.map(partText).join('\n') : '');

/** Transcript reads records in order. A row that changes has a new version v. */
export class Transcript {
  constructor(events = []) {
    this.rows = [];
    this.calls = new Map(); // session and use id → row
    this.asked = new Map(); // approval → row
    this.ids = new Set();
    this.mode = '';
    this.usage = { input: 0, output: 0 };
    this.cost = 0;
    for (const e of events) this.add(e);
  }

  /** add reads one record and returns its row; null if the record was read before. */
  add(e) {
    const id = (e.session || '') + '/' + (e.id || e.seq);
    if (this.ids.has(id)) return null;
    this.ids.add(id);
    if (e.payload == null) return this.row('erased', e);
    const read = this['on ' + e.kind];
    return read ? read.call(this, e, e.payload) : this.row('other', e);
  }

  row(type, e, more = {}, part = '') {
    const r = { key: `${e.session || ''}:${e.seq}:${e.id || ''}${part}`, type, seq: e.seq, time: e.time, agent: e.agent || '', session: e.session || '', records: [e], v: 0, ...more };
    this.rows.push(r);
    return r;
  }

  call(e, use, tool) {
    const key = 'call:' + (e.session || '') + ':' + use;
    let r = this.calls.get(key);
    if (!r) {
      r = this.row('call', e, { key, use, tool: tool || '', input: undefined, hooks: [] });
      this.calls.set(key, r);
    } else {
      if (r.records[r.records.length - 1] !== e) r.records.push(e);
      r.v++;
    }
    if (tool && !r.tool) r.tool = tool;
    return r;
  }

  'on item'(e, p) {
    const it = p.item || {};
    const parts = Array.isArray(it.parts) ? it.parts : [];
    if (it.role === 'tool') return this.results(e, parts);
    if (it.role === 'assistant') return this.answer(e, it, parts);
    const text = parts.map(partText).join('\n\n');
    return this.row(it.role === 'user' ? 'user' : 'note', e, { role: it.role, text, queued: !!p.queued, item: it.id });
  }

  answer(e, it, parts) {
    let first = null;
    let n = 0;
    const keep = (r) => (first ||= r);
    if (it.usage) {
      this.usage.input += it.usage.input || 0;
      this.usage.output += it.usage.output || 0;
    }
    for (const x of parts) {
      n++;
      const at = '.' + n;
      if (x.type === 'thinking') keep(this.row('thinking', e, { text: x.text || '' }, at));
      else if (x.type === 'text') keep(this.row('assistant', e, { text: x.text || '', model: it.model, item: it.id }, at));
      else if (x.type === 'tool_use') {
        const r = this.call(e, x.id, x.name);
        r.input = x.input;
        r.item = it.id;
        keep(r);
      } else keep(this.row('note', e, { role: x.type, text: JSON.stringify(x, null, 2) }, at));
    }
    if (it.finish === 'max_tokens' || it.finish === 'refusal') keep(this.row('mark', e, { text: it.finish === 'refusal' ? 'the model refused' : 'cut off: the answer was too long' }, '.f'));
    return first || this.row('other', e);
  }

  results(e, parts) {
    let first = null;
    for (const x of parts) {
      if (x.type !== 'tool_result') continue;
      const r = this.call(e, x.use_id, '');
      r.result = { text: textOf(x.content), error: !!x.is_error };
      first ||= r;
    }
    return first || this.row('other', e);
  }

  'on decision'(e, p) {
    const r = this.call(e, p.use_id, p.tool);
    r.decision = p;
    return r;
  }

  'on tool.started'(e, p) {
    const r = this.call(e, p.use_id, p.tool);
    r.started = e.time;
    return r;
  }

  'on tool.finished'(e, p) {
    const r = this.call(e, p.use_id, p.tool);
    r.finished = p;
    return r;
  }

  'on approval.asked'(e, p) {
    const r = this.call(e, p.use_id, p.tool);
    r.question = p;
    if (r.input === undefined) r.input = p.requests?.[0]?.input;
    this.asked.set(p.id, r);
    return r;
  }

  'on approval.resolved'(e, p) {
    const r = this.asked.get(p.id);
    if (!r) return this.row('mark', e, { text: `an approval was answered: ${p.decision}`, by: p.by, via: p.via });
    r.records.push(e);
    if (!r.answer) r.answer = p;
    r.v++;
    return r;
  }

  'on hook.ran'(e, p) {
    if (!p.use_id) return this.row('hook', e, { event: p.event, hooks: p.hooks || [], quiet: p.quiet || 0 });
    const r = this.call(e, p.use_id, p.tool);
    r.hooks = [...r.hooks, { event: p.event, hooks: p.hooks || [], quiet: p.quiet || 0 }];
    return r;
  }

  'on policy.changed'(e, p) {
    if (p.mode) this.mode = p.mode;
    return this.row('policy', e, { change: p });
  }

  'on session.opened'(e, p) { return this.row('opened', e, { opened: p }); }

  'on rewrite'(e, p) { return this.row('rewrite', e, { rewrite: p }); }

  'on turn.opened'(e) { return this.row('turn', e); }

  'on turn.closed'(e, p) {
    this.cost += p.cost_usd || 0;
    return this.row('closed', e, { closed: p });
  }

  'on meta.changed'(e, p) {
    const changed = ['title', 'tag', 'summary', 'cwd', 'model', 'project', 'git_branch'].filter((k) => p[k] !== undefined);
    return this.row('mark', e, { text: changed.map((k) => (p[k] === '' ? `${k} cleared` : `${k}: ${p[k]}`)).join(', '), by: p.by });
  }

  'on redacted'(e, p) { return this.row('mark', e, { text: `content of ${(p.seqs || []).length} records was erased${p.reason ? ': ' + p.reason : ''}`, by: p.by }); }

  'on run.event'(e, p) {
    if (p.strategy?.agents) this.single = p.strategy.agents.length < 2;
    if (p.event === 'started') this.runs = true;
    return this.row('run', e, { run: p, agent: p.agent || e.agent || '' });
  }

  /**
   * shown returns the rows to display: no turn starts and no relayed events, and for a run of
   * one agent neither its only step nor the end of its turn, which the run's end repeats.
   */
  shown() {
    const quiet = new Set(['relayed', 'policy_updated', 'status', ...(this.single ? ['step_started', 'step_completed'] : [])]);
    return this.rows.filter((r) => r.type !== 'turn' && !(r.type === 'run' && quiet.has(r.run.event))
      && !(r.type === 'closed' && this.runs && r.closed.reason === 'completed' && !r.closed.cost_usd));
  }
}

/** stateOf returns the state of a call in one word. */
export function stateOf(r) {
  if (r.result || r.finished) {
    if (r.decision?.effect === 'deny') return 'denied';
    if (r.answer?.decision?.startsWith('deny')) return 'denied';
    if (/^interrupted, outcome unknown/.test(r.result?.text || '')) return 'unknown';
    return r.result?.error || r.finished?.is_error || r.finished?.exit_code ? 'failed' : 'done';
  }
  if (r.decision?.effect === 'deny') return 'denied';
  if (r.question && !r.answer) return 'asks';
  if (r.started) return 'running';
  if (r.answer) return r.answer.decision?.startsWith('allow') ? 'allowed' : 'denied';
  return 'called';
}

/** gist returns the main input of a call, on one line. */
export function gist(tool, input) {
  if (input == null) return '';
  if (typeof input !== 'object') return String(input);
  for (const k of ['command', 'file_path', 'notebook_path', 'path', 'pattern', 'url', 'query', 'prompt', 'description']) {
    if (typeof input[k] === 'string' && input[k]) return k === 'path' && input.pattern ? `${input.pattern} in ${input.path}` : input[k];
  }
  if (tool === 'AskUserQuestion' && Array.isArray(input.questions)) return input.questions.map((q) => String(q?.question ?? '')).join(' · ');
  if (tool === 'ExitPlanMode' && typeof input.plan === 'string') return input.plan;
  const s = JSON.stringify(input);
  return s === '{}' ? '' : s;
}

/** Provisional is text that agents are currently writing. The record replaces it. */
export class Provisional {
  constructor() { this.by = new Map(); }

  delta({ agent = '', type, event = {} }) {
    const value = (k) => event[k] ?? event[k[0].toUpperCase() + k.slice(1)] ?? '';
    if (type === 'retrying' || type === 'model_started') return this.by.delete(agent);
    if (type !== 'text_delta' && type !== 'thinking_delta' && type !== 'tool_input_delta') return false;
    const now = this.by.get(agent) || { text: '', thinking: '', tool: '', input: '' };
    if (type === 'text_delta') now.text += value('text');
    else if (type === 'thinking_delta') now.thinking += value('text');
    else {
      if (value('use') !== now.use) [now.input, now.use] = ['', value('use')];
      now.tool = value('tool') || now.tool;
      now.input += event.json ?? event.JSON ?? '';
    }
    this.by.set(agent, now);
    return true;
  }

  /** record removes provisional text that a record now contains. */
  record(e) {
    if (e.kind === 'item' && e.payload?.item?.role === 'assistant') {
      return this.by.delete(e.agent || '') || (this.by.size === 1 && !e.agent && this.clear());
    }
    if (e.kind === 'turn.closed') return this.clear();
    return false;
  }

  clear() {
    const had = this.by.size > 0;
    this.by.clear();
    return had;
  }
}
