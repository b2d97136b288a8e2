package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// hostileFrameCount returns how many hostile frames are sent; HOLDFAST_FRAMES sets another number.
func hostileFrameCount(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("HOLDFAST_FRAMES")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// badFrame is a frame and the code of its answer: OK, ANY, or a wire.Code.
type badFrame struct {
	code  string
	frame []byte
}

// badFrames reads the list of internal/daemon/wire, whose head describes its format.
func badFrames(t *testing.T) []badFrame {
	t.Helper()
	b, err := os.ReadFile("wire/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []badFrame
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		code, rest, _ := strings.Cut(s.Text(), " ")
		f := badFrame{code: code}
		for rest != "" {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%v in %s", err, s.Text())
			}
			text, _ := strconv.Unquote(quoted)
			times, after, _ := strings.Cut(rest[len(quoted):], " ")
			count := 1
			if times != "" {
				if count, err = strconv.Atoi(strings.TrimPrefix(times, "*")); err != nil {
					t.Fatal(err)
				}
			}
			f.frame = append(f.frame, strings.Repeat(text, count)...)
			rest = after
		}
		list = append(list, f)
	}
	return list
}

// Whatever clients send, each gets the right answer, nothing remains allocated, and a well-behaved
// client receives all messages in order.
func TestHostileFrames(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: x}]"}, func(l *limits) {
		l.rate, l.burst = 1e9, 1e9
	})
	list := badFrames(t)
	n := hostileFrameCount(t, 10_000)
	good := w.subscribeToBusyRun("good")
	good.receive()
	before := w.idleUsage()
	var all sync.WaitGroup
	const attackers = 4
	for i := range attackers {
		all.Go(func() {
			a := &attacker{w: w, rand: rand.New(rand.NewPCG(1, uint64(i))), token: w.token(api.ScopeRead, api.ScopeRun, api.ScopeApprove)}
			for k := range n / attackers {
				if k < len(list) {
					a.listed(list[(k*attackers+i)%len(list)])
				} else {
					a.mutated(list[a.rand.IntN(len(list))].frame)
				}
			}
			a.leave()
		})
	}
	all.Wait()
	good.finish()
	w.waitConnections(0)
	w.eventually("as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before.goroutines })
	if after := w.idleUsage(); after.heap > before.heap+(32<<20) {
		t.Errorf("the heap grew from %d to %d bytes", before.heap, after.heap)
	}
}

// attacker sends frames, each followed by a ping, and checks what arrives before the pong.
type attacker struct {
	w     *daemonEnv
	c     *client
	rand  *rand.Rand
	token string
	pings int
}

func (a *attacker) leave() {
	if a.c != nil {
		_ = a.c.ws.CloseNow()
		a.c = nil
	}
}

// send sends a frame and returns the codes of the errors before the pong, and the code with which
// the connection was closed, or 0.
func (a *attacker) send(frame []byte) (codes []string, closed websocket.StatusCode) {
	a.w.t.Helper()
	if a.c == nil {
		a.c = a.w.dial(a.token)
	}
	a.pings++
	id := fmt.Sprint("ping ", a.pings)
	if a.c.write(string(frame)) == nil {
		_ = a.c.write(fmt.Sprintf(`{"type":"ping","requestId":%q}`, id)) // the read reports errors
	}
	for {
		b, err := a.c.read()
		if err != nil {
			a.leave()
			return codes, websocket.CloseStatus(err)
		}
		var m struct{ Type, Code, RequestID string }
		if bad := errors.Join(checkFrame(b), json.Unmarshal(b, &m)); bad != nil {
			a.w.t.Errorf("%.200q was answered with %s: %v", frame, b, bad)
			continue
		}
		switch m.Type {
		case "pong":
			if m.RequestID == id {
				return codes, 0
			}
		case "error":
			codes = append(codes, m.Code)
		}
	}
}

