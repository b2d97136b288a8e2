package vendoragent

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// begin starts a turn in the first way that works (see [VendorAgent]). It returns when the turn has
// produced output, or when the last way has failed.
func (g *VendorAgent) begin(ctx context.Context, items []transcript.Encoded, system string, notify func(string) bool) (*vendorTurn, error) {
	if x := g.current(); x != nil {
		select {
		case <-x.gone: // two processes must never write to the same session
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := g.readVendorSessions(ctx); err != nil {
		return nil, err
	}
	before, input := g.split(items)
	g.held, g.pendingText, g.thinking, g.turnUsage = nil, "", "", transcript.Usage{}
	t := vendor.Turn{
		Model: g.opt.Model, System: system, Dir: g.opt.PathMap.Work, Home: g.opt.PathMap.Home, Env: g.opt.Env,
		Input: inputOf(input),
	}
	if len(t.Input) == 0 {
		t.Input = []transcript.Part{transcript.Text{Text: continueText}}
	}
	taken := usesOf(items)
	why := g.stale(before)
	if why == "" {
		t.Session, t.Resume = g.known.last.Session, true
		x, failed, err := g.attempt(ctx, t, taken)
		if err != nil || failed == "" {
			return x, err
		}
		why = failed
	}
	if g.known.last != nil && !g.opt.Ephemeral {
		if err := g.stepDown(ctx, why, notify); err != nil {
			return nil, err
		}
	}
	if err := g.renew(ctx, &t, why); err != nil {
		return nil, err
	}
	if text, ok := historyText(before, g.opt.History); ok {
		t.Input = append([]transcript.Part{transcript.Text{Text: text}}, t.Input...)
	}
	x, _, err := g.attempt(ctx, t, taken)
	return x, err
}

// continueText is the input for an agent that resumes its session although the user has sent no new
// input.
const continueText = "Continue where you were interrupted."

// readVendorSessions reads the records about the vendor's sessions in the log. It does so only once.
func (g *VendorAgent) readVendorSessions(ctx context.Context) error {
	if g.known != nil {
		return nil
	}
	id := ""
	if g.agent != nil {
		id = g.agent.SessionID()
	}
	k, err := vendorSessionsIn(ctx, g.opt.Sessions, id, g.opt.Vendor.Name(), g.opt.WorkspaceID)
	if err != nil {
		return fmt.Errorf("read the log's records about the agent's session: %w", err)
	}
	g.known = &k
	return nil
}

// split splits a transcript into two parts: the part that the vendor's session contains (or that
// the agent gets as history), and the input for this turn.
func (g *VendorAgent) split(items []transcript.Encoded) (before, input []transcript.Encoded) {
	at := len(items)
	for at > 0 && isInput(items[at-1]) {
		at--
	}
	for _, e := range g.late {
		if !slices.ContainsFunc(items[at:], func(other transcript.Encoded) bool { return other.ID() == e.ID() }) {
			input = append(input, e)
		}
	}
	g.late = nil
	return items[:at:at], append(input, items[at:]...)
}

// sessionName matches the valid names of a vendor's session.
var sessionName = lazyregexp.Must(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// stale returns the reason why the vendor's session cannot be resumed, or "".
func (g *VendorAgent) stale(before []transcript.Encoded) string {
	last := g.known.last
	switch {
	case g.opt.Ephemeral:
		return "ephemeral"
	case last == nil:
		return "new"
	case !sessionName().MatchString(last.Session): // the agent has chosen the name, which is used as an argument and in a path
		return "the agent gave its session an invalid name"
	case g.known.changed:
		return "the transcript was rewritten since then"
	}
	newest := newestMark(before)
	if newest.Session != last.Session {
		return "the agent's session is missing the end of the transcript"
	}
	switch size, err := g.sessionFileSize(last.Session); {
	case err != nil:
		return err.Error()
	case size < newest.FileBytes: // the agent would resume without the missing part and not report it
		return fmt.Sprintf("the file of the agent's session has %d bytes, but had %d", size, newest.FileBytes)
	}
	return ""
}

// sessionFileSize checks the file of a vendor's session and returns its size in bytes. It returns
// the maximum size if there is no file, or if no check is set.
func (g *VendorAgent) sessionFileSize(session string) (int64, error) {
	file := g.opt.Vendor.Transcript(session, g.opt.PathMap.Work)
	if file == "" || g.opt.Ready == nil {
		return math.MaxInt64, nil
	}
	return g.opt.Ready(file)
}

// newestMark returns the mark of the last answer in a transcript.
func newestMark(items []transcript.Encoded) vendorMark {
	for _, e := range slices.Backward(items) {
		if e.Role() == transcript.RoleAssistant {
			return markOf(e)
		}
	}
	return vendorMark{}
}

// stepDown records the reason why the vendor's session is not resumed.
func (g *VendorAgent) stepDown(ctx context.Context, why string, notify func(string) bool) error {
	if err := g.recordNote(ctx, record.KindWorkspaceEvent, Event{
		Event: EventResumeFailed, Workspace: g.opt.Workspace, WorkspaceID: g.opt.WorkspaceID,
		Vendor: g.opt.Vendor.Name(), Session: g.known.last.Session, Reason: why,
	}); err != nil {
		return err
	}
	if !notify("the agent's own session could not be resumed (" + why + "); a new one gets the history") {
		return errInterrupted
	}
	return nil
}

// renew starts a new vendor session for the turn. The session is recorded before the vendor is told
// its id.
func (g *VendorAgent) renew(ctx context.Context, t *vendor.Turn, why string) error {
	id := g.opt.NewID()
	for g.known.sessions[id] {
		id = g.opt.NewID()
	}
	t.Session, t.Resume = id, false
	return g.remap(ctx, id, why, g.known.newest+1)
}

func (g *VendorAgent) remap(ctx context.Context, id, why string, generation int) error {
	m := Mapping{
		Vendor: g.opt.Vendor.Name(), Session: id, Generation: generation,
		Workspace: g.opt.Workspace, WorkspaceID: g.opt.WorkspaceID, Reason: why,
	}
	if err := g.recordNote(ctx, record.KindVendorMapped, m); err != nil {
		return err
	}
	g.known.last, g.known.changed, g.known.newest = &m, false, generation
	g.known.sessions[id] = true
	return nil
}

func (g *VendorAgent) recordNote(ctx context.Context, k session.Kind, payload any) error {
	d, err := session.NewDraft(k, payload)
	if err != nil || g.agent == nil {
		return err
	}
	return g.agent.Note(ctx, d)
}

// attempt starts the agent, and waits until the agent produces output or ends. The result failed is
// not "" if the agent ended before any output or action and another session may prevent that. It
// then says why the agent ended. Otherwise it is "", even if the turn failed.
func (g *VendorAgent) attempt(ctx context.Context, t vendor.Turn, taken map[string]bool) (x *vendorTurn, failed string, err error) {
	c := g.opt.Vendor.Command(t)
	p, err := g.opt.Start(ctx, Spec{ID: t.Session, Args: c.Args, Env: append(c.Env, t.Env...), Dir: t.Dir})
	if err != nil {
		return nil, "", err
	}
	x = newTurn(g.opt.Vendor, t, p, taken, g.opt.NewID)
	x.silence = g.opt.Silence // set before anything reads it
	g.replace(x)
	patience := g.opt.Silence
	if t.Resume {
		patience = g.opt.Patience
	}
	switch err := x.awaitFirst(ctx, patience); {
	case err != nil:
		x.kill(errInterrupted)
		return nil, "", err
	case !x.ended():
		return x, "", nil
	}
	end, _, active, wire := x.outcome()
	switch {
	case active || wire == nil && end.Failure == "":
		return x, "", nil
	case t.Resume && (wire != nil || end.ResumeFailed || !x.began()):
		why := x.failure()
		select {
		case <-x.gone:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
		return x, why, nil
	}
	return x, "", nil
}

// confirm records the id that the vendor has given to its session, if it differs from the requested
// id.
func (g *VendorAgent) confirm(ctx context.Context, x *vendorTurn) error {
	id := x.sessionID()
	if id == "" || g.known.last == nil || id == g.known.last.Session {
		return nil
	}
	generation := g.known.newest
	if x.turn.Resume {
		generation++
	}
	return g.remap(ctx, id, "the agent chose this id", generation)
}

// sessionOf returns the vendor's id of the session a turn belongs to.
func (g *VendorAgent) sessionOf(x *vendorTurn) string {
	if id := x.sessionID(); id != "" {
		return id
	}
	return x.turn.Session
}

// recordCrash records that the vendor's process ended during a turn.
func (g *VendorAgent) recordCrash(x *vendorTurn) {
	_, exit, _, wire := x.outcome()
	if wire == nil {
		return
	}
	// The error of the turn has the same text. If the log cannot be written, the log reports that
	// error itself.
	_ = g.recordNote(context.Background(), record.KindWorkspaceEvent, Event{
		Event: EventVendorEnded, Workspace: g.opt.Workspace, WorkspaceID: g.opt.WorkspaceID, Vendor: g.opt.Vendor.Name(),
		Session: g.sessionOf(x), Reason: x.failure(), OOM: exit.OOM, Stderr: x.proc.Stderr(),
	})
}

func usesOf(items []transcript.Encoded) map[string]bool {
	taken := map[string]bool{}
	for _, e := range items {
		for _, id := range e.UseIDs() {
			taken[id] = true
		}
	}
	return taken
}

// awaitFirst waits until the turn produces output or is over. It ends a turn that has not begun
// within patience. A turn that has begun may be silent for the time in [Options].Silence.
func (x *vendorTurn) awaitFirst(ctx context.Context, patience time.Duration) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		x.mu.Lock()
		active := x.active
		x.mu.Unlock()
		if active {
			return nil
		}
		select {
		case <-x.changed:
		case <-late.C:
			switch {
			case !x.began():
				x.kill(fmt.Errorf("it did not start within %v", patience))
			case patience < x.silence:
				late.Reset(x.silence - patience)
				patience = x.silence
			default:
				x.kill(x.silenceError())
			}
		case <-x.over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (x *vendorTurn) began() bool { return x.sessionID() != "" }

func (x *vendorTurn) sessionID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.session
}

// conclude records that the loop knows how the turn ended, or does not need to know it.
func (x *vendorTurn) conclude() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.endKnown = true
}

func (x *vendorTurn) concluded() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.endKnown
}
