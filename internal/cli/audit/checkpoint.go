package audit

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *checkpointCmd) Run(_ context.Context, p *command.Program) error {
	dir, err := c.dir(p)
	if err != nil {
		return err
	}
	t, err := audit.OpenTrail(dir, &audit.TrailOptions{Clock: p.Clock})
	if err != nil {
		return err
	}
	note, err := t.Checkpoint()
	if err != nil {
		_ = t.Close() // err says more
		return err
	}
	p.Out.Text(term.Escape(string(note)))
	return t.Close()
}

// dir is the folder of the selected audit trail.
func (c *checkpointCmd) dir(p *command.Program) (string, error) {
	if !c.Access {
		return stores.ExistingTrailDir(p.Environment(), c.Store, true)
	}
	_, dir, done, err := stores.OpenAccess(p.Environment())
	if err == nil {
		done()
	}
	return dir, err
}
