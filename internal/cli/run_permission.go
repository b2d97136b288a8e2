package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// settings reads what applies in a run, flags included.
func (c *agentFlags) settings(p *Program, cwd string) (*settings.Settings, error) {
	r, err := c.composed(p, cwd)
	if err != nil {
		return nil, err
	}
	return compose.Settings(r)
}

// unattended answers questions when no terminal is there. Nil denies.
func unattended(way settings.OnAsk) func(context.Context, approval.Question) (approval.Answer, error) {
	switch way {
	case settings.OnAskWait:
		return func(ctx context.Context, _ approval.Question) (approval.Answer, error) {
			<-ctx.Done() // somebody has answered elsewhere, time is up, or the run is interrupted
			return approval.Answer{}, context.Cause(ctx)
		}
	case settings.OnAskFail:
		return func(context.Context, approval.Question) (approval.Answer, error) {
			return approval.Answer{}, approval.ErrLeave
		}
	case settings.OnAskDeny:
	}
	return nil
}
