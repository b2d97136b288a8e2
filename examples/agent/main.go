// Command agent works on a task in the sandbox. Start it again after a crash or kill -9, and it continues.
//
//	go run . SESSION "find out why the tests fail"
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/approval"
)

func main() {
	rt, err := holdfast.Open(context.Background(), &holdfast.Config{Approve: approve})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	fmt.Println(rt.Prompt(context.Background(), os.Args[1], holdfast.RunSpec{Prompt: os.Args[2]}))
}

func approve(_ context.Context, q approval.Request) (approval.Answer, error) {
	fmt.Println("allowed:", q.Tool, q.ReasonText)
	return approval.Answer{Decision: approval.Allow}, nil
}
