package postgres

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// maxNotified bounds the sessions that one notification names, so that it stays below the
// server's 8000 bytes. More are told by the word for all.
const (
	maxNotified   = 300
	toldAll       = "*"
	notifyTimeout = time.Second
)

// notifier tells who watches, in this program at once, and in others behind the append, that
// sessions have grown. A notification inside the append's transaction would make all
// commits of the database wait for each other. One that is lost, with this program, is
// made up for by who watches: he looks from time to time.
type notifier struct {
	store   *Store
	channel string
	mu      sync.Mutex
	pending map[int64]bool
	wake    chan struct{}
	ended   chan struct{}
	done    chan struct{}
}

// channel is the name under which the stores of one schema hear of each other.
func channelOf(s *Store) string {
	var b [8]byte
	for i, key := 0, uint64(s.key("channel")); i < len(b); i++ { //nolint:gosec // any 64 bits do
		b[i] = byte(key >> (8 * i))
	}
	return "holdfast_" + hex.EncodeToString(b[:])
}

func (n *notifier) start(s *Store) {
	n.store, n.channel, n.pending = s, channelOf(s), map[int64]bool{}
	n.wake, n.ended, n.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go n.run()
}

// stop tells what is left to tell and ends.
func (n *notifier) stop() {
	close(n.ended)
	<-n.done
}

// grown is called after the log of a session has grown, or was deleted.
func (s *Store) grown(num int64) {
	s.watching.woken(num)
	n := &s.news
	n.mu.Lock()
	n.pending[num] = true
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run() {
	defer close(n.done)
	for {
		select {
		case <-n.wake:
			n.send()
		case <-n.ended:
			n.send()
			return
		}
	}
}

// send sends what is pending in one notification. An error loses it.
func (n *notifier) send() {
	n.mu.Lock()
	pending := n.pending
	n.pending = map[int64]bool{}
	n.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	text := toldAll
	if len(pending) <= maxNotified {
		var b strings.Builder
		for num := range pending {
			if b.Len() > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatInt(num, 10))
		}
		text = b.String()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.store.ctx), notifyTimeout)
	defer cancel()
	_ = n.store.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, `SELECT pg_notify($1, $2)`, n.channel, text)
		return err
	})
}
