package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/audit"
)

// recordWait is the longest time that a request waits until an access is recorded.
const recordWait = 15 * time.Second

// record records an access. It does so even if the client disconnects meanwhile.
func (a *Auth) record(ctx context.Context, x audit.Access) error {
	if a.o.Record == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err := a.o.Record(ctx, x); err != nil {
		return &Error{ErrUnrecorded, fmt.Sprintf("the audit log cannot be written (%v)", err), "run holdfast audit verify --access, and check the disk"}
	}
	return nil
}

// access returns an access entry with the fields that describe the caller.
func (c Caller) access(action string) audit.Access {
	return audit.Access{Action: action, By: c.Name, Via: c.Method, From: c.From}
}

func describeScopes(list []api.Scope) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// describe adds the id, name, scopes and expiry of a token to an access.
func describe(t api.Token, x audit.Access) audit.Access {
	x.Token, x.Name, x.Scopes, x.Expires = t.ID, t.Name, describeScopes(t.Scopes), t.Expires
	return x
}

// recordRefusal records a wrong credential. Many wrong credentials must not fill the disk. So those above
// a limit are only counted, and the next one that is recorded contains their number.
func (a *Auth) recordRefusal(r *http.Request, via, reason string) {
	omitted, ok := a.refusals.allow()
	if !ok {
		return
	}
	err := a.record(r.Context(), audit.Access{Action: audit.ActionRefuse, Via: via, From: originOf(r), Reason: reason, Omitted: omitted})
	if err != nil {
		a.refusals.restore(omitted + 1)
		a.o.Failed(r, http.StatusInternalServerError, err.Error())
	}
}

// originOf returns the origin of a request: an address, or the process at the other end of the unix
// socket.
func originOf(r *http.Request) string {
	if p := peerFrom(r); p.unix {
		return fmt.Sprintf("unix uid %d pid %d", p.uid, p.pid)
	}
	return addressOf(r).Unmap().String()
}

// These limit how many rejections are recorded one by one: a burst, and then one per minute.
const (
	refusalBurst = 60
	refusalEvery = time.Minute
)

// refusals limits how many rejections are recorded.
type refusals struct {
	clock func() time.Time

	mu      sync.Mutex
	bucket  bucket
	skipped int
}

// allow reports whether a rejection is to be recorded. It also returns how many earlier rejections
// were omitted.
func (f *refusals) allow() (omitted int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bucket.at.IsZero() {
		f.bucket = bucket{refusalBurst, f.clock()}
	}
	f.bucket = f.bucket.refill(f.clock(), refusalBurst, refusalEvery)
	if f.bucket.left < 1 {
		f.skipped++
		return 0, false
	}
	f.bucket.left--
	omitted, f.skipped = f.skipped, 0
	return omitted, true
}

// restore adds to the count the rejections that could not be recorded.
func (f *refusals) restore(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.skipped += n
}

// takeSkipped returns the number of rejections that were not recorded, and resets that number.
func (f *refusals) takeSkipped() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	omitted := f.skipped
	f.skipped = 0
	return omitted
}

// LogRefused returns a function for Options.Failed that logs rejections.
func LogRefused(log *slog.Logger) func(r *http.Request, status int, reason string) {
	return func(r *http.Request, status int, reason string) {
		level := slog.LevelWarn
		if status == http.StatusTooManyRequests { // so that rejections above the limit do not fill the log
			level = slog.LevelDebug
		}
		log.Log(r.Context(), level, "refused", "status", status, "why", reason, "method", r.Method, "path", Path(r), "from", r.RemoteAddr)
	}
}
