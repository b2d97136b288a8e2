package sessiontest

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// unknownOutcomeStore is a store whose next append returns an error. The append may have been
// carried out, may not have been, or may be carried out later.
type unknownOutcomeStore struct {
	session.Store
	next func(carryOut func() error) error // nil if the append is not changed
}

func (d *unknownOutcomeStore) Unwrap() session.Store { return d.Store }

func (d *unknownOutcomeStore) Append(ctx context.Context, id string, b session.Batch) error {
	f := d.next
	if d.next = nil; f == nil {
		return d.Store.Append(ctx, id, b)
	}
	return f(func() error { return d.Store.Append(context.WithoutCancel(ctx), id, b) })
}

// testUnknownOutcome makes appends return errors that do not show whether the append was carried
// out. Each acknowledged batch must be stored exactly once, and the log and the store must have the
// same records.
func testUnknownOutcome(e *env) {
	away := &session.Error{Op: "append", Err: session.ErrUnavailable}
	store := &unknownOutcomeStore{Store: e.store}
	l, err := session.New(store, nil).Create(e.ctx(), session.Opened{SessionID: "s"})
	if err != nil {
		e.Fatal(err)
	}
	var want []string
	draft := func(title string) session.Draft {
		d, err := session.NewDraft(record.KindMetaChanged, session.MetaPatch{Title: &title})
		if err != nil {
			e.Fatal(err)
		}
		return d
	}
	appended := func(title string) {
		e.Helper()
		recs, err := l.Append(e.ctx(), draft(title))
		if err != nil || len(recs) != 1 {
			e.Fatalf("%s: %d records, %v", title, len(recs), err)
		}
		want = append(want, title)
	}
	for name, failed := range map[string]error{
		"the connection was lost": away, "it was cancelled": context.Canceled, "it took too long": context.DeadlineExceeded, "unknown": errors.New("broken pipe"),
	} {
		store.next = func(carryOut func() error) error { return errors.Join(carryOut(), failed) }
		appended("carried out, and then: " + name)
	}
	store.next = func(func() error) error { return away }
	if _, err := l.Append(e.ctx(), draft("lost")); !errors.Is(err, session.ErrUnavailable) {
		e.Fatalf("not carried out: %v", err)
	}
	appended("lost")
	var late func() error
	store.next = func(carryOut func() error) error { late = carryOut; return away }
	if _, err := l.Append(e.ctx(), draft("late")); !errors.Is(err, session.ErrUnavailable) {
		e.Fatalf("carried out late: %v", err)
	}
	if err := late(); err != nil {
		e.Fatal(err)
	}
	appended("late") // the same batch again
	store.next = func(carryOut func() error) error { late = carryOut; return away }
	if _, err := l.Append(e.ctx(), draft("late and forgotten")); !errors.Is(err, session.ErrUnavailable) {
		e.Fatalf("carried out late: %v", err)
	}
	if err := late(); err != nil {
		e.Fatal(err)
	}
	want = append(want, "late and forgotten")
	appended("something else")
	added, err := l.Refresh(e.ctx())
	if err != nil || len(added) != 1 {
		e.Errorf("the log hands out %d records, %v", len(added), err)
	}
	var got []string
	for _, r := range e.read(e.store, "s", session.Range{}) {
		if r.Kind == record.KindMetaChanged {
			got = append(got, r.ID)
		}
	}
	if len(got) != len(want) {
		e.Errorf("%d records are there, want %d: %q", len(got), len(want), want)
	}
	if m := e.meta(e.store, "s"); m.Head != l.Head() || m.Title != want[len(want)-1] || l.Meta().Title != m.Title {
		e.Errorf("the store is at %d (%s), the log at %d (%s)", m.Head, m.Title, l.Head(), l.Meta().Title)
	}
	if err := l.Close(); err != nil {
		e.Error(err)
	}
}

// testLeaseClock checks that clients with fast or slow clocks cannot take over a session whose
// holder is alive.
func testLeaseClock(e *env) {
	e.leaser()
	// S3 has no clock, so the holder must renew the lease while other clients wait.
	l, err := session.New(e.store, &session.Options{TTL: 3 * time.Second, Holder: session.Holder{ID: "living", Host: "a"}}).Create(e.ctx(), session.Opened{SessionID: "s"})
	if err != nil {
		e.Fatal(err)
	}
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		other := session.New(e.store, &session.Options{
			Holder: session.Holder{ID: name, Host: "b"}, Clock: func() time.Time { return time.Now().Add(skew) },
		})
		_, err := other.Open(e.ctx(), "s", nil)
		want(e, "open by a clock that is "+name, err, session.ErrBusy)
	}
	turn, err := session.NewDraft(record.KindTurnOpened, record.TurnOpened{Turn: "t"})
	if err != nil {
		e.Fatal(err)
	}
	if _, err := l.Append(e.ctx(), turn); err != nil { // only the lease holder may append this record
		e.Errorf("the holder: %v", err)
	}
	if err := l.Close(); err != nil {
		e.Error(err)
	}
}
