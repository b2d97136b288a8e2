package vendoragent_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/transcript"
)

// echoVendor is a vendor whose agent repeats its input.
type echoVendor struct{}

func (echoVendor) Name() string                       { return "parrot" }
func (echoVendor) Command(vendor.Turn) vendor.Command { return vendor.Command{Args: []string{"cat"}} }
func (echoVendor) Transcript(string, string) string   { return "" }
func (echoVendor) Run(_ context.Context, t vendor.Turn, _ vendor.Process, s vendor.Sink) (vendor.End, error) {
	return vendor.End{}, s.Item(transcript.Item{Role: transcript.RoleAssistant, Parts: t.Input})
}

func ExampleNew() {
	g, err := vendoragent.New(vendoragent.Options{
		Vendor:  echoVendor{},
		Start:   func(context.Context, vendoragent.Spec) (vendoragent.Process, error) { return idle{}, nil },
		PathMap: vendoragent.PathMap{Work: "/work", Home: "/home/agent"},
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

func (idle) Stdin() io.WriteCloser                          { return discard{} }
func (idle) Stdout() io.Reader                              { return strings.NewReader("") }
func (idle) Stderr() string                                 { return "" }
func (idle) Wait(context.Context) (vendoragent.Exit, error) { return vendoragent.Exit{}, nil }
func (idle) Kill(context.Context) error                     { return nil }
func (idle) Close() error                                   { return nil }

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }
