package crashtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// workFault changes a session in several steps while system calls fail. It reports each error. It
// stays on one thread, so that its system calls can be counted. After a write that failed
// permanently, it checks that the store also rejects the next write, and then opens the store
// again.
func (t Task) workFault(ctx context.Context, report *Reporter) {
	runtime.LockOSThread()
	f := &faultWork{task: t, report: report, made: map[string]bool{}}
	defer f.close()
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"create", f.create},
		{"append", f.append},
		{"append", f.append},
		{"fork", f.fork},
		{"redact", f.redact},
		{"append", f.append},
		{"delete", func(ctx context.Context) error { return f.sessions.Delete(ctx, "f") }},
		{"append", f.append},
	}
	for _, s := range steps {
		for range 2 { // a second time in case the first one failed
			err := f.open()
			if err == nil {
				err = s.do(ctx)
			}
			if !f.refused(ctx, s.name, err) {
				break
			}
		}
	}
}

type faultWork struct {
	task     Task
	report   *Reporter
	store    session.Store
	sessions *session.Sessions
	later    time.Duration
	failed   string          // the last step that failed, or ""
	made     map[string]bool // the sessions whose creation was reported as successful
}

func (f *faultWork) open() error {
	if f.store != nil {
		return nil
	}
	store, err := OpenStore(f.task.Store, f.task.Dir)
	if err != nil {
		return err
	}
	// If a lease could not be released, it has expired when the store is opened again.
	f.later += time.Hour
	later := f.later
	clock := func() time.Time { return time.Now().Add(later) }
	f.store, f.sessions = store, session.New(reportingStore{reportingAppends{store, f.report, false}}, &session.Options{Clock: clock})
	return nil
}

func (f *faultWork) close() {
	if f.store != nil {
		f.refused(context.Background(), "close", CloseStore(f.store))
		f.store = nil
	}
}

// refused reports an error, and returns whether there was one.
func (f *faultWork) refused(ctx context.Context, op string, err error) bool {
	if err == nil {
		return false
	}
	kind := sentinelName(err)
	if f.follows(op, kind) {
		f.report.Event(Event{What: Refused, Session: "follows", Text: op + ": " + err.Error()})
		return true
	}
	f.failed = op
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Op == "" {
		kind = "untyped"
	} else if kind == "full" && session.Hint(err) == "" {
		f.report.Fault("%s: an error without a hint: %v", op, err)
	}
	f.report.Event(Event{What: Refused, Session: kind, Text: op + ": " + err.Error()})
	if kind == "poisoned" && op == "append" && f.store != nil {
		if again := f.append(ctx); !errors.Is(again, session.ErrPoisoned) {
			f.report.Fault("after %v the next append ended with %v", err, again)
		}
	}
	if kind == "poisoned" {
		f.close()
	}
	return true
}

// follows reports whether an error is the expected result of an earlier failure. The session was
// never created; or it was created or deleted although the first attempt failed with an unknown
// outcome; or its lease could not be released.
func (f *faultWork) follows(op, kind string) bool {
	switch kind {
	case "not found":
		return !f.made["s"] || op == "delete" && (!f.made["f"] || f.failed == "delete")
	case "exists":
		return op == "fork" && f.failed == "fork"
	case "busy":
		return op != "append" && f.failed != "" // an append acquires the lease
	}
	return false
}

func (f *faultWork) fork(ctx context.Context) error {
	_, err := f.sessions.Fork(ctx, "s", &session.ForkOptions{ID: "f"})
	f.made["f"] = err == nil || errors.Is(err, session.ErrExists)
	return err
}

func (f *faultWork) create(ctx context.Context) error {
	l, err := f.sessions.Create(ctx, session.Opened{SessionID: "s"})
	if errors.Is(err, session.ErrExists) && f.failed == "create" { // the failure happened after the append
		f.made["s"] = true
		return nil
	}
	if err != nil {
		return err
	}
	f.made["s"] = true
	return l.Close()
}

func (f *faultWork) append(ctx context.Context) (err error) {
	l, err := f.sessions.Open(ctx, "s", &session.OpenOptions{Takeover: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for n := range 2 {
		it := transcript.UserText(fmt.Sprint(n, strings.Repeat(" of many words", 300)))
		it.ID = f.sessions.NewID()
		if _, err = l.Append(ctx, session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
			return err
		}
	}
	return nil
}

func (f *faultWork) redact(ctx context.Context) error {
	_, err := f.sessions.Redact(ctx, "s", session.RedactOptions{Seqs: []int64{2}, Reason: "a test", By: "crashtest"})
	return err
}
