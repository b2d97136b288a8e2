package chat

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/wait"
)

// history is how many records before the head of a session are shown.
const history = 200

// How long a lost daemon may take to come back before a new one is started.
const (
	returnTime  = time.Second
	returnPause = 20 * time.Millisecond
)

// Events yields the last records of the session, and then live events until ctx ends. If the daemon
// is killed, the event Lost follows, a daemon is started if none comes back, and the events continue
// after the last record. The session must have an id.
func (s *Session) Events(ctx context.Context) iter.Seq2[*client.Event, error] {
	return func(yield func(*client.Event, error) bool) {
		id, after := s.ID(), max(0, s.About().Head-history)
		for {
			again, c := false, s.Client()
			for e, err := range c.Events(ctx, id, after) {
				if !yield(e, err) || err != nil {
					return
				}
				after = max(after, e.Seq)
				if !e.Lost {
					continue
				}
				if s.reconnect(ctx) != nil {
					continue // the client tries again, and reports Lost again
				}
				if again = s.Client() != c; again { // a server with another socket
					break
				}
			}
			if !again || !yield(&client.Event{Gap: true, Seq: after}, nil) {
				return
			}
		}
	}
}

// call calls the daemon. If it is gone, a new one is found or started, and the call is repeated:
// nothing had reached the old one.
func (s *Session) call(ctx context.Context, do func(*client.Client) error) error {
	err := do(s.Client())
	if !isGone(err) || s.reconnect(ctx) != nil {
		return err
	}
	return do(s.Client())
}

// isGone reports whether no daemon listens.
func isGone(err error) bool {
	return errors.Is(err, client.ErrNoDaemon) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// reconnect waits until a daemon answers, and starts one if none comes back. The connection stays
// the same if the new daemon has the socket of the old one.
func (s *Session) reconnect(ctx context.Context) error {
	s.repair.Lock()
	defer s.repair.Unlock()
	s.mu.Lock()
	old := s.conn
	s.mu.Unlock()
	if !old.Daemon { // the server is in this process and has failed
		return errors.New("the server in this process has ended")
	}
	deadline := time.Now().Add(returnTime)
	for {
		if _, err := old.Health(ctx); err == nil {
			return nil
		} else if !isGone(err) && !isLost(err) {
			return err
		}
		if time.Now().After(deadline) {
			break
		}
		if err := wait.Cause(ctx, returnPause); err != nil {
			return err
		}
	}
	conn, err := dial.Open(ctx, s.p, s.options)
	if err != nil {
		return err
	}
	if conn.Daemon && conn.Address() == old.Address() {
		return conn.Close()
	}
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	return old.Close()
}

func isLost(err error) bool {
	_, lost := errors.AsType[*client.Error](err)
	return lost
}

// Blocks returns what there is of another session, such as that of a sub-agent.
func (s *Session) Blocks(ctx context.Context, id string) (list []*conversation.Block, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := conversation.New(&conversation.Options{Cwd: s.at().cwd})
	for e, err := range s.Client().Events(ctx, id, 0) {
		if err != nil {
			return list, err
		}
		for _, u := range c.Apply(e) {
			if u.Block != nil {
				list = append(list, u.Block)
			}
		}
		if e.CaughtUp {
			return list, nil
		}
	}
	return list, nil
}
