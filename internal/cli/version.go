package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/version"
)

// versionCmd is `holdfast version`.
type versionCmd struct{ jsonFlag }

func (c *versionCmd) declare(b *builder) {
	b.include(&c.jsonFlag)
}

func (c *versionCmd) run(_ context.Context, p *Program) error {
	if c.JSON {
		return p.out.JSON(version.Of(), false)
	}
	p.out.Line("%s", version.Of().String())
	return nil
}
