package object_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

// What a URL says is understood, or the store is not opened.
func ExampleOpen() {
	store, err := object.Open(context.Background(), "s3://bucket/prefix?endpoint=https://127.0.0.1:9000&pathstyle=true", nil)
	if err != nil {
		fmt.Println(err)
		fmt.Println("hint:", session.Hint(err))
		return
	}
	defer store.Close()

	sessions := session.New(store, nil)
	page, err := sessions.List(context.Background(), session.Query{Limit: 50})
	fmt.Println(len(page.Sessions), "sessions", err)
	// Output:
	// open: invalid argument: s3://bucket/prefix: unknown parameter "pathstyle"
	// hint: use the form s3://bucket/prefix?endpoint=https://host&region=us-east-1
}
