package retry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func ExampleNew() {
	store := retry.New(memory.New(), &retry.Options{
		Timeout: time.Minute,
		Changed: func(err error, after time.Duration) {
			fmt.Println("the store:", err, after)
		},
	})
	defer store.Close()
	sessions := session.New(store, nil)
	ctx := retry.Within(context.Background(), time.Second) // somebody waits for the answer
	page, err := sessions.List(ctx, session.Query{})
	fmt.Println(len(page.Sessions), err)
	// Output:
	// 0 <nil>
}
