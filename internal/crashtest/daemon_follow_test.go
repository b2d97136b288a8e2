//go:build linux

package crashtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// clientEvents is what a client has received of a run: all frames of each seq. It notes
// repeated events and, with every, also missing ones.
type clientEvents struct {
	name  string
	every bool // each seq gives something

	mu         sync.Mutex
	last       int64 // whole
	at         int64 // of part
	part       []string
	by         map[int64]string
	faults     []string
	reconnects int // times the client has come back
}

func (h *clientEvents) take(seq int64, more bool, frame string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case seq <= h.last:
		h.wrong("%d comes again after %d: %s", seq, h.last, frame)
	case h.every && seq != h.last+1:
		h.wrong("%d comes after %d", seq, h.last)
	case len(h.part) > 0 && seq != h.at:
		h.wrong("%d comes before %d is whole", seq, h.at)
	}
	h.at, h.part = seq, append(h.part, frame)
	if !more {
		h.by[seq], h.last, h.part = strings.Join(h.part, "\n"), seq, nil
	}
}

func (h *clientEvents) wrong(format string, args ...any) {
	h.faults = append(h.faults, h.name+": "+fmt.Sprintf(format, args...))
}

// heardAsked returns the approval request for a use of a session that the client received, or
// "".
func (h *clientEvents) heardAsked(id, use string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, frames := range h.by {
		for frame := range strings.SplitSeq(frames, "\n") {
			asks := strings.Contains(frame, `"request_permission"`) || strings.Contains(frame, `"approval.asked"`)
			if asks && strings.Contains(frame, `"`+use+`"`) && strings.Contains(frame, `"`+id+`"`) {
				return frame
			}
		}
	}
	return ""
}

// again starts a new connection: incomplete records are received once more.
func (h *clientEvents) again() (after int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.part, h.reconnects = nil, h.reconnects+1
	return h.last
}

// client follows a run over any number of connections.
type client struct {
	clientEvents
	api   *api
	run   string
	asked func(c *client, question string, send func(frame string) error) // called once for each time it is told
	once  bool                                                            // one connection, until everything on record was told
}

var errCaughtUp = errors.New("caught up")

// follow connects again and again until ctx ends.
func (c *client) follow(ctx context.Context, connect func(context.Context, *client) error) {
	for ctx.Err() == nil {
		_ = connect(ctx, c) // the daemon is gone, or not there yet
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// overSSE reads the run's records as server-sent events, from the last one on.
func overSSE(ctx context.Context, c *client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/sessions/"+c.run+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if after := c.again(); after > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	res, err := c.api.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("SSE: %s", res.Status)
	}
	var event, id, data string
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			event = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if event == "caught_up" && c.once {
				return errCaughtUp
			}
			if err := c.record(ctx, event, id, data); err != nil {
				return err
			}
			event, id, data = "", "", ""
		}
	}
}

// record takes one server-sent event.
func (c *client) record(ctx context.Context, event, id, data string) error {
	if event != "record" {
		return nil
	}
	var r struct {
		Seq     int64
		More    bool
		Kind    string
		Payload struct{ ID string }
	}
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return err
	}
	if want := strconv.FormatInt(r.Seq, 10); !r.More && id != want {
		c.take(-1, false, "the event's id is "+id+": "+data)
	}
	c.take(r.Seq, r.More, data)
	if r.Kind == "approval.asked" && c.asked != nil {
		c.asked(c, r.Payload.ID, func(decision string) error {
			_, err := c.api.call(ctx, http.MethodPost, "/v1/approvals/"+r.Payload.ID+"/decision", map[string]string{"decision": decision}, nil)
			return err
		})
	}
	return nil
}

// overSocket subscribes to the run over a WebSocket, from the last frame on.
func overSocket(ctx context.Context, c *client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://localhost/v1/ws", &websocket.DialOptions{HTTPClient: c.api.http}) //nolint:bodyclose // the connection has it
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	subscribe := fmt.Sprintf(`{"type":"subscribe","requestId":"s","runId":%q,"afterSeq":%d}`, c.run, c.again())
	if err := conn.Write(ctx, websocket.MessageText, []byte(subscribe)); err != nil {
		return err
	}
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if err := c.frame(ctx, conn, b); err != nil {
			return err
		}
	}
}

// frame takes one frame of the socket.
func (c *client) frame(ctx context.Context, conn *websocket.Conn, b []byte) error {
	var f struct {
		Type, RunID, Code, Message string
		Seq                        int64
		More, Pending              bool
		Permission                 string `json:"permissionRequestId"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	switch {
	case f.Type == "error" && f.Code != "NO_PENDING_PERMISSION" && f.Code != "ALREADY_DECIDED":
		return fmt.Errorf("%s: %s", f.Code, f.Message)
	case f.Type == "caught_up" && c.once:
		return errCaughtUp
	case f.Type == "caught_up" || f.RunID != c.run:
		return nil
	case f.Seq > 0 && !f.Pending:
		c.take(f.Seq, f.More, string(b))
	}
	if f.Type == "request_permission" && c.asked != nil {
		c.asked(c, f.Permission, func(decision string) error {
			return conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil,
				`{"type":"permission_decision","runId":%q,"permissionRequestId":%q,"decision":%q}`, c.run, f.Permission, decision))
		})
	}
	return nil
}

// replay reads all records as a client that has received nothing.
func replay(ctx context.Context, a *api, run, name string, connect func(context.Context, *client) error) (*clientEvents, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c := newClient(a, run, name)
	c.once = true
	if err := connect(ctx, c); !errors.Is(err, errCaughtUp) {
		return nil, fmt.Errorf("%s: replay: %w", name, err)
	}
	return &c.clientEvents, nil
}

func newClient(a *api, run, name string) *client {
	return &client{api: a, run: run, clientEvents: clientEvents{name: name, every: name == "sse", by: map[int64]string{}}}
}

// compare returns what a client received that is not recorded byte for byte; with whole, also
// what is recorded and was not received.
func (h *clientEvents) compare(all *clientEvents, whole bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults := append(h.faults, all.faults...)
	for seq, frames := range h.by {
		if got := all.by[seq]; got != frames {
			faults = append(faults, fmt.Sprintf("%s heard at %d\n%s\nand on record is\n%s", h.name, seq, frames, got))
		}
	}
	if whole && h.last != all.last {
		faults = append(faults, fmt.Sprintf("%s has heard up to %d, and there is %d", h.name, h.last, all.last))
	}
	for seq := range all.by {
		if _, ok := h.by[seq]; !ok && seq <= h.last {
			faults = append(faults, fmt.Sprintf("%s has never heard %d", h.name, seq))
		}
	}
	return faults
}

// connections is how often the client has connected.
func (c *client) connections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reconnects
}

func (c *client) lastHeard() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
