package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

var errCut = errors.New("the connection was cut")

// faulty does something to the request with a number.
type faulty struct {
	next http.RoundTripper
	mu   sync.Mutex
	n    int
	at   int // the request concerned, from 0
	act  func(f *faulty, r *http.Request) (*http.Response, error)
	held []func() // requests that are still on their way
	dead func()   // ends the client
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	n := f.n
	f.n++
	held := f.held
	if n > f.at+1 {
		f.held = nil
	} else {
		held = nil
	}
	f.mu.Unlock()
	for _, deliver := range held {
		deliver()
	}
	if n == f.at {
		return f.act(f, r)
	}
	return f.next.RoundTrip(r)
}

func (f *faulty) happened() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n > f.at
}

// swallow sends a request and takes the answer away.
func (f *faulty) swallow(r *http.Request) {
	if resp, err := f.next.RoundTrip(r); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

var faults = map[string]func(f *faulty, r *http.Request) (*http.Response, error){
	"crash before": func(f *faulty, r *http.Request) (*http.Response, error) {
		f.dead()
		return nil, errCut
	},
	"crash after": func(f *faulty, r *http.Request) (*http.Response, error) {
		f.swallow(r)
		f.dead()
		return nil, errCut
	},
	"not sent": func(f *faulty, r *http.Request) (*http.Response, error) { return nil, errCut },
	"answer lost": func(f *faulty, r *http.Request) (*http.Response, error) {
		f.swallow(r)
		return nil, errCut
	},
	"busy": func(f *faulty, r *http.Request) (*http.Response, error) {
		body := "<Error><Code>SlowDown</Code><Message>busy</Message></Error>"
		return &http.Response{
			Status: "503 Slow Down", StatusCode: http.StatusServiceUnavailable, ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	},
	"answer cut": func(f *faulty, r *http.Request) (*http.Response, error) {
		resp, err := f.next.RoundTrip(r)
		if err == nil && r.Method == http.MethodGet {
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(b[:len(b)/2]), broken{}))
		}
		return resp, err
	},
	"arrives late": func(f *faulty, r *http.Request) (*http.Response, error) {
		late := r.Clone(context.WithoutCancel(r.Context()))
		if r.Body != nil {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			late.Body = io.NopCloser(bytes.NewReader(b))
		}
		f.mu.Lock()
		f.held = append(f.held, func() { f.swallow(late) })
		f.mu.Unlock()
		return nil, errCut
	},
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errCut }

// clientHistory is what a client does, and what it was told.
type clientHistory struct {
	s       *object.Store
	ctx     context.Context
	parent  *author
	fork    *author
	acked   map[string]int64 // the last seq that was acknowledged
	erased  bool
	deleted map[string]bool
}

// run does all sorts of things, to the end or to the first error.
func (st *clientHistory) run() (err error) {
	do := func(step func() error) {
		if err == nil {
			err = step()
		}
	}
	add := func(a *author, records ...session.Record) {
		do(func() error {
			err := st.s.Append(st.ctx, a.id, a.batch(records...))
			if err == nil {
				st.acked[a.id] = a.head
			}
			return err
		})
	}
	take := func(a *author) {
		do(func() error {
			l, err := st.s.Acquire(st.ctx, a.id, lease("story"), always)
			a.epoch = l.Epoch
			return err
		})
	}
	st.parent, st.fork = &author{id: "parent"}, &author{id: "fork"}
	add(st.parent, st.parent.opened(nil))
	take(st.parent)
	add(st.parent, st.parent.turn("first"), st.parent.turn("SECRET"))
	do(func() error { return st.s.Renew(st.ctx, "parent", leaseOf(st.parent.epoch)) })
	add(st.parent, st.parent.turn("third"))
	base := &session.Base{Parent: "parent", Seq: st.parent.head, Digest: st.parent.last}
	do(func() error { return st.s.FoldWith(st.ctx, "parent") })
	add(st.parent, st.parent.turn("fourth"))
	take(st.fork)
	epoch := st.fork.epoch
	add(st.fork, st.fork.opened(base))
	st.fork.epoch = epoch
	add(st.fork, st.fork.turn("own"))
	do(func() error {
		err := st.s.Erase(st.ctx, "parent", st.parent.epoch, []int64{3})
		st.erased = err == nil
		return err
	})
	add(st.parent, st.parent.turn("fifth"))
	do(func() error { return st.s.FoldWith(st.ctx, "parent") })
	for _, id := range []string{"parent", "fork"} {
		do(func() error {
			err := st.s.Delete(st.ctx, id)
			st.deleted[id] = err == nil
			return err
		})
	}
	return err
}

