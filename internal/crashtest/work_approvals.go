package crashtest

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// workAsk runs an agent whose tool needs approvals. If Task.Person is set, the agent answers them
// itself; otherwise it waits for another program.
func workAsk(ctx context.Context, j job) (err error) {
	tools, err := j.slowTools()
	if err != nil {
		return err
	}
	round := []string{"Look", "Effect"}
	if j.run%3 == 0 {
		round = append(round, "Effect")
	}
	a, err := agent.New(&checkingModel{job: j, round: round, rounds: 1}, &agent.Options{
		Sessions:    j.sessions,
		Session:     session.RestoreOptions{SessionID: j.id},
		Tools:       tools,
		Permissions: agent.Permissions{Ask: j.ask},
		Model:       agent.ModelOptions{Retry: agent.Retry{Max: -1}},
	})
	if err != nil {
		return err
	}
	defer func() {
		if e := a.Close(); err == nil {
			err = e
		}
	}()
	return j.prompt(ctx, a)
}

// ask is the approver in the child: it answers immediately, or never.
func (j job) ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	if j.person {
		return Choice(q, "person"), nil
	}
	<-ctx.Done()
	return approval.Answer{}, context.Cause(ctx)
}

// Choice returns the answer of an actor to an approval request. It is always the same for the same
// actor, but may differ between actors.
func Choice(q approval.Request, by string) approval.Answer {
	h := fnv.New32a()
	_, _ = h.Write([]byte(q.ID + by))
	ans := approval.Answer{RequestID: q.ID, Decision: approval.Deny, Actor: by}
	if h.Sum32()%3 > 0 {
		ans.Decision = approval.Allow
	}
	return ans
}

// slowTools returns tools whose effects take some time, so that a kill can interrupt them.
func (j job) slowTools() (*tool.Registry, error) {
	made, err := j.tools()
	if err != nil {
		return nil, err
	}
	var list []tool.Tool
	for _, t := range made.Tools() {
		list = append(list, slowTool{t})
	}
	return tool.NewRegistry(list...)
}

type slowTool struct{ tool.Tool }

func (s slowTool) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	r, err := s.Tool.Run(ctx, c)
	time.Sleep(2 * time.Millisecond)
	return r, err
}

// workAnswer answers the open approval requests in the same way as a separate program.
func workAnswer(ctx context.Context, j job) error {
	open, err := approval.Pending(ctx, j.sessions, j.id)
	if err != nil {
		return err
	}
	for _, q := range open {
		_, err := approval.Resolve(ctx, j.sessions, j.id, Choice(q, "program"))
		if err != nil && !errors.Is(err, approval.ErrAnswered) {
			return err
		}
	}
	return nil
}
