package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// house is a hub that serves a store, and a session in it.
type house struct {
	testing.TB
	hub      *Hub
	store    session.Store
	sessions *session.Sessions
	log      *session.Log
}

func open(t testing.TB, o *Options) *house { return openOn(t, memory.New(), o) }

func openOn(t testing.TB, store session.Store, o *Options) *house {
	t.Helper()
	h := &house{TB: t, hub: New(o), store: store}
	h.sessions = session.New(store, &session.Options{AppendObserver: h.hub.WrapObserver(nil)})
	h.hub.Serve(h.sessions)
	h.log = h.create("s")
	t.Cleanup(func() { h.hub.Close() })
	return h
}

func (h *house) create(id string) *session.Log {
	h.Helper()
	l, err := h.sessions.Create(context.Background(), session.Opened{SessionID: id})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { l.Close() })
	return l
}

// item is a record of about n bytes.
func item(n int) session.Draft {
	return session.ItemDraft(transcript.Item{
		ID: "i", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("x", n)}},
	}.MustEncode(),

		false, nil)
}

func runEvent(t testing.TB, v any) session.Draft {
	t.Helper()
	d, err := session.NewDraft(record.KindRunEvent, v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (h *house) add(l *session.Log, drafts ...session.Draft) []session.Record {
	h.Helper()
	recs, err := l.Append(context.Background(), drafts...)
	if err != nil {
		h.Fatal(err)
	}
	return recs
}

func (h *house) subscribe(after int64) *Subscription {
	h.Helper()
	s, err := h.hub.Subscribe(context.Background(), "s", after)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(s.Close)
	return s
}

func (h *house) say(text string) { h.hub.Publish("s", "a", event.TextDelta{Text: text}) }

// told describes an event in a word.
func told(e *Event, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case e.Kind == Delta:
		return fmt.Sprintf("%v@%d", e.Delta.(event.TextDelta).Text, e.Seq)
	case e.Kind == Gap:
		return fmt.Sprintf("gap@%d", e.Seq)
	case e.Kind == CaughtUp:
		return fmt.Sprintf("caught_up@%d", e.Seq)
	}
	return fmt.Sprint(e.Seq)
}

// expect reads what a subscription tells next, in words; all of it must be there.
func (h *house) expect(s *Subscription, words string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i, w := range strings.Fields(words) {
		if got := told(s.Next(ctx)); got != w {
			h.Fatalf("event %d of %q is %q", i, words, got)
		}
	}
}

// silent checks that nothing is there to be told.
func (h *house) silent(s *Subscription) {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	synctest.Wait()
	cancel()
	if e, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		h.Fatalf("there was still %s", told(e, err))
	}
}

func TestSubscribe(t *testing.T) {
	h := open(t, nil)
	h.add(h.log, item(1), item(2))
	for _, c := range []struct {
		after int64
		words string
	}{
		{0, "1 2 3 caught_up@3"},
		{1, "2 3 caught_up@3"},
		{3, "caught_up@3"},
		{FromEnd, "caught_up@3"},
	} {
		t.Run(fmt.Sprint(c.after), func(t *testing.T) {
			early, late := h.subscribe(c.after), h.subscribe(c.after)
			h.expect(early, c.words)
			h.expect(late, c.words)
		})
	}
	early := h.subscribe(FromEnd)
	late := h.subscribe(2)
	h.add(h.log, item(3))
	h.expect(early, "caught_up@3 4")
	h.expect(late, "3 caught_up@3 4")
}

func TestSubscribeRefused(t *testing.T) {
	h := open(t, nil)
	for _, c := range []struct {
		id    string
		after int64
		want  error
	}{
		{"s", 2, session.ErrInvalid},
		{"s", -2, session.ErrInvalid},
		{"none", 0, session.ErrNotFound},
		{"../x", 0, session.ErrInvalidID},
	} {
		if _, err := h.hub.Subscribe(t.Context(), c.id, c.after); !errors.Is(err, c.want) {
			t.Errorf("%s after %d: %v, want %v", c.id, c.after, err, c.want)
		}
	}
	if n := len(h.hub.all()); n != 0 {
		t.Errorf("%d feeds are left of refused subscriptions", n)
	}
	if _, err := New(nil).Subscribe(t.Context(), "s", 0); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("without sessions: %v", err)
	}
}

func TestDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		s := h.subscribe(0)
		h.say("a")
		h.add(h.log, item(1))
		h.say("b")
		h.add(h.log, item(1), item(1), item(1)) // these must be read: they are told before what follows
		h.say("c")
		h.say("d")
		h.expect(s, "1 caught_up@1 a@1 2 b@2 3 4 5 c@5 d@5")
		h.silent(s)
		again := h.subscribe(2)
		h.expect(again, "3 4 5 caught_up@5 c@5 d@5") // what is void is not told again, the text so far is
		h.silent(again)
	})
}

// Who awaits a session that is not there yet misses none of its deltas.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		s, err := h.hub.Await(t.Context(), "later")
		if err != nil {
			t.Fatal(err)
		}
		h.expect(s, "caught_up@0")
		time.Sleep(time.Second) // of synctest's clock: what polls finds no session
		l := h.create("later")
		h.hub.Publish("later", "a", event.TextDelta{Text: "first"})
		h.add(l, item(1))
		h.expect(s, "1 first@1 2")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := h.sessions.Delete(t.Context(), "later"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%v", err)
		}
		s, err = h.hub.Await(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		h.expect(s, "1 caught_up@1")
		h.hub.Close() // nothing may be left behind in the bubble
	})
}

