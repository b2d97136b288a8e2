package agent_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// BenchmarkHooks measures a tool call in a run, without hooks and with 20 functions without an outcome.
func BenchmarkHooks(b *testing.B) {
	for _, store := range []string{"memory", "sqlite"} {
		for _, n := range []int{0, 20} {
			b.Run(fmt.Sprintf("%s/hooks=%d", store, n), func(b *testing.B) {
				var s session.Store = memory.New()
				if store == "sqlite" {
					db, err := sqlite.Open(filepath.Join(b.TempDir(), "s.db"), nil)
					if err != nil {
						b.Fatal(err)
					}
					defer db.Close()
					s = db
				}
				benchCalls(b, s, n)
			})
		}
	}
}

func benchCalls(b *testing.B, s session.Store, hooks int) {
	r := hook.New(nil)
	for range hooks {
		if err := r.HandleFunc(hook.PreToolUse, "Edit", func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }); err != nil {
			b.Fatal(err)
		}
	}
	const calls = 100 // calls per session, so that the length of the session does not matter
	tools := registry(b, tool.Tool(hasContent("Edit", "edited")))
	b.ResetTimer()
	for range b.N {
		a := newAgent(b, &caller{left: calls}, agent.Options{Sessions: session.New(s, nil), Tools: tools, Hooks: agent.Hooks{Registry: r}})
		prompt(b, a, "go")
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "ns/call")
}

// caller is a model that makes one call after another and ignores its input.
type caller struct{ left int }

func (*caller) Info() model.Info { return model.Info{Provider: "fake", Model: "m", API: "fake"} }

func (*caller) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(e.Role()), JSON: e.JSON}, nil
}

func (c *caller) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		it := transcript.Item{Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}}
		if c.left--; c.left >= 0 {
			it.Finish = transcript.FinishToolUse
			it.Parts = []transcript.Part{use(fmt.Sprint("c", c.left), "Edit", `{"file_path":"/p/a"}`)}
		}
		yield(model.Answer{Item: it}, nil)
	}
}
