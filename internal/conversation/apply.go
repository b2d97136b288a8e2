package conversation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Options are what a log does not tell, and what it tells only in its beginning.
type Options struct {
	Cwd string // the working folder; paths below it are shortened
	Now func() time.Time
	// Window returns the size of the context window of a model in tokens; 0 if it is not known.
	Window func(model string) int

	// For a log that is not read from its beginning:
	Session, Title, Model string
	Mode                  policy.Mode
	CostUSD               float64 // of the run so far
}

// Conversation follows one session. It keeps no blocks. Only one goroutine may use it.
type Conversation struct {
	o     Options
	state State
	out   []Update

	run     run
	stream  stream
	waiting map[string]transcript.ToolUse // tool uses whose calls have neither started nor a result
	saved   map[string][]record.FileSaved // contents before the changes of running calls
	answers map[string]bool               // answered requests
	agents  map[string]*Agent             // by session
	items   []itemAt
	tasks   []task
	lost    map[string]bool // calls whose end was reported before it was recorded
	told    map[string]bool // notices and failures of hooks that were reported
}

// run is what is known of the current run.
type run struct {
	daemon bool // a daemon runs it: its records say when it ends
	many   bool // it has several agents, each with its own session
	typed  string
	by     string
	turn   event.Result // sums of the turn
	closed bool         // its end was reported
}

// itemAt is the place of an item in the log.
type itemAt struct {
	id  string
	seq int64
}

// New returns a conversation that has read nothing.
func New(o *Options) *Conversation {
	c := &Conversation{
		o: *o, waiting: map[string]transcript.ToolUse{}, saved: map[string][]record.FileSaved{},
		answers: map[string]bool{}, agents: map[string]*Agent{}, told: map[string]bool{}, lost: map[string]bool{},
	}
	if c.o.Now == nil {
		c.o.Now = time.Now
	}
	c.state.Session, c.state.Title, c.state.Mode, c.state.Usage.CostUSD = o.Session, o.Title, o.Mode, o.CostUSD
	c.setModel(o.Model)
	return c
}

// State returns the current state. It is valid until the next Apply.
func (c *Conversation) State() *State { return &c.state }

// errLost is the reason of a lost connection that has none.
var errLost = errors.New("the connection to the daemon is lost")

// Apply adds an event and returns the finished blocks and the new pieces of the answer. The events must be those of
// [client.Client.Events], in their order.
func (c *Conversation) Apply(e *client.Event) []Update {
	c.out = nil
	if e.Lost {
		c.state.Lost = cmp.Or(e.Err, errLost)
		return nil
	}
	c.state.Lost = nil
	switch {
	case e.Record != nil:
		c.record(e)
	case e.Gap: // the pieces of the answer continue, and output is sent again
		for _, call := range c.state.Calls {
			call.Output = ""
		}
	case e.CaughtUp:
		c.caughtUp(e.Status)
	case e.Deleted:
		c.discard()
		c.state.Deleted, c.state.Working, c.state.Doing = true, false, ""
	default:
		for _, d := range e.Events {
			c.delta(e.Agent, d)
		}
	}
	c.state.Seq = max(c.state.Seq, e.Seq)
	return c.out
}

// caughtUp compares the state with the status of the run. A log that is not read from its beginning
// does not tell whether the run works.
func (c *Conversation) caughtUp(status api.RunStatus) {
	c.state.CaughtUp = true
	switch {
	case status == "" || status == api.StatusPending: // not a run of the daemon, or it has not started
	case status.Ended():
		c.state.Working, c.state.Doing = false, ""
	default:
		c.run.daemon, c.run.closed, c.state.Working = true, false, true
		if c.state.Since.IsZero() {
			c.state.Since = c.o.Now()
		}
	}
}

// source is where an event comes from.
type source struct {
	*api.Record
	agent string // the name to show; "" for the session's own agent
}

// record applies a record of the session, or a relayed record of one of its agents.
func (c *Conversation) record(e *client.Event) {
	r := source{Record: e.Record}
	if e.Err != nil {
		c.note(r, true, "%v", e.Err)
	}
	switch {
	case r.Session == "":
		c.own(r)
	case strings.HasSuffix(r.Session, "."+r.Agent): // an agent of a strategy
		c.run.many, r.agent = true, r.Agent
	default:
		c.subRecord(r, e.Events)
		return
	}
	for _, one := range e.Events {
		c.apply(r, one)
	}
}

// own applies those records of the session's own log that have no event.
func (c *Conversation) own(r source) {
	if r.Payload == nil {
		return
	}
	switch r.Kind {
	case record.KindOpened:
		read(r, c.opened)
	case record.KindMetaChanged:
		read(r, c.metaChanged)
	case record.KindPolicyChanged:
		read(r, func(_ source, p record.PolicyChanged) { c.state.Mode = cmp.Or(policy.Mode(p.Mode), c.state.Mode) })
	case record.KindRunEvent:
		read(r, c.runEvent)
	case record.KindModelCalled:
		read(r, c.modelCalled)
	case record.KindTaskChanged:
		read(r, c.taskChanged)
	case record.KindFileSaved:
		c.fileSaved(r)
	case record.KindRewrite:
		read(r, c.rewritten)
	case record.KindRedacted:
		read(r, func(r source, p record.Redacted) {
			text := fmt.Sprintf("the content of %s was erased", term.Count(len(p.Seqs), "record"))
			if p.Reason != "" {
				text += ": " + p.Reason
			}
			c.note(r, true, "%s", text)
		})
	}
}

// read applies the payload of a record. A payload that cannot be decoded is skipped: [client.Event]
// has the error if the record has events.
func read[P any](r source, apply func(source, P)) {
	var p P
	if json.Unmarshal(r.Payload, &p) == nil {
		apply(r, p)
	}
}

// apply applies an event of the session's own agent, or of an agent of a strategy.
func (c *Conversation) apply(r source, e event.Event) {
	switch e := e.(type) {
	case event.SessionOpened:
		for _, n := range e.Notices {
			c.noteOnce(r, n)
		}
	case event.TurnStarted:
		c.turnStarted(r)
	case event.ItemAppended:
		c.item(r, e.Item)
	case event.DecisionMade:
		c.decided(r, e.Decision)
	case event.ApprovalAsked:
		c.Ask(e.Request)
	case event.ApprovalResolved:
		c.resolved(r, e)
	case event.PolicyChanged:
		c.policyChanged(r, e.Change)
	case event.ToolStarted:
		c.toolStarted(r, e)
	case event.ToolFinished:
		c.toolFinished(r, e)
	case event.HookRan:
		c.hookRan(r, e)
	case event.Notice:
		c.noteOnce(r, e.Text)
	case event.TurnFinished:
		c.turnFinished(r, e)
	case event.Result:
		c.ended(r, e)
	case event.SubagentEvent: // an approval of a sub-agent
		for sub, ok := event.Event(e), true; ok; {
			if e, ok = sub.(event.SubagentEvent); ok {
				sub = e.Event
				r.agent = e.Name
				continue
			}
			c.apply(r, sub)
		}
	}
}
