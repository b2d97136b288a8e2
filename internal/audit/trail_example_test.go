package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// The trail observes the appends of sessions; Verify then finds a changed log.
func ExampleOpenTrail() {
	ctx := context.Background()
	home, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	trail, err := audit.OpenTrail(filepath.Join(home, "trail"), &audit.TrailOptions{Name: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memory.New()
	s := session.New(store, &session.Options{AppendObserver: trail})
	log, err := s.Create(ctx, session.Opened{SessionID: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}
	if err := trail.Close(); err != nil { // signs a checkpoint
		fmt.Println(err)
	}

	r, err := audit.Verify(ctx, s, trail.Dir(), nil)
	fmt.Println(r.Sessions, "session,", r.Leaves, "leaf,", len(r.Findings), "findings,", err)

	// A program deletes the session without telling the trail.
	if err := store.Delete(ctx, "demo"); err != nil {
		fmt.Println(err)
	}
	r, err = audit.Verify(ctx, s, trail.Dir(), nil)
	fmt.Println(r.Findings, err)
	// Output:
	// 1 session, 1 leaf, 0 findings, <nil>
	// [session demo, record 1, leaf 1: the session is missing: no leaf records a delete, and its log ended at record 1] <nil>
}
