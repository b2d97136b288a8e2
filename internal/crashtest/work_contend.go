package crashtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Command is sent to a process that competes for a session.
type Command struct {
	Do       string // "create", "open", "append", "change" or "close"
	Session  string
	Takeover bool           // open: also from a live holder
	Patient  bool           // open: retry while the session is busy
	TTL      time.Duration  // of the lease; 0 means the default
	Times    int            // append: number of batches; 0 means until one fails
	Head     int64          // change: append a shared record right after the record with this seq
	Digest   session.Digest // change: its digest
}

// Reply is the result of a [Command].
type Reply struct {
	Err   string // "" or the name of an error of the contract, such as "conflict"
	Text  string // the text of the error
	Acked []Ack  // the acknowledged records
	At    int64  // when the command was done, in nanoseconds since 1970
}

var sentinels = []struct {
	name string
	err  error
}{
	{"exists", session.ErrExists},
	{"conflict", session.ErrConflict},
	{"fenced", session.ErrFenced},
	{"busy", session.ErrBusy},
	{"not found", session.ErrNotFound},
	{"full", session.ErrFull},
	{"read-only", session.ErrReadOnly},
	{"poisoned", session.ErrPoisoned},
	{"corrupt", session.ErrCorrupt},
	{"io", syscall.EIO},
}

// sentinelName returns the name of the sentinel error that an error wraps.
func sentinelName(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range sentinels {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return "other"
}

// contender is one of several processes that compete for the same session.
type contender struct {
	store session.Store
	log   *session.Log
}

// contend executes commands, which are one JSON line each, until the input ends.
func contend(ctx context.Context, store session.Store, orders io.Reader, report *Reporter) error {
	c := contender{store: store}
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		var o Command
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		report.Reply(c.execute(ctx, o))
	}
	return lines.Err()
}

func (c *contender) execute(ctx context.Context, o Command) Reply {
	var (
		acked []Ack
		err   error
	)
	note := func(recs []session.Record) {
		for i := range recs {
			acked = append(acked, Ack{Session: o.Session, Seq: recs[i].Seq, ID: recs[i].ID, Digest: recs[i].Digest})
		}
	}
	switch o.Do {
	case "create", "open":
		err = c.begin(ctx, o)
		if err == nil && o.Do == "create" {
			var recs []session.Record
			if recs, err = c.log.Tail(ctx, 1); err == nil {
				note(recs)
			}
		}
	case "append":
		for n := 0; err == nil && (o.Times == 0 || n < o.Times); n++ {
			var recs []session.Record
			title := fmt.Sprint("batch ", n)
			if recs, err = c.log.Append(ctx, draft(record.KindMetaChanged, session.MetaPatch{Summary: &title}), draft(record.KindTurnClosed, record.TurnClosed{Turn: title, Reason: "completed"})); err == nil {
				note(recs)
			}
		}
	case "change":
		recs := []session.Record{{ID: session.New(c.store, nil).NewID(), Seq: o.Head + 1, Time: time.Now(), Kind: record.KindMetaChanged, Payload: []byte(`{"title":"changed"}`)}}
		recs[0].Seal(o.Digest)
		var delta session.Delta
		if delta, err = session.Fold(recs); err == nil {
			err = c.store.Append(ctx, o.Session, session.Batch{Expect: o.Head, Records: recs, Delta: delta})
		}
		if err == nil {
			note(recs)
		}
	case "close":
		if c.log != nil {
			err, c.log = c.log.Close(), nil
		}
	default:
		err = fmt.Errorf("crashtest: no order %q", o.Do)
	}
	r := Reply{Err: sentinelName(err), Acked: acked, At: time.Now().UnixNano()}
	if err != nil {
		r.Text = err.Error()
	}
	return r
}

// begin opens or creates a session.
func (c *contender) begin(ctx context.Context, o Command) (err error) {
	sessions := session.New(c.store, &session.Options{TTL: o.TTL})
	if o.Do == "create" {
		c.log, err = sessions.Create(ctx, session.Opened{SessionID: o.Session})
		return err
	}
	for {
		l, err := sessions.Open(ctx, o.Session, &session.OpenOptions{Takeover: o.Takeover})
		if err == nil {
			c.log = l
			return nil
		}
		if !o.Patient || !errors.Is(err, session.ErrBusy) {
			return err
		}
		time.Sleep(5 * time.Millisecond) // retry like a user who runs the command again
	}
}
