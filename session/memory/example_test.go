package memory_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func ExampleNew() {
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(context.Background(), session.Opened{SessionID: "s"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	fmt.Println(l.Head())
	// Output: 1
}
