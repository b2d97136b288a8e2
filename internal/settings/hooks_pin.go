package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/hook"
)

// pinnedRunner runs hooks only as they were when the settings were loaded.
type pinnedRunner struct {
	hook.Runner
	s       *Settings
	project string
}

// PinHooks returns a runner that does not run a hook of the folder if it, or a file that it names,
// has changed since the settings were loaded: an agent must not be able to create a hook or
// overwrite a guard. If the hook is for an event that guards (see [hook.Event.Guards]), it then
// blocks. For hooks from outside the folder, this applies only to hooks that guard or that run
// without a sandbox.
func (s *Settings) PinHooks(r hook.Runner) hook.Runner { return &pinnedRunner{r, s, s.Project} }

// Close closes the runner if it has a Close method.
func (p *pinnedRunner) Close() error {
	if c, ok := p.Runner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Run implements hook.Runner.
func (p *pinnedRunner) Run(ctx context.Context, d *hook.Definition, in *hook.Input) (hook.RunResult, error) {
	guards := d.Event.Guards()
	var err error
	switch {
	case isFolderLayer(d.Origin.Layer):
		err = p.checkUnchanged(d, cmp.Or(in.Dir, in.CWD))
	case guards || d.Type() == "command" && d.Sandbox == "off":
		err = p.checkUnedited(d)
	}
	if err == nil {
		complete := *d // a registry fills in defaults
		if i := slices.IndexFunc(p.s.Hooks, func(h Hook) bool { return h.Digest == d.Digest && h.Origin == d.Origin }); i >= 0 {
			complete.Sandbox = p.s.HookAccess(&p.s.Hooks[i].Definition)
		}
		return p.Runner.Run(ctx, &complete, in)
	}
	if guards {
		return hook.RunResult{Output: &hook.Output{Block: true, Reason: HookName(d) + ": " + err.Error()}}, nil
	}
	return hook.RunResult{}, err
}

// checkUnedited returns an error if a hook that needs no trust differs from what was loaded.
func (p *pinnedRunner) checkUnedited(d *hook.Definition) error {
	now := *d
	if err := now.ComputeDigest(p.project); err != nil {
		return err
	}
	if now.Digest != d.Digest {
		return errors.New("a project file that the hook runs changed during the run; hint: review it, then start a new run")
	}
	return nil
}

// checkUnchanged returns an error if a hook differs from what was trusted.
func (p *pinnedRunner) checkUnchanged(d *hook.Definition, cwd string) error {
	now, elsewhere := *d, *d
	if err := now.ComputeDigest(p.project); err != nil {
		return err
	}
	if now.Digest != d.Digest {
		return fmt.Errorf("a file that the hook runs has changed since it was trusted; hint: review it, then run: holdfast trust --hooks-only %s", quote(p.project))
	}
	if cwd == "" || cwd == p.project {
		return nil
	}
	// Relative names in the command may refer to different files, depending on the folder in which
	// the hook starts. Paths from the project are the same everywhere.
	away := strings.NewReplacer("${CLAUDE_PROJECT_DIR}", os.DevNull, "$CLAUDE_PROJECT_DIR", os.DevNull, p.project, os.DevNull)
	elsewhere.Command, elsewhere.Args = away.Replace(d.Command), slices.Clone(d.Args)
	for i, a := range elsewhere.Args {
		elsewhere.Args[i] = away.Replace(a)
	}
	elsewhere.Vars = maps.Clone(d.Vars)
	for name, value := range elsewhere.Vars {
		elsewhere.Vars[name] = away.Replace(value)
	}
	bare := elsewhere
	if err := errors.Join(elsewhere.ComputeDigest(cwd), bare.ComputeDigest("")); err != nil {
		return err
	}
	if elsewhere.Digest != bare.Digest {
		return fmt.Errorf("it starts in %s, where its command names a file that is not trusted; hint: write $CLAUDE_PROJECT_DIR/ before the file name", cwd)
	}
	return nil
}
