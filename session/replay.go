package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Limits of a batch of records that is sent to the checker.
const (
	replayBatch = 256
	replayBytes = 1 << 20
)

// replayAll folds all records of a log into a State, starting with the first. It checks every
// digest and that the records form one chain. An error is an [Error] that wraps ErrCorrupt and has
// the session and seq; an unknown kind or format is ErrNewer.
//
// If payloads were erased, it reads the records a second time to apply the replacements that later
// records contain.
//
// The state's items share memory with the records' payloads.
func replayAll(ctx context.Context, records iter.Seq2[Record, error]) (*State, error) {
	f, err := replayErased(ctx, records, Meta{}, nil)
	if err != nil {
		return nil, err
	}
	return f.state(), nil
}

// replay is replayAll for a caller that continues to fold. Checking runs concurrently with
// folding. m gives the number of items to allocate, and the session id in case the first record is
// damaged.
func replay(ctx context.Context, records iter.Seq2[Record, error], m Meta, known erased) (*replayer, error) {
	var (
		f       = replayer{erasures: erasures{known: known}}
		batches = make(chan []Record, 8)
		emptied = make(chan []Record, cap(batches)+1)
		checked = make(chan error, 1)
		first   error
	)
	f.s.SessionID = m.ID
	f.s.Items = make([]transcript.Encoded, 0, min(max(m.MessageCount, 0), 1<<17))
	go func() { checked <- checkChain(batches, emptied) }()
	batch, size := make([]Record, 0, replayBatch), 0
	for r, err := range records {
		if err == nil {
			batch = append(batch, r) // before folding: a record that fails to fold may be damaged
			size += len(r.Payload)
			err = f.add(&r)
		}
		if err != nil {
			first = f.located(err)
			break
		}
		if len(batch) == cap(batch) || size >= replayBytes {
			batches <- batch
			batch, size = reusableBatch(emptied), 0
			if first = ctx.Err(); first != nil {
				break
			}
		}
	}
	batches <- batch
	close(batches)
	if err := <-checked; err != nil { // a damaged record may be the cause of a failed fold
		return nil, f.located(err)
	}
	if first != nil {
		return nil, first
	}
	return &f, nil
}

// reusableBatch returns a checked batch for reuse, or a new one.
func reusableBatch(emptied <-chan []Record) []Record {
	select {
	case b := <-emptied:
		return b
	default:
		return make([]Record, 0, replayBatch)
	}
}

// checkChain checks the records it receives until the channel is closed, and returns the batches.
func checkChain(batches <-chan []Record, emptied chan<- []Record) error {
	var (
		prev  Record
		fault error
	)
	for batch := range batches {
		for i := range batch {
			if fault != nil {
				break
			}
			fault = batch[i].CheckAfter(&prev)
			prev.Seq, prev.Digest = batch[i].Seq, batch[i].Digest
		}
		select {
		case emptied <- batch[:0]:
		default:
		}
	}
	return fault
}

// replayer builds a [State] record by record.
type replayer struct {
	s           State
	marks       []markAt
	parentTasks []record.ToolStarted // in a fork: background tasks of the parent

	recordedCost float64      // cost from model.called records since the last turn closed
	notInherited NotInherited // in a fork: policy of the parent that the fork does not have

	digest Digest // digest of the last record

	masked bool // a payload was masked: no model received it in this form
	approvals
	erasures
	shownIndex
}

// markAt is an assistant item with a request mark and its position in the transcript.
type markAt struct {
	at      int
	payload json.RawMessage
}

func (f *replayer) located(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Session != "" && e.Hint != "" {
		return err
	}
	named := *e
	if named.Session == "" {
		named.Session = f.s.SessionID
	}
	if named.Hint == "" && errors.Is(err, ErrCorrupt) {
		named.Hint = strings.TrimSpace("holdfast sessions verify " + named.Session)
	}
	return &named
}

