package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/hook"
)

// pinnedRunner runs hooks as they were when the settings were loaded.
type pinnedRunner struct {
	hook.Runner
	s       *Settings
	project string
}

// PinHooks returns a runner that does not run a hook of the folder when it, or a
// file that it names, has changed since the settings were loaded: what an agent can
// write must not become a hook, and a hook that guards must not be written away.
// On events that guard, such a hook counts as a block. Of hooks that are not the
// folder's that holds where they guard, or run without a sandbox.
func (s *Settings) PinHooks(r hook.Runner) hook.Runner { return &pinnedRunner{r, s, s.Project} }

// Close closes the runner, when it can be.
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
		err = p.changed(d, cmp.Or(in.Dir, in.CWD))
	case guards || d.Type() == "command" && d.Sandbox == "off":
		err = p.edited(d)
	}
	if err == nil {
		held := *d // a registry fills in what the settings do not say
		if i := slices.IndexFunc(p.s.Hooks, func(h Hook) bool { return h.Digest == d.Digest && h.Origin == d.Origin }); i >= 0 {
			held.Sandbox = p.s.HookAccess(&p.s.Hooks[i].Definition)
		}
		return p.Runner.Run(ctx, &held, in)
	}
	if guards {
		return hook.RunResult{Output: &hook.Output{Block: true, Reason: HookName(d) + ": " + err.Error()}}, nil
	}
	return hook.RunResult{}, err
}

// edited says why a hook that nobody needs to trust is not what was loaded, or nil.
func (p *pinnedRunner) edited(d *hook.Definition) error {
	now := *d
	if err := now.ComputeDigest(p.project); err != nil {
		return err
	}
	if now.Digest != d.Digest {
		return errors.New("a project file that the hook runs changed during the run; hint: review it, then start a new run")
	}
	return nil
}

// changed says why a hook is not what was trusted, or nil.
func (p *pinnedRunner) changed(d *hook.Definition, cwd string) error {
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
	// It starts in a folder where relative names may be those of other files. What is
	// named from the project on is the same everywhere.
	away := strings.NewReplacer("${CLAUDE_PROJECT_DIR}", os.DevNull, "$CLAUDE_PROJECT_DIR", os.DevNull, p.project, os.DevNull)
	elsewhere.Command, elsewhere.Args = away.Replace(d.Command), slices.Clone(d.Args)
	for i, a := range elsewhere.Args {
		elsewhere.Args[i] = away.Replace(a)
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
