package hostpipe

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Limits on what one process writes. A turn needs far less. They exist because the log is on the
// host's disk, which the container's quota does not limit.
const (
	maxRecords   = 1 << 20
	maxBytes     = 2 << 30
	maxChildren  = 256
	maxApprovals = 4096
)

// maxID is the maximum length of the ids of records and approval requests, in bytes.
const maxID = 256

// maxClockDrift is the maximum difference between the container's clock and the host's. The order of lists,
// retention and the choice of the latest session depend on the time in the records.
const maxClockDrift = time.Hour

// checkRecord refuses a record that Holdfast never writes, whatever its kind: one whose payload is
// missing, masked, encrypted or not one line of JSON, and one with an invalid id. It also refuses a
// wrong time, which would list the session in the wrong place.
func (b *limits) checkRecord(id string, r *session.Record) error {
	refuse := func(format string, args ...any) *session.Error {
		return &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: session.ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	now := b.sessions.Now()
	switch p := r.Payload; {
	case p == nil || r.Masked:
		return refuse("a new record must be complete")
	case record.IsSealed(p):
		return refuse("a new record must not be sealed or masked")
	case len(p) < 2 || p[0] != '{' || p[len(p)-1] != '}' || bytes.IndexByte(p, '\n') >= 0 || !jsonscan.Valid(p):
		return refuse("the payload is not one JSON object on one line")
	case !isID(r.ID):
		return refuse("the id is empty, too long, or not plain text")
	case r.Time.Before(now.Add(-maxClockDrift)) || r.Time.After(now.Add(maxClockDrift)):
		e := refuse("its time is %s, the host's time is %s", r.Time.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		e.Hint = "correct the clock of the machine that runs the containers"
		return e
	}
	return nil
}

func isID(s string) bool {
	return s != "" && len(s) <= maxID && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// uniqueKeys refuses a payload in which a key occurs twice, because different readers interpret
// such a payload differently.
func uniqueKeys(r *session.Record) error {
	root, err := jsontree.Parse(r.Payload)
	if err == nil {
		err = uniqueKeysIn(&root)
	}
	if err != nil {
		return &session.Error{Op: "append", Seq: r.Seq, Err: session.ErrInvalid, Detail: string(r.Kind) + ": " + err.Error()}
	}
	return nil
}

// uniqueKeysIn returns an error if a key occurs twice. It ignores case, as encoding/json does.
func uniqueKeysIn(n *jsontree.Node) error {
	seen := map[string]bool{}
	for i := range n.Members {
		m := &n.Members[i]
		if key := foldKey(m.Key); seen[key] {
			return fmt.Errorf("duplicate key %.60q", m.Key)
		} else {
			seen[key] = true
		}
		if err := uniqueKeysIn(&m.Value); err != nil {
			return err
		}
	}
	for i := range n.Items {
		if err := uniqueKeysIn(&n.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// foldKey returns the same text for all keys that encoding/json treats as equal.
func foldKey(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}

// countRecords counts a batch toward the write limits of the process, or refuses it.
func (b *limits) countRecords(id string, records []session.Record) error {
	size := int64(0)
	for i := range records {
		size += int64(len(records[i].Payload))
	}
	opens := records[0].Kind == record.KindOpened
	b.mu.Lock()
	defer b.mu.Unlock()
	over := func(what string) error {
		return &session.Error{
			Op: "append", Session: id, Seq: records[0].Seq, Err: ErrRefused, Detail: "one turn must not write " + what, Hint: "start another turn",
		}
	}
	switch {
	case b.records+len(records) > maxRecords:
		return over(fmt.Sprintf("more than %d records", maxRecords))
	case b.bytes+size > maxBytes:
		return over(fmt.Sprintf("more than %d GiB", maxBytes>>30))
	case opens && b.children >= maxChildren:
		return over(fmt.Sprintf("more than %d sessions", maxChildren))
	}
	b.records, b.bytes = b.records+len(records), b.bytes+size
	if opens {
		b.children++
	}
	return nil
}

// checkApproval refuses an approval request with a wrong digest, session or id, and requests above the
// limit. It also refuses an id that is in use, because one answer would then apply to both
// requests.
func (b *limits) checkApproval(ctx context.Context, id string, r *session.Record, no func(string) error) error {
	q, err := readPayload[approval.Request](r)
	if err != nil {
		return err
	}
	switch {
	case !isID(q.ID):
		return no("its id is empty, too long, or not plain text")
	case q.Session != "" && q.Session != id:
		return no("it names another session")
	case !q.Matches(q.Requests):
		return no("its digest does not match its content")
	}
	known, err := b.approvalSeqs(ctx, id)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch seq := known[q.ID]; {
	case seq == r.Seq:
		return nil // a repeated append, which the store compares with the first one
	case seq != 0:
		return no("its id is already in use")
	case b.asked >= maxApprovals:
		return no(fmt.Sprintf("one turn must not make more than %d requests", maxApprovals))
	}
	b.asked++
	known[q.ID] = r.Seq
	return nil
}

// checkAnswer refuses an answer that only the host may record: one that allows the call, is
// attributed to a user, or answers no known request.
func (b *limits) checkAnswer(ctx context.Context, id string, r *session.Record, no func(string) error) error {
	a, err := readPayload[approval.Answer](r)
	switch {
	case err != nil:
		return err
	case a.Decision.Allows():
		return no("only the host may record an answer that allows the call")
	case a.Via != "" || !isAutomatic(a.Actor):
		return no("only the host records a user's answer")
	}
	known, err := b.approvalSeqs(ctx, id)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known[a.RequestID] == 0 {
		return no("it answers no known request")
	}
	return nil
}

// isAutomatic reports whether the loop records its own answers under this name.
func isAutomatic(by string) bool {
	switch by {
	case "nobody", "timeout", "interrupt", "restart":
		return true
	}
	return false
}

// approvalSeqs returns the seq of each approval request in a session's log, keyed by the id of the
// request. The log is read only once, because no other process adds requests meanwhile.
func (b *limits) approvalSeqs(ctx context.Context, id string) (map[string]int64, error) {
	b.mu.Lock()
	known := b.ids[id]
	b.mu.Unlock()
	if known != nil {
		return known, nil
	}
	known = map[string]int64{}
	m, err := b.meta(ctx, id)
	if err != nil || m == nil { // m is nil while the session is being opened
		return known, err
	}
	for r, err := range b.sessions.Records(ctx, id, session.Range{Until: m.Head}) {
		if err != nil {
			return nil, err
		}
		if r.Kind != record.KindApprovalAsked || r.Payload == nil {
			continue
		}
		if q, err := readPayload[approval.Request](&r); err == nil {
			known[q.ID] = r.Seq
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[id] == nil {
		if len(b.ids) > maxLeases {
			clear(b.ids)
		}
		b.ids[id] = known
	}
	return b.ids[id], nil
}
