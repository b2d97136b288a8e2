// Command approver decides about tool calls: a fixed policy allows files to be written, and the user
// at the terminal decides about everything else.
//
//	go run ./examples/approver
package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/model/scripted"
)

//go:embed script.yaml
var script []byte // takes the place of a model, so that the program runs without a key

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	model, err := scripted.New(script, nil)
	if err != nil {
		return err
	}
	rt, err := holdfast.Open(ctx, &holdfast.Config{Model: model, Approve: approve})
	if err != nil {
		return err
	}
	defer rt.Close()
	r, err := rt.Start(ctx, holdfast.RunSpec{Prompt: "write notes.md and push it"})
	if err != nil {
		return err
	}
	result, err := r.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(result.Text)
	for _, d := range result.Denials {
		fmt.Println("denied:", d.Tool, "by", d.By)
	}
	return result.Err
}

var input = bufio.NewReader(os.Stdin)

// approve answers an approval request. It is called only for calls that no rule and no mode has
// decided, so settings can still deny more.
func approve(_ context.Context, q approval.Request) (approval.Answer, error) {
	if q.Tool == "Write" || q.Tool == "Edit" {
		fmt.Println("allowed by the program:", q.Tool)
		return approval.Answer{Decision: approval.Allow, Actor: "example"}, nil
	}
	for _, r := range q.Requests {
		fmt.Printf("%s wants %s: %s\n", q.Tool, r.Operation, r.Resource)
	}
	fmt.Print("allow? (y/n) ")
	line, err := input.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "y" {
		return approval.Answer{Decision: approval.Deny, Message: "Do not push. I will do it."}, nil // the model gets the message
	}
	return approval.Answer{Decision: approval.Allow}, nil // approval.AllowSession: also for the same call later
}
