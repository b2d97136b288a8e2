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

// recordWait bounds how long somebody waits for an access to be on record.
const recordWait = 15 * time.Second

// record puts an access on record. A client that goes away does not keep it from that.
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

// by is what an access by this caller has in common with all others.
func (c Caller) by(action string) audit.Access {
	return audit.Access{Action: action, By: c.Name, Via: c.Method, From: c.From}
}

func describeScopes(list []api.Scope) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// describe names a token in an access.
func describe(t api.Token, x audit.Access) audit.Access {
	x.Token, x.Name, x.Scopes, x.Expires = t.ID, t.Name, describeScopes(t.Scopes), t.Expires
	return x
}

// refused puts a wrong credential on record. A flood of them does not fill the disk: those
// that are too many are counted, and the next one on record says how many they were.
func (a *Auth) refused(r *http.Request, via, why string) {
	left, ok := a.refusals.allow()
	if !ok {
		return
	}
	err := a.record(r.Context(), audit.Access{Action: audit.ActionRefuse, Via: via, From: from(r), Reason: why, Omitted: left})
	if err != nil {
		a.refusals.unskip(left + 1)
		a.o.Failed(r, http.StatusInternalServerError, err.Error())
	}
}

// from is where a request comes from: an address, or the process at the other end of the socket.
func from(r *http.Request) string {
	if p := peerFrom(r); p.unix {
		return fmt.Sprintf("unix uid %d pid %d", p.uid, p.pid)
	}
	return addressOf(r).Unmap().String()
}

// How many refusals are on record one by one: some, and then one each minute.
const (
	refusalBurst = 60
	refusalEvery = time.Minute
)

// refusals bounds what refusals put on record.
type refusals struct {
	clock func() time.Time

	mu      sync.Mutex
	bucket  bucket
	skipped int
}

// allow reports whether a refusal is to be put on record, and how many before it were not.
func (f *refusals) allow() (left int, ok bool) {
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
	left, f.skipped = f.skipped, 0
	return left, true
}

// unskip counts refusals that could not be put on record.
func (f *refusals) unskip(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.skipped += n
}

// rest takes the number of refusals that have no record.
func (f *refusals) rest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := f.skipped
	f.skipped = 0
	return left
}

// LogRefused is an [Options].Failed that logs.
func LogRefused(log *slog.Logger) func(r *http.Request, status int, why string) {
	return func(r *http.Request, status int, why string) {
		level := slog.LevelWarn
		if status == http.StatusTooManyRequests { // what was too much is not logged as well
			level = slog.LevelDebug
		}
		log.Log(r.Context(), level, "refused", "status", status, "why", why, "method", r.Method, "path", Path(r), "from", r.RemoteAddr)
	}
}
