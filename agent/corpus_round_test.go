package agent_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// slowRound records how calls that each take a second run in a round.
type slowRound struct {
	mu       sync.Mutex
	running  []string
	most     int
	parallel []string // calls that ran in parallel with a call that writes
}

func (b *slowRound) tool(name string) tool.Tool {
	readOnly := name == "Read" || name == "Grep" || name == "Glob"
	return probe{name: name, readOnly: readOnly, run: func(context.Context, *tool.Call) (tool.Result, error) {
		b.mu.Lock()
		b.running = append(b.running, name)
		b.most = max(b.most, len(b.running))
		writes := slices.ContainsFunc(b.running, func(n string) bool { return n == "Write" || n == "Edit" || n == "Bash" })
		if writes && len(b.running) > 1 {
			b.parallel = slices.Clone(b.running)
		}
		b.mu.Unlock()
		time.Sleep(time.Second) // of the bubble's clock
		b.mu.Lock()
		i := slices.Index(b.running, name)
		b.running = slices.Delete(b.running, i, i+1)
		b.mu.Unlock()
		return tool.Text("did " + name), nil
	}}
}

// checkRound runs a case with the calls of one answer.
func checkRound(t *testing.T, c corpus.Case) {
	var in struct {
		Calls    []string
		ReadOnly int `json:"read_only_calls"`
	}
	var want struct {
		Results     int
		MaxParallel int `json:"max_parallel"`
	}
	c.Decode(t, c.Input(), &in)
	c.Decode(t, c.Expect(), &want)
	for range in.ReadOnly {
		in.Calls = append(in.Calls, "Read")
	}
	synctest.Test(t, func(t *testing.T) {
		var b slowRound
		var uses []transcript.ToolUse
		var tools []tool.Tool
		var ids []string
		for i, name := range in.Calls {
			ids = append(ids, fmt.Sprint("c", i))
			uses = append(uses, use(ids[i], name, `{}`))
			if !slices.Contains(in.Calls[:i], name) {
				tools = append(tools, b.tool(name))
			}
		}
		a := newAgent(t, play(t, step{uses: uses}, step{text: "ok"}), agent.Options{Tools: registry(t, tools...)})
		prompt(t, a, "go")
		var answered []string
		for _, e := range a.Snapshot().Items {
			answered = append(answered, e.ResultIDs()...)
		}
		if !slices.Equal(answered, ids) || len(answered) != want.Results {
			t.Errorf("results of %v, want %d in the order of the calls", answered, want.Results)
		}
		if want.MaxParallel > 0 && b.most != want.MaxParallel {
			t.Errorf("%d at most side by side, want %d", b.most, want.MaxParallel)
		}
		if b.parallel != nil {
			t.Errorf("a call that writes ran beside others: %v", b.parallel)
		}
	})
}

var quoted = regexp.MustCompile(`'([^']*)'`)

// checkNoAnswer runs a case with a call whose tool fails or does not exist.
func checkNoAnswer(t *testing.T, c corpus.Case) {
	var given struct{ Tool, State string }
	var want struct {
		Result struct {
			IsError bool `json:"is_error"`
			Text    string
		}
		Started bool `json:"started event"`
	}
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &want)
	name := "there"
	found := quoted.FindStringSubmatch(given.Tool + given.State)
	if found == nil {
		t.Fatalf("unknown value %s", c.Setup())
	}
	var tools []tool.Tool
	switch {
	case strings.HasPrefix(given.Tool, "raises "):
		tools = append(tools, probe{name: name, run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, errors.New(found[1]) }})
	case strings.HasPrefix(given.State, "model calls unknown tool "):
		name, tools = found[1], append(tools, hasContent("there", "x"))
	default:
		t.Fatalf("unknown value %s", c.Setup())
	}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", name, `{}`)}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, tools...)})
	all := events(t, a, "go")
	if started := countEvents[event.ToolStarted](all) == 1; started != want.Started {
		t.Errorf("started: %v, want %v", started, want.Started)
	}
	it, err := a.Snapshot().Items[2].Decode()
	if err != nil {
		t.Fatal(err)
	}
	if r := it.Parts[0].(transcript.ToolResult); r.IsError != want.Result.IsError || r.Text() != want.Result.Text || r.UseID != "c1" {
		t.Errorf("%s: %q, error %v; want %+v", r.UseID, r.Text(), r.IsError, want.Result)
	}
	if last(t, all).Text != "ok" {
		t.Error("the turn did not continue")
	}
}

// Variants of the corpus cases.
func TestCorpusRoundVariants(t *testing.T) {
	for _, c := range []struct{ input, expect string }{
		{`{"read_only_calls":1}`, `{"results":1,"max_parallel":1}`},
		{`{"read_only_calls":10}`, `{"results":10,"max_parallel":10}`},
		{`{"read_only_calls":11}`, `{"results":11,"max_parallel":10}`},
		{`{"read_only_calls":100}`, `{"results":100,"max_parallel":10}`},
		{`{"calls":["Write","Write","Write"]}`, `{"results":3,"max_parallel":1}`},
		{`{"calls":["Write","Read","Grep","Edit","Glob","Read","Read","Bash"]}`, `{"results":8,"max_parallel":3}`},
		{`{"calls":["Read","Write","Read"]}`, `{"results":3,"max_parallel":1}`},
	} {
		t.Run(c.input, func(t *testing.T) {
			checkRound(t, corpus.NewCase(map[string]string{"input": c.input, "expect": c.expect}))
		})
	}
	for _, c := range []struct{ given, expect string }{
		{`{"tool":"raises ''"}`, `{"result":{"is_error":true,"text":"tool execution failed: "},"started event":true}`},
		{`{"tool":"raises 'zwölf\n😀'"}`, `{"result":{"is_error":true,"text":"tool execution failed: zwölf\n😀"},"started event":true}`},
		{`{"state":"model calls unknown tool 'There'"}`, `{"result":{"is_error":true,"text":"tool not found: There"},"started event":false}`},
		{`{"state":"model calls unknown tool 'there '"}`, `{"result":{"is_error":true,"text":"tool not found: there "},"started event":false}`},
		{`{"state":"model calls unknown tool '../x'"}`, `{"result":{"is_error":true,"text":"tool not found: ../x"},"started event":false}`},
	} {
		t.Run(c.given, func(t *testing.T) {
			checkNoAnswer(t, corpus.NewCase(map[string]string{"given": c.given, "expect": c.expect}))
		})
	}
}
