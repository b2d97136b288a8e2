package cli

import (
	"context"
	"math"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// exportCmd is `holdfast sessions export`.
type exportCmd struct {
	sessionArg
	Format string `enum:"jsonl,text" default:"jsonl" placeholder:"FORMAT" help:"jsonl: every record, one per line; text: the transcript as text."`
	storeFlags
	jsonFlag
}

func (c *exportCmd) run(ctx context.Context, p *Program) error {
	return c.with(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		if c.Format == "text" {
			if c.JSON {
				return usage("--json and --format text cannot be used together", "")
			}
			loaded, err := s.Load(ctx, m.ID, nil)
			if err != nil {
				return err
			}
			p.out.text(transcript.Render(loaded.Items, transcript.RenderOptions{MaxBytes: math.MaxInt, MaxPartBytes: math.MaxInt}))
			return nil
		}
		var bad error
		for r, err := range s.Records(ctx, m.ID, session.Range{}) {
			switch {
			case err != nil && !isCorrupt(err):
				return err
			case err != nil: // the rest is still worth having
				if bad == nil {
					bad = err
				}
				continue
			}
			if err := p.out.json(docOf(r), false); err != nil {
				return err
			}
		}
		return bad
	})
}
