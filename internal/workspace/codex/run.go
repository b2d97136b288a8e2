package codex

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/workspace/jsonrpc"
	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// run is a running turn.
type run struct {
	turn vendor.Turn
	sink vendor.Sink
	uses *toolqueue.Turn
	conn *jsonrpc.Conn

	initialize, login, begin, start string // ids of the driver's calls
	thread, id                      string // ids of the session and of its current turn

	lastText string // the last message
	output   map[string]*tail
	trouble  string // the last error after which Codex did not try again
	base     *counts
	total    counts
	calls    int
	end      *vendor.End
}

func newRun(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) *run {
	return &run{
		turn: t, sink: s, uses: toolqueue.New(ctx, s), output: map[string]*tail{},
		conn: jsonrpc.New(p.Stdout(), p.Stdin(), jsonrpc.Options{}),
	}
}

func (r *run) close() {
	r.uses.Close()
	r.conn.Close()
}

// serve handles Codex's messages until the turn is over.
func (r *run) serve() (vendor.End, error) {
	r.initialize = r.conn.Call("initialize", map[string]any{
		"clientInfo": map[string]any{"name": "holdfast", "title": "Holdfast", "version": "1"},
	})
	for r.end == nil {
		m, err := r.conn.Next()
		var broken *jsonrpc.BrokenError
		switch {
		case errors.As(err, &broken):
			err = r.uses.Notice(broken.Error())
		case err != nil:
			return vendor.End{}, errors.Join(err, r.uses.Finish())
		case m.IsRequest():
			err = r.request(m)
		case m.Method != "":
			err = r.notification(m)
		default:
			err = r.answer(m)
		}
		if err != nil {
			return vendor.End{}, err
		}
	}
	return *r.end, r.uses.Finish()
}

// answer handles the response to one of the driver's calls and makes the next call.
func (r *run) answer(m *jsonrpc.Message) error {
	switch {
	case m.Error != nil:
		return r.refused(m)
	case m.IsResponse(r.initialize):
		r.conn.Notify("initialized", nil)
		if k := apiKey(r.turn.Env); k != "" {
			r.login = r.conn.Call("account/login/start", map[string]any{"type": "apiKey", "apiKey": k})
			return nil
		}
		r.open()
	case m.IsResponse(r.login):
		r.open()
	case m.IsResponse(r.begin):
		return r.began(m)
	case m.IsResponse(r.start):
		var t struct {
			Turn turn `json:"turn"`
		}
		if json.Unmarshal(m.Result, &t) == nil && r.id == "" {
			r.id = t.Turn.ID
		}
	}
	return nil
}

// refused handles the rejection of one of the driver's calls. It ends the turn if the turn needs
// the call.
func (r *run) refused(m *jsonrpc.Message) error {
	end := &vendor.End{Failure: m.Error.Error()}
	switch {
	case m.IsResponse(r.begin):
		end.ResumeFailed = r.turn.Resume
	case m.IsResponse(r.initialize), m.IsResponse(r.start):
	case m.IsResponse(r.login):
		end.Failure = "the API key was rejected: " + end.Failure
	default:
		return nil
	}
	r.end = end
	return nil
}

// open starts or resumes the session. It replaces the approval and sandbox settings in the agent's
// own configuration.
func (r *run) open() {
	p := map[string]any{
		"cwd": r.turn.Dir, "approvalPolicy": "untrusted", "approvalsReviewer": "user", "sandbox": "danger-full-access",
	}
	if r.turn.Model != "" {
		p["model"] = r.turn.Model
	}
	if lookupEnv(r.turn.Env, baseVariable) != "" {
		p["modelProvider"] = provider
	}
	if r.turn.System != "" {
		p["developerInstructions"] = r.turn.System
	}
	method := "thread/start"
	if r.turn.Resume {
		method = "thread/resume"
		p["threadId"], p["excludeTurns"] = r.turn.Session, true
	}
	r.begin = r.conn.Call(method, p)
}

