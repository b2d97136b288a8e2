package hostpipe

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// serve starts a server that reads its input, and returns how it ended.
func serve(t *testing.T, r io.Reader, o ServeOptions) (*limitedClient, error) {
	t.Helper()
	b := newLimitedClient(t, ServeOptions{})
	o.Session, o.Lease = "s", b.log.Lease()
	s := newServer(&oneWay{Reader: r}, b.sessions, o)
	return b, s.Serve(t.Context())
}

// frameOf returns the beginning of a frame with these lengths.
func frameOf(head, blob uint32, text string) []byte {
	b := make([]byte, 8, 8+len(text))
	binary.BigEndian.PutUint32(b, head)
	binary.BigEndian.PutUint32(b[4:], blob)
	return append(b, text...)
}

// endless repeats a text without end, and counts.
type endless struct {
	text []byte
	read int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		at := int((e.read + int64(n)) % int64(len(e.text)))
		n += copy(b[n:], e.text[at:])
	}
	e.read += int64(n)
	return n, nil
}

// An invalid frame ends the connection with an error, and needs no more memory than was received.
func TestHostileFrames(t *testing.T) {
	bomb := func(open, of, end string, n int) []byte {
		text := open + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + end
		return frameOf(uint32(len(text)), 0, text)
	}
	for _, tt := range []struct {
		name string
		in   io.Reader
		mib  uint64 // that may be allocated
	}{
		{"a head of 4 GiB", bytes.NewReader(frameOf(1<<32-1, 0, "{")), 4},
		{"a head of 1 GiB", bytes.NewReader(frameOf(1<<30, 0, "{")), 4},
		{"a blob of 1 GiB", bytes.NewReader(frameOf(2, 1<<30, "{}")), 4},
		{"a blob that does not come", bytes.NewReader(frameOf(2, 200<<20, "{}")), 4},
		{"nothing but zeros", &endless{text: []byte{0}}, 4},
		{"nothing but letters", &endless{text: []byte("a")}, 4},
		{"records without end", bytes.NewReader(bomb(`{"id":1,"op":"append","session":"s","records":[`, "{}", "]}", 5<<20)), 200},
		{"sizes without end", bytes.NewReader(bomb(`{"id":1,"op":"stream","stream":{"sizes":[`, "0", "]}}", 10<<20)), 200},
		{"denials without end", bytes.NewReader(bomb(`{"op":"event","event":{"type":"result","event":{"Denials":[`, "{}", "]}}}", 5<<20)), 200},
		{"lists in lists", bytes.NewReader(bomb(`{"op":`, strings.Repeat("[", 1<<20), "}", 1)), 200},
		{"no JSON", bytes.NewReader(frameOf(3, 0, "{x}")), 4},
		{"half of UTF-8", bytes.NewReader(frameOf(10, 0, "{\"op\":\"\xc3\"}")), 4},
		{"a request without a number", bytes.NewReader(frameOf(11, 0, `{"op":"ask"}`)), 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b, err := serve(t, tt.in, ServeOptions{})
			runtime.ReadMemStats(&after)
			if err == nil && tt.name != "half of UTF-8" {
				t.Error("it was taken")
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > tt.mib {
				t.Errorf("%d MiB were allocated", used)
			}
			b.unharmed("s", 1)
		})
	}
}

// slow is a store whose appends wait.
type slow struct {
	session.Store
	in   chan struct{}
	held atomic.Int64
}

func (s *slow) Unwrap() session.Store { return s.Store }

func (s *slow) Append(ctx context.Context, id string, b session.Batch) error {
	if b.Expect > 0 {
		s.held.Add(int64(len(b.Records[0].Payload)))
		select {
		case <-s.in:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Append(ctx, id, b)
}

// The memory for requests that wait for a slow store is limited: the rest is not read.
func TestPendingRequestsAreLimited(t *testing.T) {
	store := &slow{Store: memory.New(), in: make(chan struct{})}
	sessions := session.New(store, nil)
	log, err := sessions.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	const size = 100 << 20
	head, err := jsonscan.Marshal(&request{ID: 1, Op: opAppend, Session: "s", Expect: 1, Records: []wireRecord{{Seq: 2, ID: "r", Time: sessions.Now().UnixMilli(), Kind: session.KindItem, Size: size}}})
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64
	var frames []io.Reader
	for i := range 10 {
		h := bytes.Replace(head, []byte(`"id":1,`), fmt.Appendf(nil, `"id":%d,`, i+1), 1)
		frames = append(frames, bytes.NewReader(frameOf(uint32(len(h)), size, string(h))), counted{io.LimitReader(&endless{text: bytes.Repeat([]byte("x"), 1<<20)}, size), &read})
	}
	ctx, stop := context.WithCancel(t.Context())
	s := newServer(&oneWay{Reader: io.MultiReader(frames...)}, sessions, ServeOptions{Session: "s", Lease: log.Lease()})
	s.memory.used = maxBlobBytes - 2*size // as if other requests waited
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx) })
	s.appending.Lock()
	until(t, func() bool { return read.Load() == 3*size })
	stop()
	s.appending.Unlock()
	served.Wait()
	if n := read.Load(); n > 3*size {
		t.Errorf("%d MiB were read while two appends waited", n>>20)
	}
}

