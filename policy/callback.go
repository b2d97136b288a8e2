package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// callbackRunner calls code of the host. Whatever goes wrong there is a deny that says so.
// A call that is given up goes on in its goroutine until it returns; it cannot be
// ended from outside, and nothing that it says is heard any more.
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
		v = sane(name, got)
	}()
	select {
	case v := <-done:
		return v
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			return denied("%s did not answer within %s", name, w.timeout)
		}
		return denied("%s was not waited for: %v", name, context.Cause(ctx))
	}
}

// sane turns an answer that cannot be meant into a deny.
func sane(name string, v Verdict) Verdict {
	switch v.Effect {
	case NoOpinion, Allow, Deny, Ask:
	default:
		return denied("%s answered %q, which is no effect", name, v.Effect)
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
		return denied("%s gave a new input without allowing", name)
	case !json.Valid(v.Input) || !bytes.HasPrefix(bytes.TrimSpace(v.Input), []byte("{")):
		return denied("%s gave a new input that is not a JSON object", name)
	default:
		v.Input = bytes.Clone(v.Input)
	}
	return v
}

func denied(format string, args ...any) Verdict {
	return Verdict{Effect: Deny, Reason: fmt.Sprintf(format, args...)}
}
