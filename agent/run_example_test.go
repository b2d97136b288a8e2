package agent_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// Two agents of one run share one policy.
func ExampleNewRun() {
	ctx := context.Background()
	sessions := session.New(memory.New(), nil)
	log, err := sessions.Create(ctx, session.Opened{SessionID: "both"})
	if err != nil {
		panic(err)
	}
	defer log.Close()
	run, err := agent.NewRun(ctx, log)
	if err != nil {
		panic(err)
	}
	writer, err := agent.New(&fake{}, &agent.Options{Sessions: sessions, Permissions: agent.Permissions{Run: run}})
	if err != nil {
		panic(err)
	}
	defer writer.Close()
	checker, err := agent.New(&fake{}, &agent.Options{Sessions: sessions, Permissions: agent.Permissions{Run: run}})
	if err != nil {
		panic(err)
	}
	defer checker.Close()
	if err := writer.SetMode(ctx, policy.ModePlan, "ann"); err != nil {
		panic(err)
	}
	fmt.Println(checker.Mode())
	// Output: plan
}
