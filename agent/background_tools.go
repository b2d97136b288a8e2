package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type taskOutputInput struct {
	ID      string `json:"task_id,omitempty" jsonschema:"The task; without it all tasks are listed"`
	Block   bool   `json:"block,omitempty" jsonschema:"Wait until it has ended"`
	Timeout int64  `json:"timeout,omitempty" jsonschema:"How long to wait, in milliseconds: 30000 if not given and at most 600000"`
}

type taskStopInput struct {
	ID string `json:"task_id" jsonschema:"The task"`
}

const (
	usualWait   = 30 * time.Second
	longestWait = 10 * time.Minute
)

// Tools are TaskOutput and TaskStop, with which a model looks after what it has in the
// background.
func (b *Background) Tools() ([]tool.Tool, error) {
	harmless := func(name string) []policy.Request { return []policy.Request{{Resource: name, ReadOnly: true}} }
	look, err := tool.New(
		tool.Spec{Name: "TaskOutput", Description: "Shows how a task in the background is doing, and what it has written since you last looked.", ReadOnly: true},
		func(ctx context.Context, _ *tool.Call, in taskOutputInput) (tool.Result, error) {
			return b.look(ctx, in)
		},
		func(_ *tool.Call, in taskOutputInput) ([]policy.Request, error) {
			if in.Timeout < 0 {
				return nil, errors.New("timeout must not be negative")
			}
			return harmless("TaskOutput"), nil
		})
	if err != nil {
		return nil, err
	}
	stop, err := tool.New(
		tool.Spec{Name: "TaskStop", Description: "Ends a task in the background."},
		func(ctx context.Context, _ *tool.Call, in taskStopInput) (tool.Result, error) {
			if err := b.Stop(ctx, in.ID); err != nil {
				return b.unknown(in.ID, err)
			}
			return tool.Text("The task " + in.ID + " has ended."), nil
		},
		func(*tool.Call, taskStopInput) ([]policy.Request, error) { return harmless("TaskStop"), nil })
	return []tool.Tool{look, stop}, err
}

func (b *Background) look(ctx context.Context, in taskOutputInput) (tool.Result, error) {
	if in.ID == "" {
		var lines []string
		for _, t := range b.List() {
			lines = append(lines, t.line(b.now()))
		}
		if len(lines) == 0 {
			lines = []string{"Nothing runs in the background."}
		}
		return tool.Text(strings.Join(lines, "\n")), nil
	}
	if in.Block {
		patience := usualWait
		if in.Timeout > 0 {
			patience = min(time.Duration(in.Timeout)*time.Millisecond, longestWait)
		}
		wait, done := context.WithTimeout(ctx, patience)
		defer done()
		if err := b.Wait(wait, in.ID); err != nil && wait.Err() == nil {
			return b.unknown(in.ID, err)
		}
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
	}
	about, text, lost, err := b.Output(in.ID)
	if err != nil {
		return b.unknown(in.ID, err)
	}
	out := tool.Text(about.line(b.now()))
	if lost > 0 {
		out.Content = append(out.Content, transcript.Text{Text: fmt.Sprintf("[%d bytes before this are not kept]", lost)})
	}
	if len(text) > 0 {
		out.Content = append(out.Content, transcript.Text{Text: strings.ToValidUTF8(string(text), "\uFFFD")})
	}
	return out, nil
}

// unknown answers a call about a task that is not there.
func (b *Background) unknown(id string, err error) (tool.Result, error) {
	if !errors.Is(err, errNoTask) {
		return tool.Result{}, err
	}
	var ids []string
	for _, t := range b.List() {
		ids = append(ids, t.UseID)
	}
	text := fmt.Sprintf("there is no task %q in the background", id)
	if len(ids) > 0 {
		text += "; there are " + strings.Join(ids, ", ")
	}
	return tool.Failure(text), nil
}

// line says how a task is doing.
func (t BackgroundTask) line(now time.Time) string {
	how := fmt.Sprintf("has run for %s", now.Sub(t.StartedAt).Round(time.Second))
	switch {
	case !t.Running && t.Stopped:
		how = "was stopped"
	case !t.Running && t.Result != nil && t.Result.IsError:
		how = "has failed"
	case !t.Running:
		how = "has ended"
	}
	return fmt.Sprintf("%s (%s) %s", t.UseID, t.Tool, how)
}
