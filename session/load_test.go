package session_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// item is the canonical form of a user item.
func item(id string) rawJSON {
	it := transcript.UserText("text of " + id)
	it.ID = id
	return it.MustEncode().JSON
}

func TestLoadPages(t *testing.T) {
	s := session.New(memory.New(), nil)
	var all []string
	for i := range 10 {
		all = append(all, fmt.Sprint(i))
	}
	newSession(t, s, "s", all...)
	for _, c := range []struct {
		o    *session.LoadOptions
		want []string
	}{
		{nil, all},
		{&session.LoadOptions{}, all},
		{&session.LoadOptions{Limit: 3}, all[7:]},
		{&session.LoadOptions{Limit: 3, Offset: 4}, all[4:7]},
		{&session.LoadOptions{Offset: 7}, all[7:]},
		{&session.LoadOptions{Limit: 100}, all},
		{&session.LoadOptions{Limit: 5, Offset: 8}, all[8:]},
		{&session.LoadOptions{Limit: 3, Offset: 10}, nil},
		{&session.LoadOptions{Offset: 50}, nil},
		{&session.LoadOptions{Limit: -1, Offset: -2}, all},
	} {
		got := must(s.Load(t.Context(), "s", c.o))(t)
		wantIDs(t, itemIDs(got.Items), c.want...)
		if got.Meta.MessageCount != 10 {
			t.Errorf("MessageCount %d", got.Meta.MessageCount)
		}
	}
}

// counting counts what is read, and can damage records on their way out.
type counting struct {
	*memory.Store
	read   int
	damage map[int64]string // by seq: "flip", "fail" or "drop"
	once   func()           // called before the next read
}

func (c *counting) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		if f := c.once; f != nil {
			c.once = nil
			f()
		}
		for rec, err := range c.Store.Read(ctx, id, r) {
			c.read++
			switch c.damage[rec.Seq] {
			case "flip":
				rec.Payload[len(rec.Payload)/2] ^= 1
			case "fail":
				rec, err = session.Record{}, &session.Error{Op: "read", Session: id, Seq: rec.Seq, Err: session.ErrCorrupt, Detail: "bad checksum"}
			case "drop":
				continue
			case "io":
				rec, err = session.Record{}, fmt.Errorf("i/o error")
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestTailReadsLittle(t *testing.T) {
	store := &counting{Store: memory.New()}
	s := session.New(store, nil)
	longSession(t, s, "s", 3000)
	store.read = 0
	if got := must(s.Load(t.Context(), "s", &session.LoadOptions{Limit: 50}))(t); len(got.Items) != 50 {
		t.Fatal(len(got.Items))
	}
	if store.read > 55 {
		t.Fatalf("%d records were read for 50 items", store.read)
	}
	store.read = 0
	f := must(s.Fork(t.Context(), "s", nil))(t)
	if store.read > 0 {
		t.Fatalf("a full fork read %d records", store.read)
	}
	if got := must(s.Load(t.Context(), f, &session.LoadOptions{Limit: 50}))(t); len(got.Items) != 50 || store.read > 55 {
		t.Fatal(len(got.Items), store.read)
	}
	store.read = 0
	l := must(s.Open(t.Context(), "s", nil))(t)
	defer l.Close()
	for range 5 {
		must(l.Append(t.Context(), userDraft("x"+s.NewID(), "x")))(t)
	}
	must(l.Tail(t.Context(), 5))(t)
	if store.read > 5 {
		t.Fatalf("opening and appending read %d records", store.read)
	}
}

// Somebody appends between the look at the meta and the reading.
func TestReadDuringWrite(t *testing.T) {
	store := &counting{Store: memory.New()}
	s := session.New(store, nil)
	l := newSession(t, s, "s", "a", "b", "c")
	n := 0
	more := func() { n++; must(l.Append(t.Context(), userDraft(fmt.Sprint("more ", n), "x")))(t) }
	store.once = more
	f := must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemIndex: new(1)}))(t)
	wantIDs(t, loaded(t, s, f), "a", "b")
	store.once = more
	got := must(s.Load(t.Context(), "s", nil))(t)
	if len(got.Items) != got.Meta.MessageCount {
		t.Errorf("%d items loaded, the meta counts %d", len(got.Items), got.Meta.MessageCount)
	}
	store.once = more
	if r := must(s.Verify(t.Context(), "s"))(t); !r.OK() || r.Items != 6 {
		t.Errorf("%+v", r)
	}
}

func TestDamage(t *testing.T) {
	for how, text := range map[string]string{
		"flip": "record 3 of session s was left out", "fail": "record 3 of session s was left out", "drop": "",
	} {
		t.Run(how, func(t *testing.T) {
			store := &counting{Store: memory.New()}
			s := session.New(store, nil)
			l := newSession(t, s, "s", "a", "b", "c")
			store.damage = map[int64]string{3: how}
			got := must(s.Load(t.Context(), "s", nil))(t)
			wantIDs(t, itemIDs(got.Items), "a", "c")
			if text != "" && (len(got.Notices) != 1 || !strings.Contains(got.Notices[0], text)) {
				t.Errorf("notices %q", got.Notices)
			}
			_, err := l.Snapshot(t.Context())
			wantErr(t, err, session.ErrCorrupt)
			l.Close()
			_, err = s.Restore(t.Context(), session.RestoreOptions{SessionID: "s"})
			wantErr(t, err, session.ErrCorrupt)
			if h := session.Hint(err); h != "holdfast sessions verify s" {
				t.Errorf("hint %q", h)
			}
			if !strings.Contains(err.Error(), "session s at seq") {
				t.Errorf("%q does not name session and seq", err)
			}
			_, err = s.Restore(t.Context(), session.RestoreOptions{SessionID: "s", Fork: true})
			wantErr(t, err, session.ErrCorrupt)
			if p := must(s.List(t.Context(), session.Query{}))(t); len(p.Sessions) != 1 {
				t.Errorf("a restore that failed left its fork behind")
			}
			r := must(s.Verify(t.Context(), "s"))(t)
			if r.OK() || len(r.Faults) == 0 || r.Faults[0].Seq != 3 && how != "drop" || how == "drop" && r.Faults[0].Seq != 4 {
				t.Errorf("%+v", r)
			}
			// Nobody is left holding the lease.
			l = must(s.Open(t.Context(), "s", nil))(t)
			l.Close()
		})
	}
}

func TestLoadPassesOnOtherErrors(t *testing.T) {
	store := &counting{Store: memory.New()}
	s := session.New(store, nil)
	newSession(t, s, "s", "a", "b")
	store.damage = map[int64]string{2: "io"}
	if _, err := s.Load(t.Context(), "s", nil); err == nil || !strings.Contains(err.Error(), "i/o error") {
		t.Fatal(err)
	}
	if _, err := s.Verify(t.Context(), "s"); err == nil {
		t.Fatal("verify hides an I/O error")
	}
	if _, err := s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: "a"}); err == nil {
		t.Fatal("fork hides an I/O error")
	}
	_, err := s.Load(t.Context(), "none", nil)
	wantErr(t, err, session.ErrNotFound)
	_, err = s.Load(t.Context(), "../x", nil)
	wantErr(t, err, session.ErrInvalidID)
}
