package audit_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// decided makes a session with one decision in it.
func decided(ctx context.Context) (*session.Sessions, error) {
	clock := func() time.Time { return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC) }
	sessions := session.New(memory.New(), &session.Options{Clock: clock, NewID: func() string { return "r" }})
	log, err := sessions.Create(ctx, session.Opened{SessionID: "s1", User: "ann"})
	if err != nil {
		return nil, err
	}
	d, err := session.NewDraft(record.KindDecision, policy.Decision{
		Use: "u1", Tool: "Bash", Effect: policy.Deny, By: "nobody", Mode: policy.ModeDefault,
		Touches: []policy.Target{{Operation: policy.OpCommand, Resource: "rm -rf build"}},
	})
	if err == nil {
		_, err = log.Append(ctx, d)
	}
	return sessions, err
}

func ExampleRead() {
	ctx := context.Background()
	sessions, err := decided(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range audit.Read(ctx, sessions, "s1", &audit.ReadOptions{Kinds: []string{audit.KindDecision}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, e.Sentence(), "for", e.OnBehalfOf)
	}
	// Output: 2 decision deny by nobody: Bash rm -rf build for ann
}

func ExampleExport() {
	ctx := context.Background()
	sessions, err := decided(ctx)
	if err == nil {
		err = audit.Export(os.Stdout, "jsonl", audit.Read(ctx, sessions, "s1", &audit.ReadOptions{Kinds: []string{audit.KindSession}}))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output: {"action":"open","actor":{"kind":"person","name":"ann"},"digest":"f45596e66b32c4869b0d9f6677f19e3ac06711f2a0f24a88705e3360592ecc38","kind":"session","on_behalf":"ann","prev":"","record":"ca47812725fddaccdab6eb49a75c6df3c561991562718f964a2014029ac4fc4e","seq":1,"session":"s1","time":"2026-11-20T09:00:00Z"}
}

func ExampleCanonical() {
	b, err := audit.Canonical(map[string]any{"b": 1.50, "a": "€ & <"})
	fmt.Println(string(b), err)
	// Output: {"a":"€ & <","b":1.5} <nil>
}
