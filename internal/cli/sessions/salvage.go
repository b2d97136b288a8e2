package sessions

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/session/salvage"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// databaseDoc is what became of a damaged database.
type databaseDoc struct {
	Database string `json:"database"`
	Damage   string `json:"damage"`
	DryRun   bool   `json:"dry_run,omitempty"`
	*salvage.Result
}

// database reads what can be read of a database that is damaged as a whole into a new one. It reports
// whether that is all: the sessions in the new one are looked at next, unless nothing was to be done.
func (c *repairCmd) database(ctx context.Context, p *command.Program) (done bool, err error) {
	ref, err := stores.Parse(p.Environment(), c.Store)
	if err != nil || ref.Database() == "" {
		return false, err
	}
	path := ref.Database()
	damage := salvage.Damaged(ctx, path)
	if damage == "" {
		return false, nil
	}
	d := &databaseDoc{Database: path, Damage: damage, DryRun: c.DryRun}
	if d.Result, err = salvage.Salvage(ctx, path, c.DryRun, p.Clock()); err != nil {
		return false, err
	}
	if c.JSON {
		return c.DryRun, p.Out.JSON(d, false)
	}
	p.Err.Line("%s is damaged: %s", term.Escape(path), term.OneLine(damage))
	what := "can be read"
	if !c.DryRun {
		what = "were read into a new file"
	}
	p.Err.Line("%s of %s %s", term.Count(d.Records, "record"), term.Count(d.Sessions, "session"), what)
	if c.DryRun {
		return true, nil
	}
	p.Err.Line("the damaged file is kept as %s", term.Escape(d.Backup))
	p.Err.Line("what is missing in a session is said below; the audit trail knows what was there: holdfast audit verify")
	return false, nil
}
