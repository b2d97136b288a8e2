package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/holdfast-dev/holdfast/internal/workspace/jsonrpc"
	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// run is one turn that is being led.
type run struct {
	turn  vendor.Turn
	sink  vendor.Sink
	stage *toolqueue.Turn
	conn  *jsonrpc.Conn

	initialize, open, mode, model, prompt string // ids of our calls
	hello                                 hello
	opened                                opened
	session                               string

	text, thought strings.Builder // what is coming
	message       string          // the agent's id of it
	said          string          // the last text that is whole
	calls         map[string]*call
	plans         int
	end           *vendor.End
}

func newRun(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) *run {
	return &run{
		turn: t, sink: s, stage: toolqueue.New(ctx, s), calls: map[string]*call{},
		conn: jsonrpc.New(p.Stdout(), p.Stdin(), jsonrpc.Options{Version: true}),
	}
}

func (r *run) close() {
	r.stage.Close()
	r.conn.Close()
}

// serve takes what the agent says until the turn is over.
func (r *run) serve() (vendor.End, error) {
	r.initialize = r.conn.Call(sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "holdfast", Version: "1"},
	})
	for r.end == nil {
		m, err := r.conn.Next()
		var broken *jsonrpc.BrokenError
		switch {
		case errors.As(err, &broken):
			err = r.stage.Notice(broken.Error())
		case err != nil:
			return vendor.End{}, errors.Join(err, r.finish())
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
	return *r.end, r.finish()
}

func (r *run) finish() error {
	if err := r.flush(); err != nil {
		return err
	}
	if err := r.stage.Finish(); err != nil {
		return err
	}
	if r.end != nil && r.end.Failure == "" {
		r.end.Text = r.said
	}
	return nil
}

// fail ends the turn before it has begun, or in the agent's words.
func (r *run) fail(format string, args ...any) *vendor.End {
	r.end = &vendor.End{Failure: fmt.Sprintf(format, args...)}
	return r.end
}

// answer takes the answer to one of our calls and makes the next.
func (r *run) answer(m *jsonrpc.Message) error {
	switch {
	case m.IsResponse(r.prompt):
		return r.prompted(m)
	case m.IsResponse(r.open):
		return r.began(m)
	case m.Error != nil && m.IsResponse(r.model):
		r.fail("the agent does not take the model %s: %v", r.turn.Model, m.Error)
	case m.Error != nil && m.IsResponse(r.mode):
		r.fail("the agent does not go into its mode in which it asks: %v", m.Error)
	case m.Error != nil && m.IsResponse(r.initialize):
		r.fail("%v", m.Error)
	case m.IsResponse(r.initialize):
		if err := json.Unmarshal(m.Result, &r.hello); err != nil {
			return fmt.Errorf("the agent's answer to initialize cannot be read: %w", err)
		}
		if r.hello.Version != sdk.ProtocolVersionNumber {
			r.fail("the agent speaks version %d of the Agent Client Protocol; wanted is %d", r.hello.Version, sdk.ProtocolVersionNumber)
			return nil
		}
		r.begin()
	case m.IsResponse(r.mode):
		r.choose()
	case m.IsResponse(r.model):
		r.ask()
	}
	return nil
}

// begin begins a session or goes on with one. An agent that can do it without telling
// everything again is asked to.
func (r *run) begin() {
	id := sdk.SessionId(r.turn.Session)
	switch {
	case !r.turn.Resume:
		r.open = r.conn.Call(sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: r.turn.Dir, McpServers: []sdk.McpServer{}})
	case r.hello.resumes():
		r.open = r.conn.Call(sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{
			SessionId: id, Cwd: r.turn.Dir, McpServers: []sdk.McpServer{},
		})
	case r.hello.Capabilities.Load:
		r.open = r.conn.Call(sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{
			SessionId: id, Cwd: r.turn.Dir, McpServers: []sdk.McpServer{},
		})
	default:
		r.fail("the agent cannot go on with a session").ResumeFailed = true
	}
}

// authRequired is the protocol's code for an agent that nobody has logged in.
const authRequired = -32000

// began takes the session, and sets up what the agent lets others set up. What was said
// before a session was loaded is what the agent tells again.
func (r *run) began(m *jsonrpc.Message) error {
	if m.Error != nil {
		return r.unopened(m.Error)
	}
	if err := json.Unmarshal(m.Result, &r.opened); err != nil {
		return fmt.Errorf("the agent's answer about its session cannot be read: %w", err)
	}
	r.session = r.turn.Session
	if !r.turn.Resume {
		r.session = r.opened.ID
	}
	if !isValidID(r.session) {
		return errors.New("the agent began a session without saying what it is called")
	}
	if err := r.sink.SessionStarted(r.session); err != nil {
		return err
	}
	if r.neverAsks() {
		r.mode = r.conn.Call(sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{
			SessionId: sdk.SessionId(r.session), ModeId: askModeID,
		})
		return nil
	}
	r.choose()
	return nil
}

