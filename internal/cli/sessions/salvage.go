package sessions

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/session/salvage"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// databaseDoc is the result of repairing a damaged database.
type databaseDoc struct {
	Database string `json:"database"`
	Damage   string `json:"damage"`
	DryRun   bool   `json:"dry_run,omitempty"`
	*salvage.Result
}

// salvageDatabase copies the readable sessions of a damaged database to a new one. done reports whether
// the command is finished; otherwise the sessions in the new database are checked next.
func (c *repairCmd) salvageDatabase(ctx context.Context, p *command.Program) (done bool, err error) {
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
		what = "were copied to a new file"
	}
	p.Err.Line("%s of %s %s", term.Count(d.Records, "record"), term.Count(d.Sessions, "session"), what)
	if c.DryRun {
		return true, nil
	}
	p.Err.Line("the damaged file is kept as %s", term.Escape(d.Backup))
	p.Err.Line("the check below lists what each session lost; holdfast audit verify shows what the audit trail knows")
	return false, nil
}
