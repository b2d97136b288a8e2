package redacting_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/redacting"
)

func ExampleNew() {
	ctx := context.Background()
	masker, err := secret.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	clean, err := redacting.New(memory.New(), func(payload json.RawMessage) json.RawMessage {
		masked, _ := masker.JSON(payload)
		return masked
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	original := memory.New()
	sessions := session.New(original, nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s", Title: "push with ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"})
	if err == nil {
		err = l.Close()
	}
	fmt.Println(err)
	r, err := session.New(original, nil).ReplicateAll(ctx, clean, nil)
	fmt.Println(r.OK(), err)
	m, err := session.New(clean, nil).Get(ctx, "s")
	fmt.Println(m.Title, err)
	// Output:
	// <nil>
	// true <nil>
	// push with [secret:github-token] <nil>
}