type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// A process that sends requests and never reads uses a limited number of goroutines, and callers on the host
// wait for it only as long as they choose.
func TestProcessThatNeverReads(t *testing.T) {
	b := newLimitedClient(t, ServeOptions{})
	before := runtime.NumGoroutine()
	inside, host := net.Pipe()
	s := newServer(host, b.sessions, ServeOptions{Session: "s", Lease: b.log.Lease()})
	var served sync.WaitGroup
	var failed error
	served.Go(func() { failed = s.Serve(context.Background()) })
	w := frames{rw: inside, out: hostReadLimits}
	for i := range 2 * maxCalls {
		if err := w.write(&request{ID: uint64(i + 1), Op: opRead, Session: "s", Range: &wireRange{}}, nil); err != nil {
			break
		}
	}
	served.Wait()
	if !errors.Is(failed, errFrame) {
		t.Errorf("served until %v", failed)
	}
	until(t, func() bool { return runtime.NumGoroutine() <= before+1 })
	_ = inside.Close()

	inside, host = net.Pipe()
	s = newServer(host, b.sessions, ServeOptions{Session: "s", Lease: b.log.Lease()})
	served.Go(func() { _ = s.Serve(context.Background()) })
	ctx, stop := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- s.Submit(ctx, json.RawMessage(`{}`)) }()
	go func() { waits <- s.Submit(context.Background(), json.RawMessage(`{}`)) }()
	stop()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("the error of a canceled call is %v", err)
	}
	_ = inside.Close()
	if err := <-waits; !errors.Is(err, ErrLost) {
		t.Errorf("the error of a waiting call is %v", err)
	}
	served.Wait()
	until(t, func() bool { return runtime.NumGoroutine() <= before+1 })
}

// An approver is asked each request once, and only a few at a time.
func TestApprovalFlood(t *testing.T) {
	var asked atomic.Int64
	b := newLimitedClient(t, ServeOptions{Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		asked.Add(1)
		<-ctx.Done()
		return approval.Answer{}, ctx.Err()
	}})
	for i := range 40 {
		req := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: fmt.Sprint(i), Cwd: "/work"}
		q := approval.Request{ID: fmt.Sprint("q", i), Use: "u", Tool: "Bash", Requests: []policy.Request{req}, Digest: approval.Request{}.ForRequests([]policy.Request{req}, policy.Decision{}).Digest, Reason: record.ReasonAsk, AskedAt: b.sessions.Now()}
		if err := forge(b, "s", record.KindApprovalAsked, q); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var asks sync.WaitGroup
	var refused atomic.Int64
	for i := range 80 {
		asks.Go(func() {
			if err := b.c.Ask(ctx, fmt.Sprint("q", i/2)); errors.Is(err, ErrRefused) {
				refused.Add(1)
			}
		})
	}
	until(t, func() bool { return refused.Load() == 80-maxPending && asked.Load() == maxPending })
	stop()
	asks.Wait()
}

// Terminal sequences that hooks may not use are removed from the events of the process inside.
func TestTerminalSequences(t *testing.T) {
	events := make(chan event.Event, 1)
	b := newLimitedClient(t, ServeOptions{Event: func(e event.Event, _ int) { events <- e }})
	bell, clip := "\a", "\x1b]52;c;cm0gLXJmIH4=\a"
	if err := b.c.SendEvent(event.TerminalSequences{Sequences: []string{bell, clip, "\x1b[2J", "\x1b]0;a title\a"}}); err != nil {
		t.Fatal(err)
	}
	if e := (<-events).(event.TerminalSequences); len(e.Sequences) != 2 || e.Sequences[0] != bell {
		t.Errorf("events: %q", e.Sequences)
	}
}

// Records beyond the limit of a turn are refused.
func TestRecordLimitPerTurn(t *testing.T) {
	b, s := limitedServer(t, ServeOptions{})
	s.limits.mu.Lock()
	s.limits.bytes, s.limits.children, s.limits.asked = maxBytes-100, maxChildren, maxApprovals
	s.limits.mu.Unlock()
	if err := b.c.Append(t.Context(), "s", b.next("s", session.KindItem, string(item("a", strings.Repeat("x", 200)).Payload), nil)); !errors.Is(err, ErrRefused) {
		t.Errorf("bytes: %v", err)
	}
	if _, err := b.inside.Create(t.Context(), session.Opened{SessionID: "c", Owner: "s", Project: "p"}); !errors.Is(err, ErrRefused) {
		t.Errorf("sessions: %v", err)
	}
	q := approval.Request{ID: "q", Tool: "Bash", Digest: approval.Request{}.ForRequests(nil, policy.Decision{}).Digest}
	if err := forge(b, "s", record.KindApprovalAsked, q); !errors.Is(err, ErrRefused) {
		t.Errorf("questions: %v", err)
	}
	b.unharmed("s", 1)
}
