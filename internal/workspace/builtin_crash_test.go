//go:build unix

package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// countingModel is a model that has commands run one after the other, none twice. Like a model, it only uses the
// transcript.
type countingModel struct{ commands int }

func (countingModel) Info() model.Info {
	return model.Info{Provider: "test", Model: "counting", API: "test"}
}

func (countingModel) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(e.Role()), JSON: e.JSON}, nil
}

func (c countingModel) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		n := 1
		for _, m := range req.Messages {
			n += strings.Count(string(m.JSON), `"type":"tool_use"`)
		}
		it := transcript.Item{Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}}
		if n <= c.commands {
			input, _ := json.Marshal(map[string]string{"command": fmt.Sprintf("echo %d >> ran", n)})
			it.Finish, it.Parts = transcript.FinishToolUse, []transcript.Part{transcript.ToolUse{ID: fmt.Sprint("use", n), Name: "Bash", Input: input}}
		}
		yield(model.Answer{Item: it}, nil)
	}
}

// Whether the process, its connection or the host ends, at any time: acknowledged items are in the log, no
// command runs twice, and a command with a recorded result has run.
func TestBuiltinKilledAnywhere(t *testing.T) {
	const commands = 6
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		seed := uint64(round)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			h := newBuiltinEnv(t, "steps: [{text: never}]\n")
			h.o.Models = []model.Model{countingModel{commands}}
			store, err := sqlite.Open(filepath.Join(t.TempDir(), "s.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			h.store, h.sessions = store, session.New(store, nil)
			h.o.Sessions = h.sessions
			seen := map[string]bool{} // IDs of items that were acknowledged
			ends := 0
			for turn := 0; ; turn++ {
				if turn > 3*commands {
					t.Fatal("it does not come to its end")
				}
				if done := h.runAndKill(rnd, seen, len(seen) == 0, ends < 4); done {
					break
				}
				ends++
			}
			h.checkLog()
			h.ranOnce(commands)
			have := strings.Join(h.ids(), " ")
			for id := range seen {
				if !strings.Contains(have, id) {
					t.Errorf("item %s was acknowledged and is not in the log", id)
				}
			}
		})
	}
}

// runAndKill runs a turn of a new agent, and kills something during it. It reports whether the turn was completed.
func (h *builtinEnv) runAndKill(rnd *rand.Rand, seen map[string]bool, first, harm bool) bool {
	h.t.Helper()
	a, err := newBuiltin(h.o)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = a.Suspend() }()
	var parts []transcript.Part
	if first {
		parts = append(parts, transcript.Text{Text: "go"})
	}
	left, how := 2+rnd.IntN(13), rnd.IntN(3) // the first event comes from before the process
	ctx, stop := context.WithCancel(h.t.Context())
	defer stop()
	var late sync.WaitGroup
	defer late.Wait()
	for e, err := range a.Run(ctx, parts...) {
		if err != nil {
			return strings.Contains(err.Error(), agent.ErrNoInput.Error())
		}
		switch e := e.(type) {
		case event.ItemAppended:
			seen[e.Item.ID()] = true
		case event.Result:
			return e.Reason == event.ReasonCompleted
		}
		if left--; !harm || left != 0 {
			continue
		}
		p := h.last()
		switch how {
		case 0:
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		case 1:
			_ = p.channel.Close()
		case 2: // the host's process: its lease stays, its end of the pipe is closed
			late.Go(func() { _ = p.channel.Close() })
			stop()
		}
	}
	return false
}

// ids returns the IDs of all items in the log.
func (h *builtinEnv) ids() (list []string) {
	h.t.Helper()
	for r, err := range h.sessions.Records(h.t.Context(), "s", session.Range{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		if r.Kind == session.KindItem {
			it, err := record.ReadItem(r.Payload)
			if err != nil {
				h.t.Fatal(err)
			}
			list = append(list, it.Item.ID())
		}
	}
	return list
}

// ranOnce compares the files that the commands wrote with the log.
func (h *builtinEnv) ranOnce(commands int) {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, "ran"))
	if err != nil {
		h.t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(b)) {
		times["use"+strings.TrimSpace(line)]++
	}
	for use, n := range times {
		if n > 1 {
			h.t.Errorf("%s was run %d times", use, n)
		}
	}
	finished := map[string]bool{}
	for r, err := range h.sessions.Records(h.t.Context(), "s", session.Range{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		if r.Kind != record.KindToolFinished {
			continue
		}
		var f record.ToolFinished
		if err := json.Unmarshal(r.Payload, &f); err != nil {
			h.t.Fatal(err)
		}
		finished[f.Use] = true
		if f.Outcome == "" && !f.IsError && times[f.Use] != 1 {
			h.t.Errorf("%s has a result, and has run %d times", f.Use, times[f.Use])
		}
	}
	for n := 1; n <= commands; n++ {
		if use := fmt.Sprint("use", n); times[use] > 0 && !finished[use] {
			h.t.Errorf("%s has run, and its end is not recorded", use)
		}
	}
}
