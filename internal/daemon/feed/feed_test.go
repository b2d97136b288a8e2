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
	"github.com/holdfast-dev/holdfast/internal/deltas"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hubEnv is a hub that serves a store with one session.
type hubEnv struct {
	testing.TB
	hub      *Hub
	store    session.Store
	sessions *session.Sessions
	log      *session.Log
}

func open(t testing.TB, o *Options) *hubEnv { return openOn(t, memory.New(), o) }

func openOn(t testing.TB, store session.Store, o *Options) *hubEnv {
	t.Helper()
	h := &hubEnv{TB: t, hub: New(o), store: store}
	h.sessions = session.New(store, &session.Options{AppendObserver: h.hub.WrapObserver(nil)})
	h.hub.Serve(h.sessions)
	h.log = h.create("s")
	t.Cleanup(func() { h.hub.Close() })
	return h
}

func (h *hubEnv) create(id string) *session.Log {
	h.Helper()
	l, err := h.sessions.Create(context.Background(), session.Opened{SessionID: id})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { l.Close() })
	return l
}

// item returns a record of about n bytes.
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

func (h *hubEnv) add(l *session.Log, drafts ...session.Draft) []session.Record {
	h.Helper()
	recs, err := l.Append(context.Background(), drafts...)
	if err != nil {
		h.Fatal(err)
	}
	return recs
}

func (h *hubEnv) subscribe(after int64) *Subscription {
	h.Helper()
	s, err := h.hub.Subscribe(context.Background(), "s", after)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(s.Close)
	return s
}

func (h *hubEnv) publish(text string) { h.hub.Publish("s", "a", event.TextDelta{Text: text}) }

// begin publishes that the agent begins an answer, and end that the next record has it.
func (h *hubEnv) begin() { h.hub.Publish("s", "a", event.ModelStarted{}) }
func (h *hubEnv) end()   { h.hub.Publish("s", "a", event.ModelFinished{}) }

// describe returns a short description of an event.
func describe(e *Event, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case e.Kind == Delta:
		return fmt.Sprintf("%s@%d", deltaText(e.Delta), e.Seq)
	case e.Kind == Gap:
		return fmt.Sprintf("gap@%d", e.Seq)
	case e.Kind == CaughtUp:
		return fmt.Sprintf("caught_up@%d", e.Seq)
	}
	return fmt.Sprint(e.Seq)
}

// deltaText returns the text of a delta, or the type of another event.
func deltaText(e event.Event) string {
	if kind, text := deltas.Split(e); kind != nil {
		return text
	}
	return e.Type()
}

// expect reads the next events of a subscription and compares their descriptions.
func (h *hubEnv) expect(s *Subscription, words string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i, w := range strings.Fields(words) {
		if got := describe(s.Next(ctx)); got != w {
			h.Fatalf("event %d of %q is %q", i, words, got)
		}
	}
}

// expectNothing checks that a subscription has no event.
func (h *hubEnv) expectNothing(s *Subscription) {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	synctest.Wait()
	cancel()
	if e, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		h.Fatalf("there was still %s", describe(e, err))
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

func TestSubscribeErrors(t *testing.T) {
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
		t.Errorf("%d feeds remain after rejected subscriptions", n)
	}
	if _, err := New(nil).Subscribe(t.Context(), "s", 0); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("without sessions: %v", err)
	}
}

func TestDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		s := h.subscribe(0)
		h.publish("a")
		h.add(h.log, item(1))
		h.publish("b")
		h.add(h.log, item(1), item(1), item(1)) // these must be read: they come before the deltas
		h.begin()
		h.publish("c")
		h.publish("d")
		h.expect(s, "1 caught_up@1 a@1 2 b@2 3 4 5 model_started@5 c@5 d@5")
		h.expectNothing(s)
		again := h.subscribe(2)
		h.expect(again, "3 4 5 caught_up@5 model_started@5 cd@5") // only the current text is sent again
		h.expectNothing(again)
	})
}

// A subscriber that awaits a session gets all of its deltas.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		s, err := h.hub.Await(t.Context(), "later")
		if err != nil {
			t.Fatal(err)
		}
		h.expect(s, "caught_up@0")
		time.Sleep(time.Second) // on synctest's clock: polling finds no session
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
		h.hub.Close() // no goroutine may remain in the bubble
	})
}

func TestDeltaWithoutSubscriber(t *testing.T) {
	h := open(t, nil)
	h.publish("no subscriber")
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
		h.expect(s, "2 3 4 5 6 7") // only records left the ring, and the log has them
		for range 3 {
			h.publish("x")
			h.add(h.log, item(1))
		}
		h.begin()
		h.publish("y")
		h.expect(s, "gap@7 8 9 10 caught_up@10 model_started@10 y@10")
		for range 5 {
			h.publish("z")
		}
		h.expect(s, "gap@10 caught_up@10 model_started@10 yzzzzz@10")
		h.expectNothing(s)
	})
}

// A subscriber that falls behind repeatedly still gets every record.
func TestGapAgain(t *testing.T) {
	h := open(t, &Options{BufferSize: 2})
	s := h.subscribe(0)
	var records, gaps, caught int
	for i := range 40 {
		h.publish("x")
		h.add(h.log, item(i))
		h.publish("y")
		if i%3 != 0 {
			continue
		}
		switch e, err := s.Next(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case e.Kind == Durable:
			if records++; e.Seq != int64(records) {
				t.Fatalf("record %d arrived as number %d", e.Seq, records)
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
				t.Fatalf("record %d arrived as number %d", e.Seq, records)
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

// The number of deltas that arrive during a read is limited as well.
func TestPendingDeltas(t *testing.T) {
	slow := &slowStore{Store: memory.New(), open: make(chan struct{})}
	h := openOn(t, slow, &Options{BufferSize: 8})
	s := h.subscribe(FromEnd)
	h.expect(s, "caught_up@1")
	slow.slow.Store(true)
	h.add(h.log, item(1), item(1))
	h.begin()
	for i := range 12 {
		h.publish(fmt.Sprint("d", i))
	}
	f := h.hub.find("s")
	f.mu.Lock()
	n := len(f.pending)
	f.mu.Unlock()
	if n > 9 {
		t.Errorf("%d deltas wait", n)
	}
	close(slow.open)
	h.expect(s, "2 3 gap@3 caught_up@3 model_started@3 d0d1d2d3d4d5d6d7d8d9d10d11@3")
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
		h.publish("no subscriber")
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
	h.expect(s, "1 caught_up@1") // nothing was lost
}
