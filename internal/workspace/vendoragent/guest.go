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

// Options are what [New] needs; fields without a default are required.
type Options struct {
	Vendor vendor.Driver
	// Start starts a process in the container.
	Start func(ctx context.Context, s Spec) (Process, error)
	// Ready is asked, before a session of the vendor is resumed, whether the file that it
	// keeps of it (see [vendor.Driver].Transcript) can be trusted to be one: not a link,
	// not a FIFO, not too large; and how many bytes it has. Nil: every file can.
	Ready  func(file string) (size int64, err error)
	Places PathMap

	Sessions    *session.Sessions // nil: nothing is known of earlier turns
	Workspace   string            // its slug and id, for records
	WorkspaceID string

	Model string   // the vendor's name of it; "" is its default
	Env   []string // of the process, credentials among them: "NAME=value"
	// Ephemeral guests keep no files: every turn is told the history.
	Ephemeral bool
	// History is how many tokens of history a guest is told that does not know it;
	// default 20,000.
	History int
	// Patience is how long a guest that is to resume its session may take until it has;
	// default a minute. Then it is ended, and a new session begun.
	Patience time.Duration
	// Silence is how long a guest may say nothing at all while no tool of its runs and
	// nobody is asked; default half an hour. Then it is ended, and the turn has failed.
	Silence time.Duration
	NewID   func() string // of the vendor's sessions; default random UUIDs
}

// VendorAgent is an agent of another make. To package agent it is a model; Stream is for one
// goroutine at a time, as the loop calls it.
//
// The ladder, taken at the first call of a turn:
//
//	the vendor's session is known, its file is there, nothing was rewritten ─► resume it
//	   │ it ended before it said or did anything
//	   ▼
//	a new id and the history ─► (no history: the input alone)
//	   │ it ended as well
//	   ▼
//	an error; there is no third try
type VendorAgent struct {
	opt   Options
	agent *agent.Agent

	// Of the goroutine that streams.
	known       *vendorSessions // once read
	held        *transcript.Item
	late        []transcript.Encoded // input that came while it worked, to be given next
	turnUsage   transcript.Usage     // of the items of this play
	pendingText string               // text that is coming, not yet an item
	thinking    string               // and thinking

	mu   sync.Mutex
	turn *vendorTurn
}

// New returns a guest. It starts nothing.
func New(o Options) (*VendorAgent, error) {
	switch {
	case o.Vendor == nil:
		return nil, errors.New("guest: there is no vendor")
	case o.Start == nil:
		return nil, errors.New("guest: nothing can start it")
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

// Agent completes the options of the loop that the guest is given to: its tools, and
// what the guest has to hear of the loop. Compaction is the guest's own matter.
func (g *VendorAgent) Agent(o agent.Options) agent.Options {
	none, _ := tool.NewRegistry() // no two tools of one name
	o.Tools = none.WithFallback(func(name string) (tool.Tool, bool) { return toolProxy{g, name}, name != "" })
	o.Compact = agent.Compact{Disabled: true}
	o.Model.Retry = agent.Retry{Max: -1} // a turn is never run twice
	o.Model.Fallback = nil
	o.TranscriptObservers = append([]agent.TranscriptObserver{refusals{g}}, o.TranscriptObservers...)
	o.LoopObservers = append([]agent.LoopObserver{endings{g}}, o.LoopObservers...)
	return o
}

// Attach tells the guest whose it is.
func (g *VendorAgent) Attach(a *agent.Agent) { g.agent = a }

// Close ends what still runs and waits for it. It is called after the agent was closed.
func (g *VendorAgent) Close() {
	if x := g.current(); x != nil {
		x.kill(errEnded)
	}
}

// Info names the guest as if it were a model.
func (g *VendorAgent) Info() model.Info {
	name := g.opt.Model
	if name == "" {
		name = g.opt.Vendor.Name()
	}
	_, reports := g.opt.Vendor.(vendor.CostReporter)
	return model.Info{Provider: g.opt.Vendor.Name(), Model: name, API: "holdfast-guest", Reported: reports}
}

// Encode keeps an item as it is: a guest is told what it does not know.
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

// find returns the use with an id of ours, nil when no guest waits for it.
func (g *VendorAgent) find(ours string) (*vendorTurn, *use) {
	x := g.current()
	if x == nil {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x, x.byID[ours]
}

// RenameUse has a use under another id, because the log has that one already.
func (g *VendorAgent) RenameUse(from, to string) {
	x, u := g.find(from)
	if u == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	u.ours = to
	x.byID[to], x.taken[to] = u, true
	delete(x.byID, from)
}

// refusals hears what was recorded as the result of a use that did not run: the guest is
// told no.
type refusals struct{ g *VendorAgent }

// ItemAppended passes a refusal on once it is durable.
func (r refusals) ItemAppended(_ string, item transcript.Encoded) error {
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

// endings hears when a turn is over for the loop: then it is over for the guest.
type endings struct{ g *VendorAgent }

// Observe ends what still runs when the loop's turn is over.
func (e endings) Observe(_ string, ev event.Event) {
	if _, ok := ev.(event.TurnFinished); !ok {
		return
	}
	x := e.g.current()
	if x == nil {
		return
	}
	x.conclude()
	if !x.ended() {
		go x.kill(errInterrupted) // Close and the next turn wait for it
	}
}
