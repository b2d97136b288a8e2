package tools

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/tool/ask"
	"github.com/holdfast-dev/holdfast/internal/tool/plan"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// planKit returns the tools that start and end plan mode. Sub-agents do not have these tools,
// because they follow their parent's mode. Nor do agents in a container, because they run for only
// one turn.
func (b *Toolbox) planKit() ([]tool.Tool, error) {
	if b.sub || b.contained {
		return nil, nil
	}
	return plan.New(plan.Options{
		Mode: func() policy.Mode {
			a, err := b.agentHandle.agent()
			if err != nil {
				return ""
			}
			return a.Mode()
		},
		Change: func(ctx context.Context, m policy.Mode) error {
			a, err := b.agentHandle.agent()
			if err == nil {
				by := forms.PlanTool
				if m == policy.ModePlan {
					by = plan.EnterTool
				}
				_, err = a.Change(ctx, policy.Change{Mode: m, By: by})
			}
			return err
		},
	})
}

// askKit asks the user. Sub-agents report to their parent instead.
func (b *Toolbox) askKit() ([]tool.Tool, error) {
	if b.sub {
		return nil, nil
	}
	t, err := ask.New()
	return []tool.Tool{t}, err
}
