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
	ID      string `json:"task_id,omitempty" jsonschema:"The id of the task. Omit it to list all tasks."`
	Block   bool   `json:"block,omitempty" jsonschema:"Wait until the task ends"`
	Timeout int64  `json:"timeout,omitempty" jsonschema:"Maximum wait in milliseconds (default 30000, maximum 600000)"`
}

type taskStopInput struct {
	ID string `json:"task_id" jsonschema:"The id of the task"`
}

const (
	defaultWait = 30 * time.Second
	longestWait = 10 * time.Minute
)

// Tools returns the tools TaskOutput and TaskStop, with which a model manages its background tasks.
func (b *Background) Tools() ([]tool.Tool, error) {
	harmless := func(name string) []policy.Request { return []policy.Request{{Resource: name, ReadOnly: true}} }
	look, err := tool.New(
		tool.Spec{Name: "TaskOutput", Description: "Shows the state of a background task and its output since your last call.", ReadOnly: true},
		func(ctx context.Context, _ *tool.Call, in taskOutputInput) (tool.Result, error) {
			return b.taskOutput(ctx, in)
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
		tool.Spec{Name: "TaskStop", Description: "Stops a background task."},
		func(ctx context.Context, _ *tool.Call, in taskStopInput) (tool.Result, error) {
			if err := b.Stop(ctx, in.ID); err != nil {
				return b.unknownTask(in.ID, err)
			}
			return tool.Text("The task " + in.ID + " has stopped."), nil
		},
		func(*tool.Call, taskStopInput) ([]policy.Request, error) { return harmless("TaskStop"), nil })
	return []tool.Tool{look, stop}, err
}

func (b *Background) taskOutput(ctx context.Context, in taskOutputInput) (tool.Result, error) {
	if in.ID == "" {
		var lines []string
		for _, t := range b.List() {
			lines = append(lines, t.line(b.now()))
		}
		if len(lines) == 0 {
			lines = []string{"There are no background tasks."}
		}
		return tool.Text(strings.Join(lines, "\n")), nil
	}
	if in.Block {
		patience := defaultWait
		if in.Timeout > 0 {
			patience = min(time.Duration(in.Timeout)*time.Millisecond, longestWait)
		}
		wait, done := context.WithTimeout(ctx, patience)
		defer done()
		if err := b.Wait(wait, in.ID); err != nil && wait.Err() == nil {
			return b.unknownTask(in.ID, err)
		}
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
	}
	about, text, lost, err := b.Output(in.ID)
	if err != nil {
		return b.unknownTask(in.ID, err)
	}
	out := tool.Text(about.line(b.now()))
	if lost > 0 {
		out.Content = append(out.Content, transcript.Text{Text: fmt.Sprintf("[%d earlier bytes were dropped]", lost)})
	}
	if len(text) > 0 {
		out.Content = append(out.Content, transcript.Text{Text: strings.ToValidUTF8(string(text), "\uFFFD")})
	}
	return out, nil
}

// unknownTask is the result for an unknown task.
func (b *Background) unknownTask(id string, err error) (tool.Result, error) {
	if !errors.Is(err, errNoTask) {
		return tool.Result{}, err
	}
	var ids []string
	for _, t := range b.List() {
		ids = append(ids, t.UseID)
	}
	text := fmt.Sprintf("unknown background task %q", id)
	if len(ids) > 0 {
		text += "; tasks: " + strings.Join(ids, ", ")
	}
	return tool.Failure(text), nil
}

// line describes the state of a task.
func (t BackgroundTask) line(now time.Time) string {
	how := fmt.Sprintf("running for %s", now.Sub(t.StartedAt).Round(time.Second))
	switch {
	case !t.Running && t.Stopped:
		how = "stopped"
	case !t.Running && t.Result != nil && t.Result.IsError:
		how = "failed"
	case !t.Running:
		how = "completed"
	}
	return fmt.Sprintf("%s (%s) %s", t.UseID, t.Tool, how)
}