func leaseOf(epoch int64) session.Lease {
	l := lease("story")
	l.Epoch = epoch
	return l
}

// One request of a story fails, in each way: every sixth one, from one that differs from
// run to run; with HOLDFAST_HEAVY each of them, which takes eight minutes.
func TestEveryRequestMayFail(t *testing.T) {
	step, first := 6, int(time.Now().UnixNano()%6)
	if os.Getenv("HOLDFAST_HEAVY") != "" {
		step, first = 1, 0
	}
	t.Logf("every %dth request from %d on", step, first)
	for name, act := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := first; ; at += step {
				f := &faulty{next: http.DefaultTransport, at: at, act: act}
				faultAt(t, f, strings.HasPrefix(name, "crash"))
				if !f.happened() {
					if at < 40 {
						t.Fatalf("the story is over after %d requests", at)
					}
					return
				}
			}
		})
	}
}

// faultAt tells the story with a fault and looks at what is left.
func faultAt(t *testing.T, f *faulty, crash bool) {
	url := newURL(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.dead = cancel
	st := &clientHistory{ctx: ctx, acked: map[string]int64{}, deleted: map[string]bool{}}
	s, err := object.Open(ctx, url, &object.Options{Transport: f, FoldSlots: -1})
	if err == nil {
		st.s = s
		err = st.run()
		s.Close()
	}
	if err != nil && !crash {
		t.Fatalf("request %d: one fault ended the story: %v", f.at, err)
	}
	clean := open(t, url, &object.Options{FoldSlots: -1})
	for _, id := range []string{"parent", "fork"} {
		if msg := st.check(t, clean, id); msg != "" {
			t.Fatalf("request %d: %s: %s (the story ended with %v)", f.at, id, msg, err)
		}
	}
	if st.erased && !st.deleted["parent"] {
		noSecret(t, clean)
	}
	clean.SetTimes(1<<62, -1<<40)
	if _, err := clean.Sweep(t.Context()); err != nil {
		t.Fatalf("request %d: sweep: %v", f.at, err)
	}
	for _, id := range []string{"parent", "fork"} {
		if msg := st.check(t, clean, id); msg != "" {
			t.Fatalf("request %d: %s after sweeping: %s (the story ended with %v)", f.at, id, msg, err)
		}
	}
	if st.deleted["fork"] {
		keys, err := clean.Keys()
		if err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if key != "format.json" && key != "epoch.json" && !strings.HasPrefix(key, "sessions/") {
				t.Fatalf("request %d: %s is left", f.at, key)
			}
		}
	}
}

// check says what is wrong with a session, and goes on with it.
func (st *clientHistory) check(t *testing.T, s *object.Store, id string) string {
	m := find(t, s, id)
	acked := st.acked[id]
	switch {
	case st.deleted[id]:
		if m != nil && !m.Deleted || m != nil && st.deleted["fork"] {
			return "it was deleted and is there"
		}
		return ""
	case m == nil || m.Deleted: // a delete may have been done without being acknowledged
		if acked > 0 && (id == "parent" && st.acked["parent"] < 6 || id == "fork" && !st.deleted["parent"]) {
			return fmt.Sprintf("%d records were acknowledged and it is gone", acked)
		}
		return ""
	case m.Head < acked:
		return fmt.Sprintf("%d was acknowledged, the head is %d", acked, m.Head)
	}
	records := chain(t, s, id, m.ParentSeq+1)
	if got := m.ParentSeq + int64(len(records)); got != m.Head {
		return fmt.Sprintf("the head is %d, the last record %d", m.Head, got)
	}
	a := &author{id: id, head: m.Head, last: m.HeadDigest}
	a.take(t, s)
	a.append(t, s, "going on")
	st.acked[id] = a.head
	return ""
}

func noSecret(t *testing.T, s *object.Store) {
	t.Helper()
	keys, err := s.Keys()
	if err != nil {
		t.Fatal(err)
	}
	for key := range keys {
		if b, err := s.Get(key); err != nil || bytes.Contains(b, []byte("SECRET")) {
			t.Fatalf("%s has what was erased (%v)", key, err)
		}
	}
}
