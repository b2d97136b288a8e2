package guest_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/workspace/guest"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// parrot is a vendor whose agent says what it is told.
type parrot struct{}

func (parrot) Name() string                       { return "parrot" }
func (parrot) Command(vendor.Turn) vendor.Command { return vendor.Command{Args: []string{"cat"}} }
func (parrot) Transcript(string, string) string   { return "" }
func (parrot) Run(_ context.Context, t vendor.Turn, _ vendor.Process, s vendor.Sink) (vendor.End, error) {
	return vendor.End{}, s.Item(transcript.Item{Role: transcript.RoleAssistant, Parts: t.Input})
}

func ExampleNew() {
	g, err := guest.New(guest.Options{
		Vendor: parrot{},
		Start:  func(context.Context, guest.Spec) (guest.Process, error) { return idle{}, nil },
		Places: guest.Places{Work: "/work", Home: "/home/agent"},
	})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	o := g.Agent(agent.Options{})
	a, err := agent.New(g, &o)
	if err != nil {
		panic(err)
	}
	g.Attach(a)
	res, err := a.Prompt(context.Background(), "hello")
	fmt.Println(res.Text, res.Reason, err)
	// Output: hello completed <nil>
}

// idle is a process that does nothing.
type idle struct{}

func (idle) Stdin() io.WriteCloser                    { return nobody{} }
func (idle) Stdout() io.Reader                        { return strings.NewReader("") }
func (idle) Stderr() string                           { return "" }
func (idle) Wait(context.Context) (guest.Exit, error) { return guest.Exit{}, nil }
func (idle) Kill(context.Context) error               { return nil }
func (idle) Close() error                             { return nil }

type nobody struct{}

func (nobody) Write(b []byte) (int, error) { return len(b), nil }
func (nobody) Close() error                { return nil }
