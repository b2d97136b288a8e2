package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// watchEvery is the time between two lists of --watch.
const watchEvery = time.Second

// watch shows the list until ctx ends, which is not an error. It overwrites its own lines, so that
// what was on the terminal before stays readable.
func (c *psCmd) watch(ctx context.Context, p *command.Program, o *overview) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	shown := 0
	for {
		list, all, err := o.rows(ctx, c.All)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		lines := c.lines(p, list, all)
		if len(list) == 0 {
			lines = []string{p.Out.Dim("no sessions" + c.within())}
		}
		if room := max(2, p.Out.Rows()-1); len(lines) > room {
			lines = append(lines[:room-1:room-1], p.Out.Dim(fmt.Sprintf("… %s more", term.Count(len(lines)-room+1, "session"))))
		}
		p.Out.Repaint(shown, lines)
		shown = len(lines)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
