package cli

import "context"

type demoCmd struct{}

func (c *demoCmd) run(ctx context.Context, p *Program) error { return nil }
