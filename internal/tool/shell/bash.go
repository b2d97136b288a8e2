package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tool/override"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type bashInput struct {
	Command     string `json:"command" jsonschema:"The shell command to run"`
	Timeout     int64  `json:"timeout,omitempty" jsonschema:"In milliseconds; default 120000, maximum 600000"`
	Description string `json:"description,omitempty" jsonschema:"A short description of the command for the user"`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Run in the background. You are notified when the command ends. No time limit unless you set one"`

	DangerouslyDisableSandbox bool `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"Run outside the sandbox. The user must approve each call. Use it only if the task needs a command that the sandbox refused"`
}

const description = "Runs a shell command. The current directory persists between calls; variables do not. Standard input is empty, " +
	"long output is truncated in the middle, and processes left in the background are stopped when the command returns."

const sandboxDescription = " It runs in a sandbox: lines that start with \"sandbox:\" show what was refused and how the user can allow it."

func (s *Shell) newBash() (tool.Tool, error) {
	spec := tool.Spec{Name: "Bash", Description: description}
	if s.opts.Sandbox != nil {
		spec.Description += sandboxDescription
	}
	t, err := tool.New(spec, s.run, func(_ *tool.Call, in bashInput) ([]policy.Request, error) {
		if err := s.check(in); err != nil {
			return nil, err
		}
		outside, err := s.outside(in)
		if err != nil {
			return nil, err
		}
		return []policy.Request{{
			Operation: policy.OpCommand, Resource: in.Command, Cwd: s.folders.Cwd(),
			Confined: s.opts.Sandbox != nil && !outside, Unsandboxed: outside,
		}}, nil
	})
	var hidden []string
	if !s.allowsUnsandboxed() {
		hidden = append(hidden, "dangerouslyDisableSandbox")
	}
	if !s.opts.Background {
		hidden = append(hidden, "run_in_background")
	}
	if err == nil && len(hidden) > 0 {
		t, err = withoutFields(t, hidden...)
	}
	if err == nil && s.opts.Override {
		t, err = override.AllowOverride(t)
	}
	return detachableTool{t}, err
}

// detachableTool is the tool whose calls can request to run in the background.
type detachableTool struct{ tool.Tool }

func (detachableTool) Detach(c *tool.Call) time.Duration {
	var in bashInput
	if json.Unmarshal(c.Input, &in) == nil && in.Background {
		return 0
	}
	return -1
}

// Awaited is false, because a background command may be a server.
func (detachableTool) Awaited(*tool.Call) bool { return false }

// allowsUnsandboxed reports whether the model may request to run a command outside of the sandbox.
func (s *Shell) allowsUnsandboxed() bool {
	return s.opts.Sandbox != nil && s.opts.Sandbox.AllowsUnsandboxed()
}

// outside reports whether a command would run outside of an existing sandbox. The error is for the model.
func (s *Shell) outside(in bashInput) (bool, error) {
	box := s.opts.Sandbox
	switch {
	case box == nil && in.DangerouslyDisableSandbox:
		return false, errors.New("omit dangerouslyDisableSandbox: commands do not run in a sandbox")
	case box == nil:
		return false, nil
	case in.DangerouslyDisableSandbox && !s.allowsUnsandboxed():
		return false, errors.New("dangerouslyDisableSandbox: the settings do not allow commands outside the sandbox (allowUnsandboxedCommands); " +
			"run the command in the sandbox, or tell the user what it needs")
	case in.DangerouslyDisableSandbox:
		return true, nil
	}
	_, excluded := box.Excluded(in.Command, s.folders.Cwd())
	return excluded, nil
}

func (s *Shell) check(in bashInput) error {
	switch {
	case in.Background && !s.opts.Background:
		return errors.New("omit run_in_background: background tasks are not available")
	case strings.TrimSpace(in.Command) == "":
		return errors.New("command must not be empty")
	case strings.ContainsRune(in.Command, 0):
		return errors.New("command must not contain a NUL")
	case in.Timeout < 0:
		return errors.New("timeout must not be negative")
	}
	return nil
}

func (s *Shell) run(ctx context.Context, call *tool.Call, in bashInput) (tool.Result, error) {
	if err := s.check(in); err != nil {
		return tool.Failure(err.Error()), nil
	}
	limit := s.limit(in)
	outside, err := s.outside(in)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	cwd, err := s.startDir()
	if err != nil {
		return s.missingDirResult(err), nil
	}
	script, err := s.variables()
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	end, err := s.launch(ctx, call, command{program: s.program, line: in.Command, dir: cwd, variables: script, limit: limit}, outside)
	if err != nil {
		return end.startFailure(err), nil
	}
	defer end.out.close()
	note, moved := "", ""
	if end.dir != "" && end.dir != cwd && !in.Background {
		if err := s.folders.SetCwd(end.dir); err != nil {
			note = fmt.Sprintf("[%s is outside the session's folders; the current directory is still %s]", end.dir, cwd)
		} else {
			moved = s.folders.Cwd()
		}
	}
	r := end.result(limit, note)
	r.Cwd = moved
	return r, nil
}

// missingDirResult returns the result of a call whose current directory no longer exists.
func (s *Shell) missingDirResult(err error) tool.Result {
	r := tool.Failure(err.Error())
	r.Cwd = s.folders.Cwd()
	return r
}

