package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// callbackRunner calls functions of the host, with a time limit. Any failure of such a function
// results in a deny whose reason names the failure. A call that takes too long is abandoned: it
// continues in its goroutine until it returns, because Go cannot end a goroutine from outside, and
// its result is ignored.
type callbackRunner struct{ timeout time.Duration }

func (w callbackRunner) policy(ctx context.Context, n NamedPolicy, r Request) Verdict {
	return w.call(ctx, n.Name, func(context.Context) (Verdict, error) { return n.Evaluate(r), nil })
}

func (w callbackRunner) callback(ctx context.Context, f CanUseTool, r Request) Verdict {
	return w.call(ctx, callbackName, func(ctx context.Context) (Verdict, error) { return f(ctx, r) })
}

func (w callbackRunner) call(ctx context.Context, name string, f func(context.Context) (Verdict, error)) Verdict {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	done := make(chan Verdict, 1)
	go func() {
		v := denied("%s ended its goroutine", name)
		defer func() {
			if p := recover(); p != nil {
				v = denied("%s panicked: %v", name, p)
			}
			done <- v
		}()
		got, err := f(ctx)
		if err != nil {
			v = denied("%s failed: %v", name, err)
			return
		}
		v = denyInvalid(name, got)
	}()
	select {
	case v := <-done:
		return v
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			return denied("%s did not answer within %s", name, w.timeout)
		}
		return denied("the wait for %s was canceled: %v", name, context.Cause(ctx))
	}
}

// denyInvalid turns an invalid verdict into a deny.
func denyInvalid(name string, v Verdict) Verdict {
	switch v.Effect {
	case NoOpinion, Allow, Deny, Ask:
	default:
		return denied("%s returned the unknown effect %q", name, v.Effect)
	}
	if v.Effect != Allow {
		v.Updates = nil
	}
	if v.Input == nil {
		return v
	}
	switch {
	case v.Effect == Deny:
		v.Input = nil
	case v.Effect != Allow:
		return denied("%s returned a new input without allowing the call", name)
	case !json.Valid(v.Input) || !bytes.HasPrefix(bytes.TrimSpace(v.Input), []byte("{")):
		return denied("%s returned a new input that is not a JSON object", name)
	default:
		v.Input = bytes.Clone(v.Input)
	}
	return v
}

func denied(format string, args ...any) Verdict {
	return Verdict{Effect: Deny, Reason: fmt.Sprintf(format, args...)}
}