func (a *attacker) listed(f badFrame) {
	codes, closed := a.send(f.frame)
	unread := []string{string(wire.CodeParse), string(wire.CodeValidation), string(wire.CodeTooLarge)}
	var ok bool
	switch f.code {
	case "OK":
		ok = !slices.Contains(codes, unread[0]) && !slices.Contains(codes, string(wire.CodeInvalidMessage))
	case "ANY":
		ok = slices.ContainsFunc(codes, func(c string) bool { return slices.Contains(unread, c) })
	default:
		ok = slices.Contains(codes, f.code)
	}
	if tooLong := slices.Contains(codes, unread[2]); tooLong != (closed == websocket.StatusMessageTooBig) {
		ok = false
	}
	if !ok {
		a.w.t.Errorf("%.200q was answered with %v, close code %d, want %s", f.frame, codes, closed, f.code)
	}
}

// mutated sends a changed frame. It may or may not be a valid message; the connection must stay
// open, or be closed because the frame is too long.
func (a *attacker) mutated(frame []byte) {
	if len(frame) > 64<<10 {
		frame = frame[:64<<10]
	}
	f := bytes.Clone(frame)
	for range 1 + a.rand.IntN(4) {
		at := a.rand.IntN(len(f) + 1)
		switch a.rand.IntN(4) {
		case 0:
			f = slices.Insert(f, at, byte(a.rand.Uint32()))
		case 1:
			f = slices.Insert(f, at, []byte([]string{`"`, `{`, `}`, `,"type":"ping"`, `\u0000`, `"runId":"good",`, "\xff", `[[[[`}[a.rand.IntN(8)])...)
		case 2:
			f = slices.Delete(f, at, min(len(f), at+1+a.rand.IntN(8)))
		default:
			if at < len(f) {
				f[at] ^= 1 << a.rand.IntN(8)
			}
		}
	}
	_, closed := a.send(f)
	if req, _ := wire.Decode(f); closed == websocket.StatusPolicyViolation {
		if hello, ok := req.(*wire.Hello); ok && hello.Token != "" { // an invalid token
			return
		}
	}
	if closed != 0 {
		a.w.t.Errorf("%.200q closed the connection with %d", f, closed)
	}
}

// idleUsage is the memory and the goroutines of an idle daemon.
type idleUsage struct {
	goroutines int
	heap       uint64
}

func (w *daemonEnv) idleUsage() idleUsage {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return idleUsage{runtime.NumGoroutine(), m.HeapAlloc}
}

// busySubscriber is a client that subscribes to a run whose log grows all the time.
type busySubscriber struct {
	w    *daemonEnv
	c    *client
	run  string
	stop chan struct{}
	done chan struct{}
	last int64 // the last appended record

	received  atomic.Int64 // the last record that the client received
	receiving sync.WaitGroup
}

// subscribeToBusyRun creates a session that looks like a run, and a client that subscribes to it.
func (w *daemonEnv) subscribeToBusyRun(run string) *busySubscriber {
	w.t.Helper()
	log, err := w.sessions.Create(w.t.Context(), session.Opened{SessionID: run, CWD: w.cwd})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		w.t.Fatal(err)
	}
	v := &busySubscriber{w: w, run: run, stop: make(chan struct{}), done: make(chan struct{}), last: log.Head()}
	v.add(wire.RunEvent{Event: wire.RunStarted, Status: api.StatusCompleted, Segment: 1, Strategy: &wire.StrategyInfo{Name: "s", Agents: []string{"a"}}})
	v.c = w.ann()
	v.c.send(fmt.Sprintf(`{"type":"subscribe","runId":%q}`, run))
	v.c.until("caught_up")
	go func() {
		defer close(v.done)
		for {
			select {
			case <-v.stop:
				return
			case <-time.After(2 * time.Millisecond):
				v.add(steered(int(v.last)))
			}
		}
	}()
	return v
}

func steered(n int) wire.RunEvent {
	return wire.RunEvent{Event: wire.RunSteered, Text: fmt.Sprint("number ", n)}
}

func (v *busySubscriber) add(events ...wire.RunEvent) {
	drafts := make([]session.Draft, len(events))
	for i, e := range events {
		var err error
		if drafts[i], err = session.NewDraft(record.KindRunEvent, e); err != nil {
			v.w.t.Error(err)
		}
	}
	recs, err := v.w.sessions.AppendShared(v.w.t.Context(), v.run, v.last, drafts...)
	if err != nil {
		v.w.t.Error(err)
		return
	}
	v.last = recs[len(recs)-1].Seq
}