// output returns the buffer for a call's output.
func (s *Shell) output(call *tool.Call) *output {
	out := &output{maxShown: s.opts.MaxOutput, dir: s.opts.OutputDir, maxFile: s.opts.MaxFile}
	if s.opts.StoreOutput != nil {
		out.store = func(text []byte) (*StoredOutput, error) { return s.opts.StoreOutput(call, text) }
	}
	return out
}

// launch runs a command of a call, in the sandbox if there is one. If the sandbox refuses an
// access, the user can allow it, and the command runs again. The caller closes the output of the
// result.
func (s *Shell) launch(ctx context.Context, call *tool.Call, c command, outside bool) (exitState, error) {
	c.env, c.grace = s.env, s.opts.Grace
	if s.opts.Sandbox == nil || outside {
		return s.runOnce(ctx, call, c)
	}
	c.box, c.env = s.opts.Sandbox, s.inside
	var before []string
	if box, err := c.box.Widen(s.sandboxGrants()); err == nil {
		c.box = box
	} else {
		before = append(before, "[the sandbox settings that were allowed for the session do not apply: "+err.Error()+"]")
	}
	end, err := s.runOnce(ctx, call, c)
	end.notes = before
	for asked := map[string]bool{}; err == nil; {
		again, notes := s.ask(ctx, call, c, end, asked)
		end.notes = append(end.notes, notes...)
		if again == nil {
			break
		}
		if show := s.progress(call); show != nil {
			show([]byte(again.note + "\n"))
		}
		before = append(end.notes, again.note)
		end.out.close()
		c.box = again.box
		end, err = s.runOnce(ctx, call, c)
		end.notes = before
	}
	return end, err
}

// runOnce runs a command of a call once.
func (s *Shell) runOnce(ctx context.Context, call *tool.Call, c command) (exitState, error) {
	if c.box != nil {
		c.clock = newClock()
		ctx = context.WithValue(ctx, runningCallKey{}, &runningCall{call: call, line: c.shown(), clock: c.clock})
	}
	out := s.output(call)
	end, err := c.run(ctx, out, s.progress(call))
	end.out = out
	if err != nil {
		out.close()
	}
	return end, err
}

// unlimited is longer than any background command runs.
const unlimited = 10 * 365 * 24 * time.Hour

// limit returns the time limit of a command.
func (s *Shell) limit(in bashInput) time.Duration {
	switch {
	case in.Timeout > 0 && in.Background:
		return time.Duration(min(in.Timeout, unlimited.Milliseconds())) * time.Millisecond
	case in.Timeout > 0:
		return time.Duration(min(in.Timeout, s.opts.MaxTimeout.Milliseconds())) * time.Millisecond
	case in.Background:
		return unlimited
	}
	return s.opts.Timeout
}

// progress returns the receiver of a call's output, or nil.
func (s *Shell) progress(call *tool.Call) func([]byte) {
	if s.opts.Progress == nil && call.Output == nil {
		return nil
	}
	return func(b []byte) {
		if s.opts.Progress != nil {
			s.opts.Progress(call.ID, b)
		}
		if call.Output != nil {
			_, _ = call.Output.Write(b) // a slow reader may miss output
		}
	}
}

// startDir returns the current directory. If the current directory was deleted or replaced by a
// link, the shell returns to the first folder.
func (s *Shell) startDir() (string, error) {
	cwd, root := s.folders.Cwd(), s.folders.Roots()[0]
	if cwd == root {
		return root, nil
	}
	if p, err := s.folders.Locate(cwd); err == nil && p.Abs == cwd {
		if info, err := p.Stat(); err == nil && info.IsDir() {
			return cwd, nil
		}
	}
	if err := s.folders.SetCwd(root); err != nil {
		return "", err
	}
	return "", fmt.Errorf("the current directory %s no longer exists; it is now %s. Run the command again if it may run there", cwd, root)
}

// result converts the end of a command to a result.
func (e exitState) result(limit time.Duration, notes ...string) tool.Result {
	text := e.out.text()
	r := tool.Result{ExitCode: &e.code, Notes: append(e.refused(), e.notes...)}
	notes = append(notes, r.Notes...)
	if e.leftovers {
		notes = append(notes, "[processes left in the background were stopped]")
	}
	switch {
	case e.cancelled:
		r.IsError = true
		notes = append(notes, "Command was cancelled.")
	case e.timedOut:
		r.IsError = true
		notes = append(notes, fmt.Sprintf("Command timed out after %dms.", limit.Milliseconds()))
	case e.signal != 0:
		r.IsError = true
		notes = append(notes, fmt.Sprintf("[ended by signal %d: %v]", int(e.signal), e.signal))
	case e.code != 0:
		notes = append(notes, fmt.Sprintf("Exit code: %d", e.code))
	}
	for _, n := range notes {
		if n == "" {
			continue
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += n
	}
	if text == "" {
		text = "(no output)"
	}
	r.Content = []transcript.Part{transcript.Text{Text: text}}
	return r
}

// startFailure returns the result of a command that could not be started.
func (e exitState) startFailure(err error) tool.Result {
	if e.report == nil || e.report.CouldNotStart == "" {
		return tool.Failure(fmt.Sprintf("starting the command failed: %v", syscallNames(err)))
	}
	text := "starting the command failed: " + e.report.CouldNotStart
	if e.report.Hint != "" {
		text += "\nhint: " + e.report.Hint
	}
	r := tool.Failure(text)
	r.Notes = e.refused()
	return r
}

// syscallNames removes the names of system calls from an error.
func syscallNames(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}
