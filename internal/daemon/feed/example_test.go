package feed_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func ExampleNew() {
	ctx := context.Background()
	hub := feed.New(nil)
	defer hub.Close()
	sessions := session.New(memory.New(), &session.Options{AppendObserver: hub.WrapObserver(nil)})
	hub.Serve(sessions)

	l, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	sub, err := hub.Subscribe(ctx, "s", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	hub.Publish("s", "writer", event.TextDelta{Text: "Hel"})

	for range 3 {
		switch e, err := sub.Next(ctx); {
		case err != nil:
			fmt.Println(err)
		case e.Kind == feed.Durable:
			fmt.Println(e.Seq, e.Records[0].Kind)
		case e.Kind == feed.CaughtUp:
			fmt.Println("caught up at", e.Seq)
		default:
			fmt.Println(e.Agent, e.Delta)
		}
	}
	// Output:
	// 1 session.opened
	// caught up at 1
	// writer {Hel}
}
