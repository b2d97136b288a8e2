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

// maxNotified is the maximum number of sessions in one notification, which keeps it below the
// server's limit of 8000 bytes. If more sessions changed, the notification stands for all sessions.
const (
	maxNotified   = 300
	notifyAll     = "*"
	notifyTimeout = time.Second
)

// notifier wakes the watchers of sessions whose logs have grown. Watchers in this program are woken
// at once, and those in other programs by a notification after the append. A notification inside
// the append's transaction would serialize all commits of the database. If a notification is lost
// because this program ends, watchers find the change when they poll.
type notifier struct {
	store   *Store
	channel string
	mu      sync.Mutex
	pending map[int64]bool
	wake    chan struct{}
	ended   chan struct{}
	done    chan struct{}
}

// channelOf returns the notification channel of all stores of one schema.
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

// stop sends the pending notifications and ends.
func (n *notifier) stop() {
	close(n.ended)
	<-n.done
}

// grown is called after a log has grown or was deleted.
func (s *Store) grown(num int64) {
	s.watching.wake(num)
	n := &s.notifier
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

// send sends the pending sessions in one notification. An error loses it.
func (n *notifier) send() {
	n.mu.Lock()
	pending := n.pending
	n.pending = map[int64]bool{}
	n.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	text := notifyAll
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
