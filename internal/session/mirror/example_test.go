package mirror_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/session/mirror"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func ExampleNew() {
	ctx := context.Background()
	secondary := memory.New() // a store elsewhere
	store, err := mirror.New(memory.New(), secondary, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	sessions := session.New(store, nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s", Title: "kept twice"})
	if err == nil {
		err = l.Close()
	}
	fmt.Println(err, store.Flush(ctx))
	m, err := session.New(secondary, nil).Get(ctx, "s")
	fmt.Println(m.Title, err, store.Close())
	// Output:
	// <nil> <nil>
	// kept twice <nil> <nil>
}
