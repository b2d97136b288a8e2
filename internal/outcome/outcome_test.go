package outcome

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Codes are unique, ordered and complete: a script can rely on each of them.
func TestTable(t *testing.T) {
	codes, last := map[string]bool{}, -1
	for _, o := range All() {
		if codes[o.Code] {
			t.Errorf("code %q appears twice", o.Code)
		}
		codes[o.Code] = true
		if o.Exit <= last {
			t.Errorf("%s: exit code %d does not follow %d", o.Code, o.Exit, last)
		}
		last = o.Exit
		if o.Status < 200 || o.Status > 599 || o.Meaning == "" {
			t.Errorf("%+v is incomplete", o)
		}
	}
}

type coded struct{}

func (coded) Error() string    { return "coded" }
func (coded) Outcome() Outcome { return Sandbox }

func TestFromError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Outcome
	}{
		{nil, OK},
		{errors.New("anything"), Failed},
		{&session.BusyError{Session: "s"}, Busy},
		{&session.Error{Op: "append", Err: session.ErrFenced}, Busy},
		{&session.Error{Op: "append", Err: session.ErrConflict}, Busy},
		{&session.Error{Op: "renew", Err: session.ErrLeaseLost}, Unavailable},
		{fmt.Errorf("open: %w", session.ErrCorrupt), Corrupt},
		{session.ErrNewer, Corrupt},
		{session.ErrNotFound, NotFound},
		{session.CheckID("../x"), Usage},
		{session.ErrInvalid, Usage},
		{session.ErrExists, Usage},
		{session.ErrUnsupported, Usage},
		{session.ErrFull, Failed},
		{session.ErrReadOnly, Failed},
		{session.ErrPoisoned, Failed},
		{agent.ErrApprovalPending, Approval},
		{agent.ErrNoInput, Usage},
		{&settings.Error{Problems: []settings.Problem{{Detail: "x"}}}, Usage},
		{fmt.Errorf("settings: %w", policy.ErrInvalid), Usage},
		{policy.ErrStale, Busy},
		{fmt.Errorf("agent: %w", approval.ErrSuspend), Approval},
		{&approval.AnsweredError{}, Approval},
		{approval.ErrExpired, Approval},
		{approval.ErrNoRequest, NotFound},
		{approval.ErrInvalid, Usage},
		{policy.ErrUnknownGrant, NotFound},
		{context.Canceled, Interrupted},
		{fmt.Errorf("wrapped: %w", coded{}), Sandbox},
		{&model.Error{Kind: model.ErrorAuth}, Failed},
	} {
		if got := FromError(tt.err); got != tt.want {
			t.Errorf("Of(%v) = %s, want %s", tt.err, got.Code, tt.want.Code)
		}
	}
}

func TestFromResult(t *testing.T) {
	for reason, want := range map[event.Reason]Outcome{
		event.ReasonCompleted: OK, event.ReasonMaxTurns: Limit, event.ReasonBudget: Limit,
		event.ReasonHook: Denied, event.ReasonDeferred: Approval,
		event.ReasonInterrupted: Interrupted, event.ReasonRefused: Failed, event.ReasonFailed: Failed,
	} {
		if got := FromResult(&event.Result{Reason: reason}); got != want {
			t.Errorf("OfResult(%s) = %s, want %s", reason, got.Code, want.Code)
		}
	}
}

type hinted struct{}

func (hinted) Error() string { return "hinted" }
func (hinted) Hint() string  { return "do this" }

// Every failure that the user can fix has a hint.
func TestHint(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("anything"), ""},
		{fmt.Errorf("open: %w", hinted{}), "do this"},
		{&session.Error{Op: "open", Err: session.ErrFull, Hint: "its own"}, "its own"},
		{&session.Error{Op: "open", Err: session.ErrFull}, "holdfast doctor"},
		{&session.BusyError{Session: "s"}, "wait until it ends, or take it over: holdfast run --takeover --resume s"},
		{session.ErrCorrupt, "find the damaged records: holdfast sessions verify --all"},
		{session.ErrFenced, "see who has it open: holdfast sessions list"},
		{session.ErrReadOnly, "holdfast doctor"},
		{session.ErrNewer, "install a newer holdfast; holdfast version prints the current one"},
		{&fs.PathError{Op: "mkdir", Path: "/home/me/.holdfast", Err: syscall.EROFS}, "the disk of /home/me is read-only: mount it writable or, if it is your home, set HOLDFAST_HOME to a writable folder"},
		{fmt.Errorf("x: %w", &fs.PathError{Op: "write", Path: "/d/f", Err: syscall.ENOSPC}), "free space on the disk of /d"},
		{&model.Error{Kind: model.ErrorAuth, Provider: "anthropic"}, "holdfast login anthropic, or set ANTHROPIC_API_KEY"},
		{&model.Error{Kind: model.ErrorAuth, Provider: "openai"}, "holdfast login openai, or set OPENAI_API_KEY"},
		{&model.Error{Kind: model.ErrorAuth, Provider: "openai", Status: 401}, "check that the key is complete and belongs to this provider: holdfast login openai, or set OPENAI_API_KEY"},
		{&model.Error{Kind: model.ErrorAuth, Provider: "openai", Status: 403}, "the key is valid but not permitted to do this; check its permissions at the provider"},
		{&model.Error{Kind: model.ErrorAuth, Provider: "openai", Status: 429}, "the account has no credit left: check the billing page of the provider"},
		{&model.Error{Kind: model.ErrorAuth, Provider: "scripted"}, ""},
		{&model.Error{Kind: model.ErrorNetwork}, "check the connection: holdfast doctor --net"},
		{&model.Error{Kind: model.ErrorNotFound}, "check the model name in --model and the URL in --base-url"},
		{&model.Error{Kind: model.ErrorRateLimit}, `resume later with: holdfast run -c "continue"`},
	} {
		if got := Hint(tt.err); got != tt.want {
			t.Errorf("Hint(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// The error that a client reads has the outcome and the hint of the original.
func TestExplain(t *testing.T) {
	for _, err := range []error{
		&model.Error{Kind: model.ErrorAuth, Provider: "anthropic"}, &session.BusyError{Session: "s"}, coded{}, &event.Error{HookEvent: "Stop", Hook: "h", HookReason: "r"},
		fmt.Errorf("agent: %w", approval.ErrSuspend), errors.New("anything"),
	} {
		sent := Explain(event.TurnFinished{Err: err})
		b, failed := event.Marshal(sent)
		if failed != nil {
			t.Fatal(failed)
		}
		e, failed := event.Unmarshal(b)
		if failed != nil {
			t.Fatal(failed)
		}
		got := event.Err(e)
		if got.Error() != err.Error() || FromError(got) != FromError(err) || Hint(got) != Hint(err) && FromError(err) != Denied {
			t.Errorf("%v came as %v: %v, %q", err, got, FromError(got), Hint(got))
		}
	}
	if e := Explain(event.Notice{Text: "n"}); e != (event.Notice{Text: "n"}) {
		t.Errorf("%v", e)
	}
	if got := FromError(&event.Error{Code: "of a later version"}); got != Failed {
		t.Errorf("an unknown code is %v", got)
	}
}
