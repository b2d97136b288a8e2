package settings

import (
	"context"
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/hook"
)

// pinned runs hooks as they were when the settings were loaded.
type pinned struct {
	hook.Runner
	project string
}

// PinHooks returns a runner that does not run a hook of the folder when it, or a
// file that it names, has changed since the settings were loaded: what an agent can
// write must not become a hook, and a hook that guards must not be written away.
// On events that guard, such a hook counts as a block.
func (s *Settings) PinHooks(r hook.Runner) hook.Runner { return &pinned{r, s.Project} }

// Close closes the runner, when it can be.
func (p *pinned) Close() error {
	if c, ok := p.Runner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Run implements hook.Runner.
func (p *pinned) Run(ctx context.Context, d *hook.Definition, in *hook.Input) (hook.Answer, error) {
	if !brought(d.Origin.Layer) {
		return p.Runner.Run(ctx, d, in)
	}
	now := *d
	err := now.Seal(p.project)
	if err == nil && now.Digest == d.Digest {
		return p.Runner.Run(ctx, d, in)
	}
	if err == nil {
		err = fmt.Errorf("a file that the hook names has changed since it was trusted (look at it, then: holdfast hooks trust %s)", quote(p.project))
	}
	if info, ok := d.Event.Info(); ok && info.Guards {
		return hook.Answer{Output: &hook.Output{Block: true, Reason: HookName(d) + ": " + err.Error()}}, nil
	}
	return hook.Answer{}, err
}