func TestDeltaWithoutSubscriber(t *testing.T) {
	h := open(t, nil)
	h.say("nobody hears it")
	h.expect(h.subscribe(0), "1 caught_up@1")
}

func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, &Options{BufferSize: 4})
		s := h.subscribe(0)
		h.expect(s, "1 caught_up@1")
		for range 6 {
			h.add(h.log, item(1))
		}
		h.expect(s, "2 3 4 5 6 7") // only records were lost, and those are in the log
		for range 3 {
			h.say("x")
			h.add(h.log, item(1))
		}
		h.say("y")
		h.expect(s, "gap@7 8 9 10 caught_up@10 y@10")
		for range 5 {
			h.say("z")
		}
		h.expect(s, "gap@10 caught_up@10 z@10 z@10 z@10 z@10") // the answer's beginning is lost
		h.silent(s)
	})
}

// A subscriber that falls behind again and again is told everything on record.
func TestGapAgain(t *testing.T) {
	h := open(t, &Options{BufferSize: 2})
	s := h.subscribe(0)
	var records, gaps, caught int
	for i := range 40 {
		h.say("x")
		h.add(h.log, item(i))
		h.say("y")
		if i%3 != 0 {
			continue
		}
		switch e, err := s.Next(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case e.Kind == Durable:
			if records++; e.Seq != int64(records) {
				t.Fatalf("record %d is told as number %d", e.Seq, records)
			}
		case e.Kind == Gap:
			gaps++
		case e.Kind == CaughtUp:
			caught++
		}
	}
	if gaps == 0 || caught == 0 {
		t.Errorf("%d gaps, %d times caught up", gaps, caught)
	}
	for records < 41 {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == Durable {
			if records++; e.Seq != int64(records) {
				t.Fatalf("record %d is told as number %d", e.Seq, records)
			}
		}
	}
}

func TestRingOfBytes(t *testing.T) {
	h := open(t, &Options{Bytes: 10_000})
	s := h.subscribe(FromEnd)
	for range 50 {
		h.add(h.log, item(1000))
	}
	f := h.hub.find("s")
	f.mu.Lock()
	n, size := len(f.ring), f.bytes
	f.mu.Unlock()
	if size > 10_000 || n == 0 || n > 10 {
		t.Errorf("the ring has %d events of %d bytes", n, size)
	}
	h.add(h.log, item(50_000)) // one event is always kept
	h.expect(s, "caught_up@1 2 3 4 5")
	h.expect(h.subscribe(51), "52 caught_up@52")
}

// Deltas that come while records are read are bounded as well.
func TestPendingDeltas(t *testing.T) {
	slow := &slowStore{Store: memory.New(), open: make(chan struct{})}
	h := openOn(t, slow, &Options{BufferSize: 8})
	s := h.subscribe(FromEnd)
	h.expect(s, "caught_up@1")
	slow.slow.Store(true)
	h.add(h.log, item(1), item(1))
	for i := range 12 {
		h.say(fmt.Sprint("d", i))
	}
	f := h.hub.find("s")
	f.mu.Lock()
	n := len(f.pending)
	f.mu.Unlock()
	if n > 9 {
		t.Errorf("%d deltas wait", n)
	}
	close(slow.open)
	h.expect(s, "2 3 gap@3 caught_up@3 d8@3 d9@3 d10@3 d11@3")
}

func TestFrames(t *testing.T) {
	h := open(t, nil)
	made := 0
	in := &Encoding{Encode: func(e *Event) [][]byte {
		made++
		b, _ := json.Marshal(e.Records[0].Seq)
		return [][]byte{b}
	}}
	other := &Encoding{Encode: func(*Event) [][]byte { return [][]byte{[]byte("other")} }}
	a, b := h.subscribe(FromEnd), h.subscribe(FromEnd)
	h.expect(a, "caught_up@1")
	h.expect(b, "caught_up@1")
	h.add(h.log, item(1))
	for _, s := range []*Subscription{a, b} {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := e.Frames(in); len(f) != 1 || string(f[0]) != "2" || string(e.Frames(other)[0]) != "other" {
			t.Errorf("frames %q", f)
		}
	}
	if made != 1 {
		t.Errorf("the frames were made %d times", made)
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		ended := make(chan error, 3)
		s, of := h.subscribe(0), h.subscribe(0)
		for _, s := range []*Subscription{s, of} {
			h.expect(s, "1 caught_up@1")
			go func() {
				_, err := s.Next(context.Background())
				ended <- err
			}()
		}
		synctest.Wait()
		s.Close()
		s.Close()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("a closed subscription: %v", err)
		}
		h.hub.Close()
		h.hub.Close()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("a closed hub: %v", err)
		}
		if _, err := h.hub.Subscribe(t.Context(), "s", 0); !errors.Is(err, session.ErrClosed) {
			t.Errorf("subscribe to a closed hub: %v", err)
		}
		h.say("nobody is there")
		h.add(h.log, item(1), item(2))
		if _, err := of.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("next of a closed hub: %v", err)
		}
	})
}

func TestNextCancelled(t *testing.T) {
	h := open(t, nil)
	s := h.subscribe(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	h.expect(s, "1 caught_up@1") // nothing was lost by it
}
