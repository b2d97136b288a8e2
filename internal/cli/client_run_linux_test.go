package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A program joins a run that waits for an approval, answers it, and sends more input; another one watches.
func TestJoinRun(t *testing.T) {
	dir := shortDir(t)
	play := `steps:
  - {when: {after: second}, text: the third}
  - {name: second, when: {user: more}, text: the second}
  - {when: {user: go}, tool_uses: [{id: u1, tool: Bash, input: {command: touch made}}]}
  - {text: the first}
`
	write(t, dir, "play.yaml", play)
	env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
	d, _ := serve(t, dir, env)
	ctx := t.Context()
	run, err := d.Start(ctx, runspec.Spec{Cwd: dir, Prompt: "go", Model: "scripted/" + dir + "/play.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { r, err := d.Run(ctx, run.ID()); return err == nil && r.Status == api.StatusWaiting })

	joined, err := d.Attach(ctx, run.ID())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	joined.SetAsker(func(_ context.Context, q approval.Request) (approval.Answer, error) {
		asked++
		return approval.Answer{Decision: approval.Allow}, nil
	})
	if res, err := joined.Wait(ctx); err != nil || asked != 1 || !made(dir) || res.Text != "the first" {
		t.Errorf("asked %d times, the command ran: %v: %+v: %v", asked, made(dir), res, err)
	}
	if res, err := run.Wait(ctx); err != nil || res.Text != "the first" {
		t.Errorf("%+v: %v", res, err)
	}
	if err := run.Send(ctx, transcript.Text{Text: "more"}); err != nil {
		t.Fatal(err)
	}
	if res, err := run.Wait(ctx); err != nil || res.Text != "the second" {
		t.Errorf("%+v: %v", res, err)
	}
	if _, err := run.Change(ctx, policy.Change{Grant: &policy.Grant{}}); err == nil {
		t.Error("a change that a daemon does not take is lost")
	}
	if err := run.Stop(ctx); err != nil {
		t.Errorf("what has ended is stopped: %v", err)
	}
	if _, err := d.Attach(ctx, "nowhere"); err == nil {
		t.Error("there is no such run")
	}
}

// A program that leaves an approval request open leaves the run waiting; one whose callback fails denies.
func TestAnswerWith(t *testing.T) {
	failed := errors.New("the desk is closed")
	for name, tt := range map[string]struct {
		err    error
		status api.RunStatus
	}{"leave": {approval.ErrSuspend, api.StatusWaiting}, "fail": {failed, api.StatusCompleted}} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, oneCommand)
			env = withShortHome(t, env)
			d, _ := serve(t, dir, env)
			run, err := d.Prepare(t.Context(), runspec.Spec{Cwd: dir, Prompt: "go"}, env)
			if err != nil {
				t.Fatal(err)
			}
			run.SetAsker(func(context.Context, approval.Request) (approval.Answer, error) { return approval.Answer{}, tt.err })
			var resolved []approval.Answer
			var last error
			for e, err := range run.Events(t.Context(), 0) {
				if r, ok := e.Event.(event.ApprovalResolved); ok {
					resolved = append(resolved, r.Answer)
				}
				last = err
			}
			if left := errors.Is(last, approval.ErrSuspend); left != (tt.err == approval.ErrSuspend) {
				t.Errorf("it ends with %v", last)
			}
			if tt.err == failed && (len(resolved) != 1 || resolved[0].Decision != approval.Deny || resolved[0].Message != failed.Error()) {
				t.Errorf("%+v", resolved)
			}
			if r, err := d.Run(t.Context(), run.ID()); err != nil || r.Status != tt.status || made(dir) {
				t.Errorf("%+v: %v; the command ran: %v", r, err, made(dir))
			}
		})
	}
}

// A run that is prepared and interrupted before its events are read never starts.
func TestInterruptPreparedRun(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	env = withShortHome(t, env)
	d, _ := serve(t, dir, env)
	run, err := d.Prepare(t.Context(), runspec.Spec{Cwd: dir, Prompt: "go"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
	if p, err := d.Runs(t.Context(), client.ListOptions{}); err != nil || len(p.Items) != 0 {
		t.Errorf("%+v: %v", p, err)
	}
}