func (r *run) began(m *jsonrpc.Message) error {
	var t thread
	if err := json.Unmarshal(m.Result, &t); err != nil || !threadID().MatchString(t.Thread.ID) {
		return errors.New("codex started a session without a valid id")
	}
	r.thread = t.Thread.ID
	if err := r.sink.SessionStarted(r.thread); err != nil {
		return err
	}
	r.start = r.conn.Call("turn/start", map[string]any{"threadId": r.thread, "input": input(r.turn.Input)})
	return nil
}

// input returns the user's input in the protocol's form.
func input(parts []transcript.Part) []map[string]any {
	out := []map[string]any{}
	text := func(s string) {
		out = append(out, map[string]any{"type": "text", "text": s, "text_elements": []any{}})
	}
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Text:
			text(p.Text)
		case transcript.Media:
			url := p.URI
			if len(p.Data) > 0 {
				url = "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			}
			if strings.HasPrefix(p.MIME, "image/") && url != "" {
				out = append(out, map[string]any{"type": "image", "url": url})
			} else {
				text("[" + p.MIME + " that cannot be shown here] " + p.URI)
			}
		case transcript.File:
			text("[file " + p.Name + "]\n" + string(p.Data))
		case transcript.Structured:
			text(string(p.Value))
		}
	}
	return out
}

// ignoredNotifications has the prefixes of notifications that the driver does not need.
var ignoredNotifications = []string{
	"account/", "app/", "attestation/", "fs/", "fuzzyFileSearch/", "hook/", "externalAgentConfig/", "item/plan/delta",
	"item/autoApprovalReview/", "item/commandExecution/terminalInteraction", "item/fileChange/", "item/mcpToolCall/",
	"item/reasoning/summaryPartAdded", "mcpServer/", "model/", "modelProvider/", "process/", "project/", "rawResponse",
	"remoteControl/", "serverRequest/", "skills/", "thread/", "turn/", "windows", "command/exec/", "autoApprovalReview/",
}

// notification handles a notification of Codex.
func (r *run) notification(m *jsonrpc.Message) error {
	var e event
	if err := m.Decode(&e); err != nil {
		return r.uses.Notice("invalid notification " + lineio.Truncate(m.Method, 80) + "")
	}
	ownThread := e.Thread == "" || e.Thread == r.thread
	switch m.Method {
	case "item/started", "item/completed":
		var ev itemEvent
		if err := m.Decode(&ev); err != nil {
			return r.uses.Notice("invalid item")
		}
		return r.item(&ev.Item, ownThread, m.Method == "item/completed")
	case "serverRequest/resolved":
		return r.resolved(m)
	case "item/commandExecution/outputDelta":
		return r.printed(m, e.Item)
	}
	if !ownThread {
		return nil // a sub-agent's text is not part of the transcript
	}
	switch m.Method {
	case "item/agentMessage/delta", "item/reasoning/textDelta", "item/reasoning/summaryTextDelta":
		return r.delta(m)
	case "thread/tokenUsage/updated":
		return r.spent(m, e.Turn)
	case "turn/completed":
		return r.completed(m)
	case "error":
		return r.troubled(m)
	case "warning", "guardianWarning", "configWarning", "deprecationNotice":
		return r.warned(m)
	case "thread/compacted":
		return r.uses.Notice("the agent has compacted its own transcript")
	}
	if slices.ContainsFunc(ignoredNotifications, func(p string) bool { return strings.HasPrefix(m.Method, p) }) {
		return nil
	}
	return r.uses.NoticeOnce("unknown event type: " + lineio.Truncate(m.Method, 80))
}

// resolved withdraws a permission request that the driver has answered, or that is no longer
// needed.
func (r *run) resolved(m *jsonrpc.Message) error {
	var q struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Decode(&q) == nil {
		r.uses.Withdraw(string(q.ID))
	}
	return nil
}

func (r *run) delta(m *jsonrpc.Message) error {
	var d struct {
		Delta string `json:"delta"`
	}
	if err := m.Decode(&d); err != nil || d.Delta == "" {
		return err
	}
	if m.Method == "item/agentMessage/delta" {
		return r.sink.Delta(vendor.Delta{Text: d.Delta})
	}
	return r.sink.Delta(vendor.Delta{Thinking: d.Delta})
}

