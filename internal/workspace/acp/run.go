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

// run is a running turn.
type run struct {
	turn vendor.Turn
	sink vendor.Sink
	uses *toolqueue.Turn
	conn *jsonrpc.Conn

	initialize, open, mode, model, prompt string // ids of the driver's calls
	hello                                 hello
	opened                                opened
	session                               string

	text, thought strings.Builder // the streaming text
	message       string          // the agent's id of the message that is being streamed
	lastText      string          // the last complete text
	calls         map[string]*call
	plans         int
	end           *vendor.End
}

func newRun(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) *run {
	return &run{
		turn: t, sink: s, uses: toolqueue.New(ctx, s), calls: map[string]*call{},
		conn: jsonrpc.New(p.Stdout(), p.Stdin(), jsonrpc.Options{Version: true}),
	}
}

func (r *run) close() {
	r.uses.Close()
	r.conn.Close()
}

// serve handles the agent's messages until the turn is over.
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
			err = r.uses.Notice(broken.Error())
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
	if err := r.uses.Finish(); err != nil {
		return err
	}
	if r.end != nil && r.end.Failure == "" {
		r.end.Text = r.lastText
	}
	return nil
}

// fail ends the turn with an error.
func (r *run) fail(format string, args ...any) *vendor.End {
	r.end = &vendor.End{Failure: fmt.Sprintf(format, args...)}
	return r.end
}

// answer handles the response to one of the driver's calls and makes the next call.
func (r *run) answer(m *jsonrpc.Message) error {
	switch {
	case m.IsResponse(r.prompt):
		return r.prompted(m)
	case m.IsResponse(r.open):
		return r.began(m)
	case m.Error != nil && m.IsResponse(r.model):
		r.fail("the agent rejected the model %s: %v", r.turn.Model, m.Error)
	case m.Error != nil && m.IsResponse(r.mode):
		r.fail("the agent rejected its ask mode: %v", m.Error)
	case m.Error != nil && m.IsResponse(r.initialize):
		r.fail("%v", m.Error)
	case m.IsResponse(r.initialize):
		if err := json.Unmarshal(m.Result, &r.hello); err != nil {
			return fmt.Errorf("invalid response to initialize: %w", err)
		}
		if r.hello.Version != sdk.ProtocolVersionNumber {
			r.fail("the agent speaks version %d of the Agent Client Protocol, version %d is required", r.hello.Version, sdk.ProtocolVersionNumber)
			return nil
		}
		r.begin()
	case m.IsResponse(r.mode):
		r.chooseModel()
	case m.IsResponse(r.model):
		r.sendInput()
	}
	return nil
}

// begin starts or resumes a session. It prefers a resume without a replay of the history.
func (r *run) begin() {
	id := sdk.SessionId(r.turn.Session)
	switch {
	case !r.turn.Resume:
		r.open = r.conn.Call(sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: r.turn.Dir, McpServers: []sdk.McpServer{}})
	case r.hello.canResume():
		r.open = r.conn.Call(sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{
			SessionId: id, Cwd: r.turn.Dir, McpServers: []sdk.McpServer{},
		})
	case r.hello.Capabilities.Load:
		r.open = r.conn.Call(sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{
			SessionId: id, Cwd: r.turn.Dir, McpServers: []sdk.McpServer{},
		})
	default:
		r.fail("the agent cannot resume a session").ResumeFailed = true
	}
}

// authRequired is the protocol's error code for an agent that requires a login first.
const authRequired = -32000

// began handles the response that contains the opened session, and sets the options of the session.
// Updates that arrive before the response to session/load are a replay of the history.
func (r *run) began(m *jsonrpc.Message) error {
	if m.Error != nil {
		return r.endUnopened(m.Error)
	}
	if err := json.Unmarshal(m.Result, &r.opened); err != nil {
		return fmt.Errorf("invalid response about the session: %w", err)
	}
	r.session = r.turn.Session
	if !r.turn.Resume {
		r.session = r.opened.ID
	}
	if !isValidID(r.session) {
		return errors.New("the agent started a session without a valid id")
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
	r.chooseModel()
	return nil
}

// endUnopened ends the turn because no session could be opened.
func (r *run) endUnopened(why *jsonrpc.Error) error {
	if why.Code != authRequired {
		r.fail("%v", why).ResumeFailed = r.turn.Resume
		return nil
	}
	var ways []string
	for _, a := range r.hello.Auth {
		ways = append(ways, a.Name)
	}
	r.fail("the agent is not logged in (%v); its login methods: %s", why, strings.Join(ways, ", "))
	return nil
}

// isValidID reports whether a session id can be stored and shown.
func isValidID(id string) bool {
	return id != "" && len(id) <= 512 && !strings.ContainsFunc(id, unicode.IsControl)
}

// askModeID is the id of the mode in which agents ask before they act. The agent can change its own
// configuration, and the configuration may select another mode.
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

// chooseModel selects the model, if the turn names one, and then sends the input.
func (r *run) chooseModel() {
	id := sdk.SessionId(r.session)
	if r.turn.Model == "" {
		r.sendInput()
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
	r.fail("the agent does not support choosing a model: remove the model setting, and choose the model in the agent's configuration")
}

// sendInput sends the user's input.
func (r *run) sendInput() {
	r.prompt = r.conn.Call(sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
		SessionId: sdk.SessionId(r.session), Prompt: r.input(),
	})
}

// input returns the user's input in the protocol's form. The protocol has no field for
// instructions, so they are sent as the first text of a new session.
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

// resumeTrouble has parts of error messages. If a message contains one of them, a new session may
// avoid the error.
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
		return fmt.Errorf("invalid response to session/prompt: %w", err)
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
		end.Failure = "the agent stopped before it finished: " + p.Stop
	}
	r.end = end
	return nil
}
