package audit_test

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func ExampleNewAccessLog() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "trail")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	trail, err := audit.OpenTrail(dir, nil)
	if err != nil {
		panic(err)
	}
	defer trail.Close()
	sessions := session.New(memory.New(), &session.Options{AppendObserver: trail})
	log := audit.NewAccessLog(sessions, "ann")
	err = log.Add(ctx, audit.Access{Action: audit.ActionLogin, By: "ann", Via: "link", From: "192.0.2.7", Login: "login_1"})
	if err != nil {
		panic(err)
	}
	for e, err := range audit.Read(ctx, sessions, audit.AccessID, &audit.ReadOptions{Kinds: []string{audit.KindAccess}}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Sentence(), "from", e.From)
	}
	// Output: access login by person ann via link: login_1 (ok) from 192.0.2.7
}
