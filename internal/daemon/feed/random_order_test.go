package feed

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"pgregory.net/rapid"
)

// reader is a subscriber with the events it received, by seq.
type reader struct {
	s      *Subscription
	after  int64
	last   int64 // delta
	caught bool
}

// check compares an event with the log.
func (r *reader) check(e *Event, frames map[int64][]byte) error {
	switch e.Kind {
	case Durable:
		if e.Seq != r.after+1 {
			return fmt.Errorf("record %d arrived after %d", e.Seq, r.after)
		}
		r.after = e.Seq
		got := bytes.Join(e.Frames(&plainText), nil)
		if was, ok := frames[e.Seq]; ok && !bytes.Equal(was, got) {
			return fmt.Errorf("record %d is %s, but was %s", e.Seq, got, was)
		}
		frames[e.Seq] = got
	case Delta:
		// A delta contains its number and the record after which it was published.
		var seq, n int64
		if _, err := fmt.Sscanf(e.Delta.(event.TextDelta).Text, "%d %d", &seq, &n); err != nil {
			return err
		}
		if !r.caught {
			return fmt.Errorf("delta %d arrived before the records", n)
		}
		if n <= r.last {
			return fmt.Errorf("delta %d arrived after %d", n, r.last)
		}
		if seq > r.after || e.Seq != r.after {
			return fmt.Errorf("delta %d with seq %d, published after record %d, arrived after %d", n, e.Seq, seq, r.after)
		}
		r.last = n
	case Gap:
		r.caught = false
	case CaughtUp:
		r.caught = true
	}
	return nil
}

var plainText = Encoding{Encode: func(e *Event) [][]byte {
	var out [][]byte
	for _, r := range e.Records {
		out = append(out, fmt.Appendf(nil, "%s %d %s %s\n", r.Session, r.Seq, r.Kind, r.Payload))
	}
	return out
}}

// Whatever the order of appends, publications and reads, each reader gets every record once, in
// order, with the same bytes.
func TestRandomOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := open(t, &Options{BufferSize: rapid.IntRange(1, 8).Draw(rt, "ring"), Bytes: rapid.SampledFrom([]int{1, 2000, 1 << 20}).Draw(rt, "bytes")})
		defer h.hub.Close()
		defer h.log.Close()
		writer := h.create("w")
		defer writer.Close()
		frames := map[int64][]byte{}
		var readers []*reader
		published := int64(0)
		read := func(r *reader, until int64) {
			for r.after < until || !r.caught {
				e, err := r.s.Next(context.Background())
				if err == nil {
					err = r.check(e, frames)
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				var drafts []session.Draft
				for range rapid.IntRange(1, 5).Draw(rt, "records") {
					drafts = append(drafts, item(rapid.IntRange(0, 400).Draw(rt, "size")))
				}
				h.add(h.log, drafts...)
			},
			"relay": func(rt *rapid.T) {
				recs := h.add(writer, item(1), item(2))
				h.add(h.log, relayed(t, "w", recs[0].Seq, recs[1].Seq))
			},
			"publish": func(rt *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(rt, "deltas") {
					published++
					h.publish(fmt.Sprint(h.log.Head(), " ", published))
				}
			},
			"subscribe": func(rt *rapid.T) {
				after := rapid.Int64Range(0, h.log.Head()).Draw(rt, "after")
				s, err := h.hub.Subscribe(context.Background(), "s", after)
				if err != nil {
					rt.Fatal(err)
				}
				readers = append(readers, &reader{s: s, after: after})
			},
			"unsubscribe": func(rt *rapid.T) {
				if len(readers) > 0 {
					i := rapid.IntRange(0, len(readers)-1).Draw(rt, "reader")
					readers[i].s.Close()
					readers = append(readers[:i], readers[i+1:]...)
				}
			},
			"read": func(rt *rapid.T) {
				if len(readers) > 0 {
					r := readers[rapid.IntRange(0, len(readers)-1).Draw(rt, "reader")]
					read(r, rapid.Int64Range(r.after, h.log.Head()).Draw(rt, "until"))
				}
			},
		})
		for _, r := range readers {
			read(r, h.log.Head())
			r.s.Close()
		}
		if n := len(h.hub.all()); n != 0 {
			rt.Fatalf("%d feeds remain", n)
		}
	})
}

// The same with concurrent readers and writers.
func TestConcurrentReaders(t *testing.T) {
	t.Run("memory", func(t *testing.T) { concurrentReaders(t, memory.New()) })
	t.Run("sqlite", func(t *testing.T) { concurrentReaders(t, openSQLite(t)) })
}

func concurrentReaders(t *testing.T, store session.Store) {
	t.Helper()
	const (
		records = 400
		clients = 12
	)
	h := openOn(t, store, &Options{BufferSize: 16})
	ctx := t.Context()
	var (
		work  sync.WaitGroup
		bytes sync.Map
		head  atomic.Int64
		final = int64(records + 1)
	)
	head.Store(1)
	fail := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	work.Go(func() {
		for n := 0; n < records; {
			batch := min(1+n%4, records-n)
			var drafts []session.Draft
			for range batch {
				drafts = append(drafts, item(n))
			}
			recs, err := h.log.Append(ctx, drafts...)
			if err != nil {
				t.Error(err)
				return
			}
			head.Store(recs[len(recs)-1].Seq)
			n += batch
			h.publish(strconv.FormatInt(recs[len(recs)-1].Seq, 10) + " " + strconv.Itoa(n))
		}
	})
	for c := range clients {
		work.Go(func() {
			r := &reader{}
			for r.after < final {
				s, err := h.hub.Subscribe(ctx, "s", r.after)
				if err != nil {
					t.Error(err)
					return
				}
				r.caught, r.last = false, 0                                  // provisional text is void
				for n := 0; r.after < final && (c%3 == 0 || n < 20*c); n++ { // some reconnect repeatedly
					e, err := s.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					fail(r.check(e, map[int64][]byte{}))
					if e.Kind == Durable {
						text := string(e.Frames(&plainText)[0])
						if was, loaded := bytes.LoadOrStore(e.Seq, text); loaded && was != text {
							t.Errorf("record %d is %s, but was %s", e.Seq, text, was)
						}
					}
				}
				s.Close()
			}
		})
	}
	work.Wait()
}