// receive reads the appended records while they are appended: none may be missing or arrive twice.
func (v *busySubscriber) receive() {
	v.received.Store(2)
	v.receiving.Go(func() {
		for {
			b, err := v.c.read()
			if err != nil {
				return // finish checks how far it got
			}
			var m struct{ Seq int64 }
			if err := json.Unmarshal(b, &m); err != nil || m.Seq != v.received.Load()+1 {
				v.w.t.Errorf("after record %d arrived %s", v.received.Load(), b)
				return
			}
			v.received.Store(m.Seq)
		}
	})
}

// finish stops the appends and waits until all records were received.
func (v *busySubscriber) finish() {
	v.w.t.Helper()
	close(v.stop)
	<-v.done
	v.w.eventually("all appended records to arrive", func() bool { return v.received.Load() == v.last })
	_ = v.c.ws.CloseNow()
	v.receiving.Wait()
}

// follow reads the events after a seq up to another one.
func follow(t testing.TB, c *client, seq, last int64) {
	t.Helper()
	for seq < last {
		m := c.next()
		n, durable := m["seq"].(json.Number)
		if !durable || m["type"] == "gap" || m["type"] == "caught_up" {
			continue
		}
		if got, _ := n.Int64(); got != seq+1 {
			t.Fatalf("after record %d arrived %v", seq, m)
		}
		seq++
	}
}

// Bytes that are not a WebSocket close their own connection, and nothing remains allocated.
func TestBrokenProtocol(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	token := w.token(api.ScopeRead)
	other := w.ann()
	other.send(`{"type":"ping"}`)
	other.until("pong")
	before := w.idleUsage()
	masked := func(first, length byte, more ...byte) []byte {
		return append([]byte{first, length | 0x80, 0, 0, 0, 0}, more...)
	}
	for name, raw := range map[string][]byte{
		"not masked":                 {0x81, 2, '{', '}'},
		"reserved bits":              masked(0xF1, 2, '{', '}'),
		"an unknown opcode":          masked(0x83, 0),
		"a continuation of nothing":  masked(0x80, 2, '{', '}'),
		"a long control frame":       {0x89, 0xFE, 1, 0, 0, 0, 0, 0},
		"half a control frame":       masked(0x09, 0),
		"a close with one byte":      masked(0x88, 1, 3),
		"a close with no such code":  masked(0x88, 2, 0, 1),
		"a negative length":          {0x81, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"an end in the middle":       masked(0x81, 100, '{'),
		"an end in a header":         {0x81},
		"text within text":           append(masked(0x01, 1, '{'), masked(0x81, 1, '}')...),
		"more than memory has":       {0x81, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 'x'},
		"ten thousand empty parts":   append(masked(0x01, 1, '{'), bytes.Repeat(masked(0x00, 0), 10_000)...),
		"nothing":                    {},
		"HTTP once more":             []byte("GET /v1/sessions HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a good frame and an end":    masked(0x81, 15, []byte(`{"type":"ping"}`)...),
		"a hundred pings and an end": bytes.Repeat(masked(0x89, 0), 100),
	} {
		conn := w.upgrade(token)
		_, _ = conn.Write(raw) // it may be closed already
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := bufio.NewReader(conn).WriteTo(new(bytes.Buffer)); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
		_ = conn.Close()
	}
	w.waitConnections(1)
	w.eventually("as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before.goroutines })
	other.send(`{"type":"ping"}`)
	other.until("pong")
}

// upgrade opens a WebSocket without a library.
func (w *daemonEnv) upgrade(token string) net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "GET /v1/ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer %s\r\n\r\n", w.address, token)
	if err != nil {
		w.t.Fatal(err)
	}
	head := make([]byte, 0, 4096)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			w.t.Fatal(err)
		}
		head = append(head, b[0])
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101")) {
		w.t.Fatalf("%s", head)
	}
	return conn
}