func (f *replayer) add(r *Record) error {
	f.s.Head, f.digest = r.Seq, r.Digest
	f.masked = f.masked || r.Masked
	r = f.effective(r)
	switch {
	case r.Payload == nil: // erased: used only for the chain
		return nil
	case f.lost == nil:
	case r.Kind == record.KindRedacted:
		return f.redacted(r)
	default:
		return nil
	}
	err := f.take(r)
	if err != nil && len(f.blank) > 0 && f.known == nil {
		f.lost, err = err, nil // the missing payload may be the cause
	}
	return err
}

// take folds a record that has a payload.
func (f *replayer) take(r *Record) error {
	var err error
	switch r.Kind {
	case KindItem:
		err = f.item(r)
	case record.KindOpened:
		return f.opened(r)
	case record.KindTurnOpened:
		var p record.TurnOpened
		if err = json.Unmarshal(r.Payload, &p); err == nil {
			f.s.OpenTurn = p.Turn
			f.s.Turns++
			if p.Cwd != "" {
				f.s.Cwd = p.Cwd
			}
			if p.Budget != nil {
				f.s.Budget = *p.Budget
			}
		}
	case record.KindTurnClosed:
		var p record.TurnClosed
		if err = json.Unmarshal(r.Payload, &p); err == nil {
			if f.s.OpenTurn == p.Turn {
				f.s.OpenTurn = ""
			}
			f.s.CostUSD += max(p.Cost-f.recordedCost, 0)
			f.recordedCost = 0
		}
	case record.KindModelCalled:
		var p record.ModelCalled
		if err = json.Unmarshal(r.Payload, &p); err == nil {
			f.addModelCost(p.Cost, p.Usage.Total())
		}
	case record.KindToolStarted:
		var p record.ToolStarted
		if err = json.Unmarshal(r.Payload, &p); err == nil {
			f.s.Running = append(f.s.Running, p)
			f.started(p.Use)
		}
	case record.KindToolFinished:
		var p record.ToolFinished
		if err = json.Unmarshal(r.Payload, &p); err == nil {
			of := func(t record.ToolStarted) bool { return t.Use == p.Use }
			f.s.Running, f.parentTasks = slices.DeleteFunc(f.s.Running, of), slices.DeleteFunc(f.parentTasks, of)
			if p.Cwd != "" {
				f.s.Cwd = p.Cwd
			}
			f.saw(&p)
		}
	case record.KindPolicyChanged:
		err = f.policyChanged(r)
	case record.KindApprovalAsked:
		f.asked(r)
	case record.KindApprovalResolved:
		f.resolved(r)
	case record.KindRewrite:
		err = f.rewrite(r.Payload)
	case record.KindRedacted:
		err = f.redacted(r)
	case record.KindFileSaved:
		f.saved(r)
	case record.KindDecision, record.KindHookRan, record.KindMetaChanged, record.KindVendorMapped, record.KindWorkspaceEvent, record.KindTaskChanged, record.KindRunEvent, record.KindAccess:
	default:
		return &Error{
			Op: "replay", Session: f.s.SessionID, Seq: r.Seq, Err: ErrNewer,
			Detail: "a record of kind " + string(r.Kind), Hint: upgrade,
		}
	}
	if err != nil {
		return &Error{
			Op: "replay", Session: f.s.SessionID, Seq: r.Seq, Err: ErrCorrupt,
			Detail: string(r.Kind) + ": " + err.Error(),
		}
	}
	return nil
}

const upgrade = "upgrade holdfast (holdfast version shows the installed version)"

// opened starts a session or a fork. Work in progress in the parent stays there; items that the
// model was sent in the parent count as sent in the fork too.
func (f *replayer) opened(r *Record) error {
	var o Opened
	if err := json.Unmarshal(r.Payload, &o); err != nil {
		return &Error{Op: "replay", Seq: r.Seq, Err: ErrCorrupt, Detail: "session.opened: " + err.Error()}
	}
	f.s.SessionID = o.SessionID
	if o.Format > record.FormatVersion {
		return &Error{
			Op: "replay", Session: o.SessionID, Seq: r.Seq, Err: ErrNewer,
			Detail: "the log has a newer format", Hint: upgrade,
		}
	}
	f.leaveParent()
	for _, t := range f.s.Running {
		if !f.open(t.Use) {
			f.parentTasks = append(f.parentTasks, t)
		}
	}
	f.s.Queue = slices.DeleteFunc(f.s.Queue, func(e transcript.Encoded) bool { return e.Role() != transcript.RoleNotification })
	f.notInherited = notInheritedFrom(&f.s)
	f.s.Running, f.s.OpenTurn, f.s.Policy, f.s.Mode, f.s.ModeSeq = nil, "", nil, "", 0
	f.s.CostUSD, f.s.Tokens, f.s.Budget, f.recordedCost = 0, 0, record.Budget{}, 0
	f.pending = nil
	return nil
}

