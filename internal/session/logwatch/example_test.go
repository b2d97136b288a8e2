package logwatch_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

func ExampleNew() {
	store := &listed{metas: map[string]session.Meta{"s": {ID: "s", Head: 1}}}
	watchers := logwatch.New(store, nil)
	defer watchers.Close()
	for head, err := range watchers.Watch(context.Background(), "s", 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(head)
		if head == 2 {
			break
		}
		store.set(session.Meta{ID: "s", Head: 2}) // an append
		watchers.Notify("s")
	}
	// Output:
	// 1
	// 2
}
