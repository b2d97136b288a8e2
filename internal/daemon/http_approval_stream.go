package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/session"
)

// pollEvery is how often the board looks for requests and answers of other processes.
const pollEvery = 250 * time.Millisecond

// approvalBoard is the list of pending approvals that its subscribers receive. As long as there are
// subscribers, one goroutine updates the list for all of them.
type approvalBoard struct {
	mu          sync.Mutex
	watchers    int
	unwatch     context.CancelFunc
	frame       []byte        // the list as an event; nil: the list was not read yet
	changed     chan struct{} // closed when there is a new frame or a lasting failure
	failedSince time.Time     // time of the first failed update; zero if updates succeed
	err         error         // the failure
	patience    time.Duration // how long updates may fail before subscribers are notified
}

// boardTimeout is the default for a board's patience.
const boardTimeout = 10 * time.Second

// setResult stores whether the last update failed; a nil error means that it succeeded.
func (b *approvalBoard) setResult(ctx context.Context, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err == nil:
		b.failedSince, b.err = time.Time{}, nil
	case b.err == nil:
		b.failedSince, b.err = time.Now(), err
	case time.Since(b.failedSince) >= b.patience:
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

// staleReason returns why the list may be outdated. The result lasting reports whether the list has
// been outdated for a while.
func (b *approvalBoard) staleReason() (err error, lasting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err, b.err != nil && time.Since(b.failedSince) >= b.patience
}

// joinBoard adds a subscriber; done removes it.
func (a *service) joinBoard() (done func()) {
	b := &a.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers++; b.watchers == 1 && a.live.Err() == nil {
		ctx, cancel := context.WithCancel(retry.Within(a.live, storeTimeout))
		b.unwatch, b.frame, b.changed, b.failedSince, b.err = cancel, nil, make(chan struct{}), time.Time{}, nil
		a.boardUpdates.Go(func() { a.watchApprovals(ctx) })
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.watchers--; b.watchers == 0 && b.unwatch != nil {
			b.unwatch()
		}
	}
}

// publish publishes a new frame. If the watch has ended, its frame is dropped.
func (b *approvalBoard) publish(ctx context.Context, frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil || slices.Equal(b.frame, frame) {
		return
	}
	b.frame = frame
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *approvalBoard) current() (frame []byte, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.frame, b.changed
}

// watchApprovals updates the board when the list changes. It reads the approvals only if a session
// with pending ones has changed, or if one has expired.
func (a *service) watchApprovals(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last, until := "-", time.Time{}
	for {
		mark, err := a.approvalsVersion(ctx)
		due := !until.IsZero() && !a.o.Sessions.Now().Before(until)
		if err == nil && (mark != last || due) {
			var list []api.Approval
			if list, err = a.pendingApprovals(ctx, ""); err == nil {
				slices.SortStableFunc(list, func(x, y api.Approval) int { return x.AskedAt.Compare(y.AskedAt) })
				last, until = mark, firstExpiry(list)
				if data, err := jsonscan.Marshal(api.Page[api.Approval]{Items: list}); err == nil {
					a.board.publish(ctx, encodeEvent("approvals", "", data))
				}
			}
		}
		a.board.setResult(ctx, err)
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot list the pending approvals", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// approvalsVersion returns a value that changes when the list of pending approvals may have changed.
func (a *service) approvalsVersion(ctx context.Context) (string, error) {
	page, err := a.o.Sessions.List(ctx, session.Query{WithApprovals: true, Worktrees: true})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range page.Sessions {
		fmt.Fprintf(&b, "%s %s\n", m.ID, m.HeadDigest)
	}
	return b.String(), nil
}

func firstExpiry(list []api.Approval) time.Time {
	var first time.Time
	for _, q := range list {
		if q.Expires != nil && (first.IsZero() || q.Expires.Before(first)) {
			first = *q.Expires
		}
	}
	return first
}

// streamApprovals sends the complete list of pending approvals whenever it changes. If the list
// cannot be read for a while, the stream ends.
func (a *service) streamApprovals(c *call) error {
	if _, err := a.approvalsVersion(c.ctx()); err != nil {
		return err
	}
	return a.startStream(c, func(ctx context.Context, s *sse) error {
		defer a.joinBoard()()
		beat := time.NewTicker(heartbeat)
		defer beat.Stop()
		for {
			frame, changed := a.board.current()
			if err, lasting := a.board.staleReason(); lasting {
				return err
			}
			if frame != nil {
				if err := s.write(frame, true); err != nil {
					return err
				}
			}
			for again := true; again; {
				select {
				case <-changed:
					again = false
				case <-beat.C:
					if err, _ := a.board.staleReason(); err != nil {
						return err
					}
					if err := s.write([]byte(": \n\n"), true); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	})
}
