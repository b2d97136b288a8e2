package vendoragent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Options configures [New]; fields without a default are required.
type Options struct {
	Vendor vendor.Driver
	// Start starts a process in the container.
	Start func(ctx context.Context, s Spec) (Process, error)
	// Ready is called before a session of the vendor is resumed. It checks that the vendor's
	// session file (see [vendor.Driver].Transcript) is safe to use: it must not be a link, a FIFO
	// or too large. It returns the file's size in bytes. A nil Ready accepts every file.
	Ready   func(file string) (size int64, err error)
	PathMap PathMap

	Sessions    *session.Sessions // nil means that earlier turns are unknown
	Workspace   string            // the name and id of the workspace, for records
	WorkspaceID string

	Model string   // the name of the model as the vendor knows it; "" is the vendor's default
	Env   []string // of the process, including credentials: "NAME=value"
	// Ephemeral agents keep no files: every turn gets the history.
	Ephemeral bool
	// History is the maximum number of tokens of history for an agent that does not know the
	// session; default 20,000.
	History int
	// Patience is how long an agent may take to resume its session; default one minute. After this
	// time the agent is ended, and a new session is started.
	Patience time.Duration
	// Silence is how long an agent may send nothing while none of its tools runs and no approval is
	// pending; default half an hour. After this time the agent is ended, and the turn fails.
	Silence time.Duration
	NewID   func() string // generates the vendor's session ids; default random UUIDs
}

// VendorAgent is an agent of another vendor. Package agent uses it as a model. Stream may be called
// by one goroutine at a time, as the loop does.
//
// At the first call of a turn, it tries these ways in this order:
//
//	the vendor's session is known, its file exists, nothing was rewritten ─► resume it
//	   │ it ended before any output or action
//	   ▼
//	a new id and the history ─► (no history: only the input)
//	   │ it ended as well
//	   ▼
//	an error; there is no third try
type VendorAgent struct {
	opt   Options
	agent *agent.Agent

	// These fields are used only by the goroutine that streams.
	known       *vendorSessions // once read
	held        *transcript.Item
	late        []transcript.Encoded // input that arrived during the turn and is sent in the next one
	turnUsage   transcript.Usage     // the usage of the items in this turn
	pendingText string               // the text that is being streamed and is not an item yet
	thinking    string               // and thinking

	mu   sync.Mutex
	turn *vendorTurn
}

// New returns a vendor agent. It starts nothing.
func New(o Options) (*VendorAgent, error) {
	switch {
	case o.Vendor == nil:
		return nil, errors.New("vendoragent: Options.Vendor is missing")
	case o.Start == nil:
		return nil, errors.New("vendoragent: Options.Start is missing")
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Patience <= 0 {
		o.Patience = time.Minute
	}
	if o.Silence <= 0 {
		o.Silence = 30 * time.Minute
	}
	return &VendorAgent{opt: o}, nil
}

// Agent completes the options of the loop: it adds the agent's tools and the observers it needs.
// The vendor's agent compacts its own session.
func (g *VendorAgent) Agent(o agent.Options) agent.Options {
	none, _ := tool.NewRegistry() // this cannot fail without tools
	o.Tools = none.WithFallback(func(name string) (tool.Tool, bool) { return toolProxy{g, name}, name != "" })
	o.Compact = agent.Compact{Disabled: true}
	o.Model.Retry = agent.Retry{Max: -1} // a turn is never repeated
	o.Model.Fallback = nil
	o.TranscriptObservers = append([]agent.TranscriptObserver{denialObserver{g}}, o.TranscriptObservers...)
	o.LoopObservers = append([]agent.LoopObserver{endObserver{g}}, o.LoopObservers...)
	return o
}

// Attach sets the loop that runs the agent.
func (g *VendorAgent) Attach(a *agent.Agent) { g.agent = a }

// Close ends the processes that are running and waits for them. Call it after the agent was closed.
func (g *VendorAgent) Close() {
	if x := g.current(); x != nil {
		x.kill(errEnded)
	}
}

// Info describes the agent as a model.
func (g *VendorAgent) Info() model.Info {
	name := g.opt.Model
	if name == "" {
		name = g.opt.Vendor.Name()
	}
	_, reports := g.opt.Vendor.(vendor.CostReporter)
	return model.Info{Provider: g.opt.Vendor.Name(), Model: name, API: "holdfast-guest", Reported: reports}
}

// Encode returns an item unchanged. Later only the items that the vendor does not know are sent to
// it.
func (g *VendorAgent) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(e.Role()), JSON: e.JSON}, nil
}

func (g *VendorAgent) current() *vendorTurn {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.turn
}

func (g *VendorAgent) replace(x *vendorTurn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn = x
}

// find returns the tool use to which the loop has given an id. It returns nil if no process waits
// for the use.
func (g *VendorAgent) find(loopID string) (*vendorTurn, *use) {
	x := g.current()
	if x == nil {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x, x.byID[loopID]
}

// RenameUse changes the id of a use, because the log already contains the old one.
func (g *VendorAgent) RenameUse(from, to string) {
	x, u := g.find(from)
	if u == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	u.loopID = to
	x.byID[to], x.taken[to] = u, true
	delete(x.byID, from)
}

// denialObserver observes the results of tool uses that did not run, and reports each denial to the
// vendor when it is recorded.
type denialObserver struct{ g *VendorAgent }

// ItemAppended reports a denial once it is durable.
func (r denialObserver) ItemAppended(_ string, item transcript.Encoded) error {
	for _, id := range item.ResultIDs() {
		x, u := r.g.find(id)
		if u == nil {
			continue
		}
		x.mu.Lock()
		if u.begun || u.refusal != "" {
			x.mu.Unlock()
			continue
		}
		u.refusal = resultText(item, id)
		close(u.denied)
		x.abortRefused(u)
		x.mu.Unlock()
	}
	return nil
}

func resultText(e transcript.Encoded, id string) string {
	it, err := e.Decode()
	if err == nil {
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok && r.UseID == id && r.Text() != "" {
				return r.Text()
			}
		}
	}
	return "not allowed"
}

// endObserver observes the end of a turn in the loop, and then ends the vendor's turn.
type endObserver struct{ g *VendorAgent }

// Observe ends running processes when the loop's turn is over.
func (e endObserver) Observe(_ string, ev event.Event) {
	if _, ok := ev.(event.TurnFinished); !ok {
		return
	}
	x := e.g.current()
	if x == nil {
		return
	}
	x.conclude()
	if !x.ended() {
		go x.kill(errInterrupted) // Close and the next turn wait for the end
	}
}