// unopened ends the turn, because there is no session.
func (r *run) unopened(why *jsonrpc.Error) error {
	if why.Code != authRequired {
		r.fail("%v", why).ResumeFailed = r.turn.Resume
		return nil
	}
	var ways []string
	for _, a := range r.hello.Auth {
		ways = append(ways, a.Name)
	}
	r.fail("the agent is not logged in (%v); it knows: %s", why, strings.Join(ways, ", "))
	return nil
}

// isValidID reports whether a session's id is one that can be kept and shown.
func isValidID(id string) bool {
	return id != "" && len(id) <= 512 && !strings.ContainsFunc(id, unicode.IsControl)
}

// askModeID is what agents call the mode in which they ask before they act. Their own
// configuration, which they can write, may have chosen another.
const askModeID = "default"

func (r *run) neverAsks() bool {
	m := r.opened.Modes
	if m == nil || m.Current == askModeID {
		return false
	}
	for _, a := range m.Available {
		if a.ID == askModeID {
			return true
		}
	}
	return false
}

// choose chooses the model, where one was named.
func (r *run) choose() {
	id := sdk.SessionId(r.session)
	if r.turn.Model == "" {
		r.ask()
		return
	}
	if r.opened.Models != nil {
		r.model = r.conn.Call(sdk.AgentMethodSessionSetModel, map[string]any{"sessionId": id, "modelId": r.turn.Model})
		return
	}
	for _, o := range r.opened.Options {
		if o.Category == "model" || o.ID == "model" {
			r.model = r.conn.Call(sdk.AgentMethodSessionSetConfigOption, map[string]any{
				"sessionId": id, "configId": o.ID, "value": r.turn.Model,
			})
			return
		}
	}
	r.fail("the agent lets nobody choose its model: leave the model out, and choose it in the agent's own configuration")
}

// ask tells the agent what the person said.
func (r *run) ask() {
	r.prompt = r.conn.Call(sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
		SessionId: sdk.SessionId(r.session), Prompt: r.input(),
	})
}

// input is what the person said, as the wire has it. The protocol has no place for
// instructions: a new session hears them first.
func (r *run) input() []sdk.ContentBlock {
	var out []sdk.ContentBlock
	if r.turn.System != "" && !r.turn.Resume {
		out = append(out, sdk.TextBlock("Instructions for this session:\n"+r.turn.System))
	}
	for _, p := range r.turn.Input {
		switch p := p.(type) {
		case transcript.Text:
			out = append(out, sdk.TextBlock(p.Text))
		case transcript.Media:
			if strings.HasPrefix(p.MIME, "image/") && len(p.Data) > 0 && r.hello.Capabilities.Prompt.Image {
				out = append(out, sdk.ImageBlock(base64.StdEncoding.EncodeToString(p.Data), p.MIME))
			} else {
				out = append(out, sdk.TextBlock("["+p.MIME+" that cannot be shown here] "+p.URI))
			}
		case transcript.File:
			out = append(out, sdk.TextBlock("[file "+p.Name+"]\n"+string(p.Data)))
		case transcript.Structured:
			out = append(out, sdk.TextBlock(string(p.Value)))
		}
	}
	return out
}

// resumeTrouble are words of failures that a new session may not have.
var resumeTrouble = []string{"session not found", "no such session", "unknown session", "prompt is too long", "context length", "context window"}

// prompted ends the turn.
func (r *run) prompted(m *jsonrpc.Message) error {
	if m.Error != nil {
		words := strings.ToLower(m.Error.Error())
		r.fail("%v", m.Error).ResumeFailed = r.turn.Resume &&
			slices.ContainsFunc(resumeTrouble, func(w string) bool { return strings.Contains(words, w) })
		return nil
	}
	var p prompted
	if err := json.Unmarshal(m.Result, &p); err != nil && p.Stop == "" {
		return fmt.Errorf("the agent's answer to the prompt cannot be read: %w", err)
	}
	end := &vendor.End{Usage: transcript.Usage{
		Input: p.Usage.Input, Output: p.Usage.Output, Reasoning: p.Usage.Thought,
		CacheRead: p.Usage.CacheRead, CacheWrite: p.Usage.CacheWrite,
	}}
	switch sdk.StopReason(p.Stop) {
	case sdk.StopReasonEndTurn:
	case sdk.StopReasonCancelled:
		end.Failure = "interrupted"
	case sdk.StopReasonRefusal:
		end.Failure = "the agent refused to answer"
	default:
		end.Failure = "the agent stopped before it had finished: " + p.Stop
	}
	r.end = end
	return nil
}
