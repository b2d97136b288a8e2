package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

const (
	heartbeat    = 15 * time.Second
	writeTimeout = 10 * time.Second // a client that reads nothing for this time is disconnected
	maxStreams   = 4096
	flushEvery   = 64 // events of a replay between two flushes
)

// sse writes one event stream. If a write takes too long, it fails and the stream ends; the client
// reconnects with Last-Event-ID.
type sse struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	timeout   time.Duration // time limit of a write
	unflushed int           // how many events are written but not flushed
}

// startStream sends the header of a stream and calls run. ctx ends when the client disconnects,
// when its credential is revoked, or when the daemon shuts down. Its cause says which of these
// happened.
func (a *service) startStream(c *call, run func(ctx context.Context, s *sse) error) error {
	if a.live.Err() != nil {
		return refuse(outcome.Unavailable, errShutdown.Error(), "")
	}
	defer a.streaming.Add(-1)
	if a.streaming.Add(1) > maxStreams {
		return refuse(outcome.Unavailable, fmt.Sprintf("too many event streams (limit %d)", maxStreams), "close a stream, or try again later")
	}
	ctx, cancel := context.WithCancelCause(c.ctx())
	defer cancel(nil)
	defer context.AfterFunc(a.live, func() { cancel(errShutdown) })()
	if a.o.Auth != nil {
		if revoked := a.o.Auth.Revoked(c.caller); revoked != nil {
			watched := make(chan struct{})
			defer func() { cancel(nil); <-watched }()
			go func() {
				defer close(watched)
				select {
				case <-revoked:
					cancel(errRevoked)
				case <-ctx.Done():
				}
			}()
		}
	}
	c.header("Content-Type", routes.EventStream)
	c.header("X-Accel-Buffering", "no")
	if c.r.Method == http.MethodHead {
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	s := &sse{w: c.w, control: http.NewResponseController(c.w), timeout: a.streamTimeout}
	_ = s.write([]byte("retry: 500\n\n"), true)
	err := run(ctx, s)
	switch {
	case errors.Is(context.Cause(ctx), errShutdown) || errors.Is(err, io.EOF):
		_ = s.write(encodeEvent("shutdown", "", []byte("{}")), true)
	case err != nil && ctx.Err() == nil:
		p := problemOf(err)
		a.log.WarnContext(ctx, "an event stream ended", "path", c.r.URL.Path, "error", err)
		if data, merr := jsonscan.Marshal(map[string]string{"code": p.Code, "detail": p.Detail}); merr == nil {
			_ = s.write(encodeEvent("failed", "", data), true)
		}
	}
	return nil
}

var errRevoked = errors.New("the credential was revoked")

// write sends bytes. If flush is false, they are sent together with later ones.
func (s *sse) write(b []byte, flush bool) error {
	err := s.control.SetWriteDeadline(time.Now().Add(s.timeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	if s.unflushed++; !flush && s.unflushed < flushEvery {
		return nil
	}
	s.unflushed = 0
	return s.control.Flush()
}

// encodeEvent encodes one event of a stream. JSON has line breaks only in strings, where they are
// escaped, so data is one line. An id without data only updates the client's Last-Event-ID.
func encodeEvent(event, id string, data []byte) []byte {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	if data != nil {
		b.WriteString("event: " + event + "\ndata: ")
		b.Write(data)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// stream sends a session's records from a seq, and then new events.
func (a *service) stream(c *call, m session.Meta, kinds []session.Kind) error {
	after, err := c.streamFrom(m)
	if err != nil {
		return err
	}
	if _, given := c.query["limit"]; given {
		return refuse(outcome.Usage, "limit is not allowed for a stream", "omit limit")
	}
	var sub *feed.Subscription
	if m.Head == 0 {
		sub, err = a.o.Hub.Await(c.ctx(), m.ID)
	} else {
		sub, err = a.o.Hub.Subscribe(c.ctx(), m.ID, after)
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	return a.startStream(c, func(ctx context.Context, s *sse) error { return a.follow(ctx, s, sub, m, kinds) })
}

// streamFrom returns where a stream begins: at Last-Event-ID, which a browser sends when it
// reconnects; otherwise at the parameter after; otherwise at the beginning.
func (c *call) streamFrom(m session.Meta) (int64, error) {
	after := c.number("after", 0)
	if v := c.r.Header.Get("Last-Event-ID"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return 0, refuse(outcome.Usage, "Last-Event-ID must be the seq of a record, not "+strconv.Quote(v)+"", "")
		}
		after = n
	}
	if after < 0 {
		after = max(0, m.Head+after)
	}
	if after > m.Head {
		return 0, refuse(outcome.Usage, "the stream would begin after the last record, "+strconv.FormatInt(m.Head, 10), "omit after")
	}
	return after, nil
}

// follow writes the events of a subscription until it ends.
func (a *service) follow(ctx context.Context, s *sse, sub *feed.Subscription, m session.Meta, kinds []session.Kind) error {
	encoding := &plainEvents
	if kinds != nil {
		encoding = &feed.Encoding{Encode: func(e *feed.Event) [][]byte { return frames(e, kinds) }}
	}
	exists := m.Head > 0
	alive := func() error {
		if exists || a.isPrepared(ctx, m.ID) {
			return nil
		}
		_, err := a.o.Sessions.Get(ctx, m.ID)
		return err
	}
	for live := false; ; {
		e, err := next(ctx, s, sub, alive)
		switch {
		case errors.Is(err, session.ErrNotFound):
			return s.write(encodeEvent("deleted", "", []byte("{}")), true)
		case errors.Is(err, session.ErrCorrupt):
			continue
		case err != nil:
			return err
		}
		live = live || e.Kind == feed.CaughtUp
		exists = exists || e.Kind == feed.Durable
		list := e.Frames(encoding)
		if e.Kind == feed.CaughtUp {
			list = [][]byte{a.caughtUpFrame(ctx, e)}
		}
		for i, f := range list {
			if err := s.write(f, live && i == len(list)-1); err != nil {
				return err
			}
		}
		if e.Kind == feed.Gap {
			live = false // the events after this one are read from the log
		}
	}
}

// isPrepared reports whether a run exists that has not started. It has no session yet.
func (a *service) isPrepared(ctx context.Context, id string) bool {
	info, err := a.o.Runs.Get(ctx, id)
	return err == nil && info.Status == api.StatusPending
}

// next waits for an event. It sends heartbeats while it waits.
func next(ctx context.Context, s *sse, sub *feed.Subscription, alive func() error) (*feed.Event, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		e, err := sub.Next(wait)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return e, err
		}
		if err := sub.Stale(); err != nil { // send no heartbeat, because it would mean that nothing was missed
			return nil, err
		}
		if err := alive(); err != nil {
			return nil, err
		}
		if err := s.write([]byte(": \n\n"), true); err != nil {
			return nil, err
		}
	}
}

// plainEvents caches the frames of streams without a filter for all clients.
var plainEvents = feed.Encoding{Encode: func(e *feed.Event) [][]byte { return frames(e, nil) }}

// frames returns the stream's frames for an event. Only the last frame of a record has an id, so
// that a client that reconnects gets all of them again.
func frames(e *feed.Event, kinds []session.Kind) [][]byte {
	id := strconv.FormatInt(e.Seq, 10)
	switch e.Kind {
	case feed.Delta:
		if f := deltaFrame(e); f != nil {
			return [][]byte{f}
		}
		return nil
	case feed.Gap:
		return [][]byte{encodeEvent("gap", "", fmt.Appendf(nil, `{"seq":%d}`, e.Seq))}
	case feed.CaughtUp:
		return nil
	}
	list := eventsOf(e, kinds)
	if len(list) == 0 {
		return [][]byte{encodeEvent("", id, nil)}
	}
	out := make([][]byte, len(list))
	for i := range list {
		data, err := jsonscan.Marshal(&list[i])
		if err != nil { // cannot fail: the payload was checked when it was read
			data = []byte("null")
		}
		last := ""
		if i == len(list)-1 {
			last = id
		}
		out[i] = encodeEvent("record", last, data)
	}
	return out
}

// deltaEvent is a delta of an agent.
type deltaEvent struct {
	Seq   int64           `json:"seq" jsonschema:"seq of the last record sent"`
	Agent string          `json:"agent,omitempty"`
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"`
}

func deltaFrame(e *feed.Event) []byte {
	form, err := event.Marshal(outcome.Explain(e.Delta))
	if err != nil {
		return nil
	}
	data, err := jsonscan.Marshal(deltaEvent{e.Seq, e.Agent, e.Delta.Type(), form})
	if err != nil {
		return nil
	}
	return encodeEvent("delta", "", data)
}

// caughtUpFrame reports the position in the log, and the status of the run.
func (a *service) caughtUpFrame(ctx context.Context, e *feed.Event) []byte {
	doc := struct {
		Seq    int64         `json:"seq"`
		Status api.RunStatus `json:"status,omitempty"`
	}{Seq: e.Seq}
	if info, err := a.o.Runs.Get(ctx, e.Session); err == nil { // an error means that it is not a run
		doc.Status = info.Status
	}
	data, err := jsonscan.Marshal(doc)
	if err != nil {
		return nil
	}
	return encodeEvent("caught_up", "", data)
}