// printed handles output of a command. The output shows that the command runs.
func (r *run) printed(m *jsonrpc.Message, id string) error {
	var d struct {
		Delta string `json:"delta"`
	}
	if err := m.Decode(&d); err != nil {
		return r.uses.Notice("invalid output")
	}
	if r.uses.Use(id) == nil {
		return nil
	}
	if r.output[id] == nil {
		r.output[id] = &tail{}
	}
	r.output[id].add(d.Delta)
	return r.uses.Run(id)
}

// spent handles the session's usage so far. Codex reports it after each model answer with its tool
// calls. For a resumed session it also reports once the usage of the earlier turns.
func (r *run) spent(m *jsonrpc.Message, id string) error {
	var u usageEvent
	if err := m.Decode(&u); err != nil {
		return r.uses.Notice("invalid usage")
	}
	r.total = u.Usage.Total
	if r.id == "" || id != r.id {
		r.base = &u.Usage.Total
		return nil
	}
	if r.base == nil {
		b := u.Usage.Total.minus(u.Usage.Last)
		r.base = &b
	}
	r.calls++
	if err := r.uses.RunAll(); err != nil {
		return err
	}
	r.uses.Settle()
	return nil
}

func (r *run) usage() transcript.Usage {
	c := r.total
	if r.base != nil {
		c = c.minus(*r.base)
	}
	return transcript.Usage{
		Input: max(c.Input-c.Cached-c.CacheWrite, 0), CacheRead: max(c.Cached, 0), CacheWrite: max(c.CacheWrite, 0),
		Output: max(c.Output, 0), Reasoning: max(c.Reasoning, 0),
	}
}

func (r *run) troubled(m *jsonrpc.Message) error {
	var e struct {
		Error turnError `json:"error"`
		Retry bool      `json:"willRetry"`
	}
	if err := m.Decode(&e); err != nil {
		return r.uses.Notice("invalid error")
	}
	if e.Retry {
		return r.uses.Notice(e.Error.text() + " (retrying)")
	}
	r.trouble = e.Error.text()
	return nil
}

func (r *run) warned(m *jsonrpc.Message) error {
	var w struct{ Message, Summary, Details string }
	if err := m.Decode(&w); err != nil {
		return r.uses.Notice("invalid warning")
	}
	text := cmp.Or(w.Message, w.Summary)
	if strings.Contains(text, "bubblewrap") {
		return nil // the message is about Codex's own sandbox, which is turned off
	}
	if w.Details != "" {
		text += ": " + w.Details
	}
	return r.uses.NoticeOnce(text)
}

// completed ends the turn.
func (r *run) completed(m *jsonrpc.Message) error {
	var e struct {
		Turn turn `json:"turn"`
	}
	if err := m.Decode(&e); err != nil && e.Turn.Status == "" {
		return err
	}
	if r.start == "" || r.id != "" && e.Turn.ID != r.id {
		return nil
	}
	end := &vendor.End{Usage: r.usage(), Turns: r.calls}
	switch e.Turn.Status {
	case "completed":
		end.Text = r.lastText
	case "interrupted":
		end.Failure = cmp.Or(e.Turn.Error.text(), r.trouble, "interrupted")
	default:
		end.Failure = cmp.Or(e.Turn.Error.text(), r.trouble, "the turn "+e.Turn.Status)
		if e.Turn.Error != nil {
			end.ResumeFailed = r.turn.Resume && isResumeError(string(e.Turn.Error.Info))
		}
	}
	r.end = end
	return nil
}

// isResumeError reports whether a new session may avoid an error.
func isResumeError(info string) bool {
	return strings.Contains(info, "contextWindowExceeded") || strings.Contains(info, "badRequest")
}

// maxTail is the maximum number of bytes that are kept of a running command's output.
const maxTail = 16 << 10

// tail is the last part of a command's output.
type tail struct{ text string }

func (t *tail) add(s string) {
	t.text += s
	if len(t.text) > 2*maxTail {
		t.text = "…" + strings.ToValidUTF8(t.text[len(t.text)-maxTail:], "")
	}
}
