package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/wait"
)

// Event is one event of a session. It is a record, a delta of an agent (then Record is nil and
// Events contains the delta), or one of Gap, CaughtUp, Lost and Deleted.
type Event struct {
	Seq    int64       // the seq of the record; for other events, the seq of the last record before them
	Record *api.Record // nil for other events
	Agent  string      // if the event is a delta: the agent's name
	// Events are the run events of the record, if any, or the delta.
	Events []event.Event

	Gap      bool          // deltas may be lost: the output of running calls is yielded again
	CaughtUp bool          // all records so far were sent
	Status   api.RunStatus // the status of the run, if CaughtUp is set
	Deleted  bool          // the session was deleted; this is the last event
	Lost     bool          // the connection was lost; the loop reconnects when it continues
	Err      error         // why the connection was lost, or why the events of the record cannot be decoded
}

// Limits of a stream.
const (
	frameLimit        = 64 << 20         // bytes of one event
	heartbeatInterval = 45 * time.Second // the daemon sends a heartbeat every 15 seconds
	firstWait         = 500 * time.Millisecond
	longestWait       = 5 * time.Second
)

// Events yields the records of a session after a seq, in order. Then it yields live events. If a
// connection breaks, it reconnects and continues after the last record, so each record is yielded
// once. Deltas may be lost. The deltas of a text are yielded from its beginning or not at all: a loop
// that begins in the middle of a text gets the text so far, and after a reconnection the rest of a
// text follows. If pieces of a text are lost, its later deltas are not yielded; the event of the item
// has the whole text. The output of a running call is yielded again after a Gap. The loop ends when ctx ends, when the session is deleted, or after an *[api.Problem] that a
// retry would not fix.
func (c *Client) Events(ctx context.Context, id string, after int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		s := &stream{c: c, id: id, last: after, yield: yield}
		delay := firstWait
		for {
			before := s.yielded
			err := s.connect(ctx)
			switch {
			case s.done:
				return
			case ctx.Err() != nil:
				yield(nil, context.Cause(ctx))
				return
			case isFatal(err):
				yield(nil, err)
				return
			}
			if s.yielded > before {
				delay = firstWait
			}
			if !yield(&Event{Lost: true, Seq: s.last, Err: err}, nil) {
				return
			}
			s.lost = true
			if wait.For(ctx, delay) != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			delay = min(2*delay, longestWait)
		}
	}
}

// stream reads the events of a session, and reconnects when a connection ends.
type stream struct {
	c     *Client
	id    string
	yield func(*Event, error) bool

	last    int64 // all records up to this seq were yielded
	part    int   // how many records with the next seq were yielded; relayed records can have the same seq
	yielded int   // number of yielded events
	lost    bool  // a connection has broken
	done    bool  // the caller stopped, or there are no more events
	reader  eventReader
}

// errEnded means that the daemon ended the stream.
var errEnded = errors.New("the daemon ended the stream")

// connect yields the events of one connection, and returns why it ended.
func (s *stream) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(heartbeatInterval, func() { cancel(fmt.Errorf("no data for %v", heartbeatInterval)) })
	defer watch.Stop()
	head := http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {strconv.FormatInt(s.last, 10)}}
	resp, err := s.c.send(ctx, request{op: "listEvents", path: []string{s.id}, header: head})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if s.lost {
		s.lost = false
		s.reader.gap()
		if !s.yieldEvent(&Event{Gap: true, Seq: s.last}) {
			return nil
		}
	}
	watch.Stop()
	r := &frames{in: bufio.NewReaderSize(&watchedReader{resp.Body, watch}, 64<<10)}
	for skip := s.part; ; {
		f, err := r.next()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return &Error{Op: "events of " + s.id, Address: s.c.address, Err: err}
		}
		if f.event == "shutdown" {
			return &Error{Op: "events of " + s.id, Address: s.c.address, Err: errEnded}
		}
		if f.event == frameRecord && skip > 0 {
			skip--
			s.recordYielded(f.id)
			continue
		}
		e, err := decode(f)
		if err == nil && e != nil && !s.reader.read(e) {
			e = nil
		}
		if err != nil {
			return &Error{Op: "events of " + s.id, Address: s.c.address, Err: err}
		}
		if e != nil && !s.yieldEvent(e) {
			return nil
		}
		if f.event == frameRecord {
			s.part++
		}
		s.recordYielded(f.id)
	}
}

// recordYielded stores the id of a record after the whole record was yielded.
func (s *stream) recordYielded(id string) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		s.last, s.part = n, 0
	}
}

func (s *stream) yieldEvent(e *Event) bool {
	s.yielded++
	if !s.yield(e, nil) || e.Deleted {
		s.done = true
	}
	return !s.done
}

// frameRecord is the type of the frames that contain a record.
const frameRecord = "record"

// frame is one received event of a stream.
type frame struct {
	event, id string
	data      []byte
}

// frames parses the events of a stream (HTML Living Standard, 9.2).
type frames struct{ in *bufio.Reader }

// watchedReader runs the watch only while it waits for data. Every byte restarts it.
type watchedReader struct {
	r     io.Reader
	watch *time.Timer
}

func (l *watchedReader) Read(p []byte) (int, error) {
	l.watch.Reset(heartbeatInterval)
	defer l.watch.Stop()
	return l.r.Read(p)
}

func (r *frames) next() (f frame, err error) {
	size := 0
	for {
		line, err := r.line(&size)
		if err != nil {
			return f, err
		}
		if len(line) == 0 {
			if f.data != nil || f.id != "" {
				return f, nil
			}
			f, size = frame{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			f.event = string(value)
		case "id":
			f.id = string(value)
		case "data":
			if f.data != nil {
				f.data = append(f.data, '\n')
			}
			f.data = append(f.data, value...)
		}
	}
}

func (r *frames) line(size *int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if *size += len(part); *size > frameLimit {
			return nil, fmt.Errorf("an event is larger than %d MiB", frameLimit>>20)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // a complete stream has a last event
			}
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// decode decodes a frame. If this version does not know the frame's type, it returns nil.
func decode(f frame) (*Event, error) {
	e := &Event{}
	if f.data == nil {
		return nil, nil //nolint:nilnil // an id alone only reports the daemon's position
	}
	var err error
	switch f.event {
	case frameRecord:
		e.Record = new(api.Record)
		if err = json.Unmarshal(f.data, e.Record); err == nil {
			e.Seq = e.Record.Seq
		}
		if string(e.Record.Payload) == "null" { // it was erased
			e.Record.Payload = nil
		}
	case "delta":
		var d struct {
			Seq   int64           `json:"seq"`
			Agent string          `json:"agent"`
			Event json.RawMessage `json:"event"`
		}
		if err = json.Unmarshal(f.data, &d); err != nil {
			break
		}
		e.Seq, e.Agent = d.Seq, d.Agent
		delta, err := event.Unmarshal(d.Event)
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // ignore a delta of a later version
		}
		e.Events = []event.Event{delta}
	case "gap", "caught_up", "deleted":
		var d struct {
			Seq    int64         `json:"seq"`
			Status api.RunStatus `json:"status"`
		}
		if err = json.Unmarshal(f.data, &d); err == nil {
			e.Seq, e.Status = d.Seq, d.Status
			e.Gap, e.CaughtUp, e.Deleted = f.event == "gap", f.event == "caught_up", f.event == "deleted"
		}
	default:
		return nil, nil //nolint:nilnil // of a later version
	}
	if err != nil {
		return nil, fmt.Errorf("cannot decode event %q: %w", f.event, err)
	}
	return e, nil
}
