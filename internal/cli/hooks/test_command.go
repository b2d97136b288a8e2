package hooks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/hooks"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func (c *testCmd) Run(ctx context.Context, p *command.Program) error {
	event, err := hook.Event(c.Event).Canonical()
	if err != nil {
		return outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	s, err := c.Load(p, false)
	if err != nil {
		return err
	}
	in, err := c.input(ctx, p, event, s)
	if err != nil {
		return err
	}
	watch := &hookPrinter{}
	h, err := hooks.Open(&hooks.Options{Env: p.Environment(), Settings: s, Folders: hookFolders(s), NoSandbox: c.NoSandbox, Watch: watch.wrap})
	if err != nil {
		return err
	}
	defer h.Close()
	p.SettingsNotices(s)
	d := watch.fire(ctx, h.Registry, in)
	if c.JSON {
		if err := p.Out.JSON(d, p.Out.TTY); err != nil {
			return err
		}
	} else {
		if len(d.Hooks) == 0 {
			p.Err.Line("no hook ran for this %s", event)
		}
		printFired(p, &d)
	}
	if d.Outcome.Blocked {
		return command.End(outcome.Denied)
	}
	return nil
}

// input reads the input for the hooks and adds the missing fields.
func (c *testCmd) input(ctx context.Context, p *command.Program, event hook.Event, s *settings.Settings) (hook.Input, error) {
	raw := []byte("{}")
	var err error
	switch c.Input {
	case "":
	case "-":
		raw, err = io.ReadAll(io.LimitReader(p.Input(ctx), command.InputLimit))
	default:
		raw, err = os.ReadFile(c.Input)
	}
	if ctx.Err() != nil {
		return hook.Input{}, ctx.Err()
	}
	if err != nil {
		return hook.Input{}, outcome.Invalid("--input: "+err.Error(), "name a JSON file, or - for standard input")
	}
	in := hook.Input{Event: event}
	if err := in.UnmarshalJSON(raw); err != nil {
		return in, outcome.Invalid("--input: "+err.Error(), cmp.Or(outcome.Hint(err), `use a form such as {"tool_name": "Bash", "tool_input": {"command": "ls"}}`))
	}
	if in.CWD == "" {
		in.CWD = s.Cwd()
	}
	if !filepath.IsAbs(in.CWD) {
		return in, outcome.Invalid(fmt.Sprintf("--input: cwd %q is not absolute", in.CWD), "")
	}
	if in.SessionID == "" {
		in.SessionID = "test"
	}
	if in.PermissionMode == "" {
		in.PermissionMode = cmp.Or(string(s.Mode.Value), "default")
	}
	return addRequests(p, in), nil
}

// addRequests adds the files and hosts that the call would access, so that the "if" conditions of
// hooks can be checked. If the files and hosts cannot be determined, hooks with such conditions
// run.
func addRequests(p *command.Program, in hook.Input) hook.Input {
	if in.Tool.Name == "" {
		return in
	}
	call := policycheck.Call{Tool: in.Tool.Name, Input: in.Tool.Input, Cwd: in.CWD, Home: p.UserHome(), Search: p.Getenv(tools.EnvSearchURL)}
	if requests, err := call.Requests(); err == nil {
		in.Tool.Requests = requests
	}
	return in
}

// hookFolders returns the folders of a session that exist.
func hookFolders(s *settings.Settings) []string {
	list := []string{s.Cwd()}
	for _, f := range s.Folders {
		list = append(list, f.Value)
	}
	return slices.DeleteFunc(list, func(dir string) bool {
		info, err := os.Stat(dir)
		return err != nil || !info.IsDir()
	})
}
