package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/caches"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type cachesDoc struct {
	Caches  []caches.Usage `json:"caches"`
	Removed []caches.Usage `json:"removed,omitempty"`
}

func (c *cachesCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Prune && c.Remove != "" {
		return outcome.Invalid("--prune and --remove cannot be used together", "omit one of them")
	}
	home, err := p.Home()
	if err != nil {
		return err
	}
	var doc cachesDoc
	switch {
	case c.Remove != "":
		gone, err := caches.Remove(ctx, home, c.Remove)
		if errors.Is(err, fs.ErrNotExist) {
			return outcome.Invalid(fmt.Sprintf("no project has caches with the name %q", c.Remove), "list the caches: holdfast sandbox caches")
		}
		if err != nil {
			return err
		}
		doc.Removed = append(doc.Removed, gone)
	case c.Prune:
		if doc.Removed, err = caches.Prune(ctx, home, true); err != nil {
			return err
		}
	}
	if doc.Caches, err = caches.List(ctx, home); err != nil {
		return err
	}
	if c.JSON {
		if doc.Caches == nil {
			doc.Caches = []caches.Usage{}
		}
		return p.Out.JSON(doc, p.Out.TTY)
	}
	for _, u := range doc.Removed {
		p.Err.Line("removed %s, %s", u.Name, term.Size(u.Size))
	}
	if len(doc.Caches) == 0 {
		p.Err.Line("no caches")
		return nil
	}
	rows := [][]string{{"PROJECT", "SIZE", "LAST USED"}}
	var sum int64
	for _, u := range doc.Caches {
		rows = append(rows, []string{u.Name, term.Size(u.Size), u.LastUsed.Local().Format(time.DateTime)})
		sum += u.Size
	}
	p.Out.Table(rows, 0)
	p.Err.Line("%s in %s", term.Size(sum), caches.Dir(home))
	return nil
}
