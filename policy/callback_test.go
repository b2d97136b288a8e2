package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// evaluate is a policy of the host.
type evaluate func(policy.Request) policy.Verdict

func (f evaluate) Evaluate(r policy.Request) policy.Verdict { return f(r) }

// Every failure of the host's code is a deny that names the failure.
func TestCallbackPanics(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func() (policy.Verdict, error)
		reason string
	}{
		{"panic", func() (policy.Verdict, error) { panic("oops") }, "panicked: oops"},
		{"nil panic", func() (policy.Verdict, error) { panic(nil) }, "panicked"},
		{"goexit", func() (policy.Verdict, error) { runtime.Goexit(); return policy.Verdict{}, nil }, "ended its goroutine"},
		{"no effect of ours", func() (policy.Verdict, error) { return policy.Verdict{Effect: "maybe"}, nil }, `"maybe"`},
		{"capital letters", func() (policy.Verdict, error) { return policy.Verdict{Effect: "Allow"}, nil }, `"Allow"`},
		{"broken input", func() (policy.Verdict, error) {
			return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(`{`)}, nil
		}, "not a JSON object"},
		{"input null", func() (policy.Verdict, error) {
			return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(`null`)}, nil
		}, "not a JSON object"},
		{"input with a question", func() (policy.Verdict, error) {
			return policy.Verdict{Effect: policy.Ask, Input: json.RawMessage(`{}`)}, nil
		}, "without allowing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, config := range map[string]policy.Config{
				"canUseTool": {CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) { return c.do() }},
				"own":        {Policies: []policy.NamedPolicy{{Name: "own", Policy: evaluate(func(policy.Request) policy.Verdict { v, _ := c.do(); return v })}}},
				"limit":      {Limits: []policy.NamedPolicy{{Name: "limit", Policy: evaluate(func(policy.Request) policy.Verdict { v, _ := c.do(); return v })}}},
			} {
				config.Mode = policy.ModeBypass
				d := judge(newGuards(t, config), edit("/p/a"))
				if d.Effect != policy.Deny || d.By != name || !strings.Contains(d.Reason, c.reason) || !strings.Contains(d.Reason, name) {
					t.Errorf("%s: %s by %s because %q, want a deny because %q", name, d.Effect, d.By, d.Reason, c.reason)
				}
			}
		})
	}
}

func TestACallbacksErrorDenies(t *testing.T) {
	g := newGuards(t, policy.Config{Mode: policy.ModeBypass, CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Allow}, errors.New("database is gone")
	}})
	if d := judge(g, edit("/p/a")); d.Effect != policy.Deny || d.Reason != "canUseTool failed: database is gone" {
		t.Errorf("%+v", d)
	}
}

func TestNoAnswerDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{0, time.Second} {
			want := timeout
			if want == 0 {
				want = 30 * time.Second
			}
			var released bool
			g := newGuards(t, policy.Config{
				Mode: policy.ModeBypass, Timeout: timeout,
				CanUseTool: func(ctx context.Context, _ policy.Request) (policy.Verdict, error) {
					<-ctx.Done()
					released = true
					return policy.Verdict{Effect: policy.Allow}, nil
				},
			})
			start := time.Now()
			d := judge(g, edit("/p/a"))
			if d.Effect != policy.Deny || d.Reason != "canUseTool did not answer within "+want.String() || time.Since(start) != want {
				t.Errorf("after %s: %+v", time.Since(start), d)
			}
			synctest.Wait()
			if !released {
				t.Error("the callback was not told that nobody waits")
			}
		}
	})
}

// A policy that ignores its context cannot be stopped; the decision does not wait for it.
func TestHangingPolicyDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		g := newGuards(t, policy.Config{Timeout: time.Minute, Policies: []policy.NamedPolicy{{Name: "slow", Policy: evaluate(func(policy.Request) policy.Verdict {
			<-release
			return policy.Verdict{Effect: policy.Allow}
		})}}})
		if d := judge(g, edit("/p/a")); d.Effect != policy.Deny || d.By != "slow" || d.Reason != "slow did not answer within 1m0s" {
			t.Errorf("%+v", d)
		}
		close(release)
		synctest.Wait()
	})
}

func TestAnInterruptEndsACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted"))
		g := newGuards(t, policy.Config{Mode: policy.ModeBypass, CanUseTool: func(ctx context.Context, _ policy.Request) (policy.Verdict, error) {
			<-ctx.Done()
			return policy.Verdict{}, ctx.Err()
		}})
		d := g.Guard("Edit").Judge(ctx, []policy.Request{edit("/p/a")}, nil)
		if d.Effect != policy.Deny || d.By != "canUseTool" {
			t.Errorf("%+v", d)
		}
	})
}

func TestSetCanUseTool(t *testing.T) {
	deny := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Deny, Reason: "no"}, nil
	}
	g := newGuards(t, policy.Config{Mode: policy.ModeBypass, CanUseTool: deny})
	child, err := g.Child("helper", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, guards := range []*policy.Guards{g, child} {
		if d := judge(guards, edit("/p/a")); d.Effect != policy.Deny {
			t.Errorf("%+v", d)
		}
	}
	g.SetCanUseTool(nil)
	for _, guards := range []*policy.Guards{g, child} {
		if d := judge(guards, edit("/p/a")); d.Effect != policy.Allow || d.By != "mode bypassPermissions" {
			t.Errorf("%+v", d)
		}
	}
}