func (f *replayer) item(r *Record) error {
	it, err := record.ReadItem(r.Payload)
	if err != nil {
		return err
	}
	if it.Item.Role() == transcript.RoleNotification {
		include(&f.s.NotificationIDs, it.Item.ID())
	}
	if it.Queued {
		f.s.Queue = append(f.s.Queue, it.Item)
		return nil
	}
	if len(f.s.Queue) > 0 {
		f.s.Queue = slices.DeleteFunc(f.s.Queue, func(q transcript.Encoded) bool { return q.ID() == it.Item.ID() })
	}
	if it.Item.Role() == transcript.RoleAssistant {
		used := record.UsageOf(it.Item)
		f.s.Usage = f.s.Usage.Add(used)
		if it.Marked() { // the request came from this program
			f.addModelCost(it.Cost(), used.Total())
			f.marks = append(f.marks, markAt{len(f.s.Items), r.Payload})
		}
	}
	f.s.Items = append(f.s.Items, it.Item)
	f.paired(it.Item)
	_, replaced := f.known[r.Seq]
	f.shows(it.Item, !replaced)
	return nil
}

// addModelCost counts a model call of the run.
func (f *replayer) addModelCost(usd float64, tokens int64) {
	if usd > 0 {
		f.s.CostUSD, f.recordedCost = f.s.CostUSD+usd, f.recordedCost+usd
	}
	f.s.Tokens += max(tokens, 0)
}

func (f *replayer) policyChanged(r *Record) error {
	var p record.PolicyChanged
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		return err
	}
	if p.Mode != "" {
		f.s.Mode, f.s.ModeSeq = p.Mode, r.Seq
	}
	f.s.Policy = append(f.s.Policy, r.Payload)
	if p.Ended {
		f.s.Policy = nil
	}
	return nil
}

func (f *replayer) rewrite(payload json.RawMessage) error {
	items, cut, err := readRewrite(payload)
	if err != nil {
		return err
	}
	f.rewritten()
	if cut == "" { // marks refer to a prefix that no longer exists
		f.s.Items, f.marks = items, nil
		return nil
	}
	for i, e := range slices.Backward(f.s.Items) {
		if e.ID() == cut {
			f.unanswer(f.s.Items[i+1:])
			f.s.Items = f.s.Items[: i+1 : i+1]
			f.marks = slices.DeleteFunc(f.marks, func(m markAt) bool { return m.at > i })
			return nil
		}
	}
	return errors.New("it cuts after item " + cut + ", which does not exist")
}

// readRewrite indexes the payload of a rewrite.
func readRewrite(payload json.RawMessage) (items []transcript.Encoded, cut string, err error) {
	var w Rewrite
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, "", err
	}
	if w.TruncateAfter != "" {
		return nil, w.TruncateAfter, nil
	}
	items = make([]transcript.Encoded, len(w.Items))
	for i, raw := range w.Items {
		if err := items[i].IndexTrusted(raw); err != nil {
			return nil, "", err
		}
	}
	return items, "", nil
}

// state finishes the fold.
func (f *replayer) state() *State {
	f.s.Mark = nil
	for i := len(f.marks) - 1; i >= 0 && f.s.Mark == nil && !f.masked; i-- {
		f.s.Mark = record.Item{Raw: f.marks[i].payload}.Mark()
	}
	f.s.ShownFiles = f.seen()
	s := f.s
	return &s
}

// payloadText returns a string field of a payload, or "".
func payloadText(payload json.RawMessage, field string) string {
	var text string
	_ = json.Unmarshal(jsonscan.Object(payload).Field(field), &text)
	return text
}
