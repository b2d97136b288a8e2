//go:build linux

package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// A session of many turns, compacted every 50 turns, is killed at random times and continues
// each time. The provider never rejects a request, and the final folder is the same as without
// kills. HOLDFAST_HEAVY=1 makes it 500 turns and 100 kills.
func TestLongSessionKilledAndCompacted(t *testing.T) {
	takesLong(t)
	turns, kills := 50, 10
	if os.Getenv("HOLDFAST_HEAVY") == "1" {
		turns, kills = 500, 100
	}
	bin, rng := testprogram.Path(t), random(t)
	var whole, killed *longSession
	var both sync.WaitGroup
	both.Go(func() { whole = newLong(t, bin, turns, rand.New(rand.NewPCG(1, 1)), 0); whole.run(t) })
	killed = newLong(t, bin, turns, rng, kills)
	killed.run(t)
	both.Wait()
	if t.Failed() {
		return
	}
	if killed.killed != kills {
		t.Errorf("killed %d times, want %d", killed.killed, kills)
	}
	want, got := tree(t, whole.folder), tree(t, killed.folder)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is\n%s\nwithout a kill\n%s", name, got[name], text)
		}
		delete(got, name)
	}
	copies := 0 // a kill can leave the complete copy that was about to replace a file
	for name, text := range got {
		if !strings.HasPrefix(filepath.Base(name), ".holdfast-") || text == "" {
			t.Errorf("%s is left over", name)
		}
		copies++
	}
	if copies > kills {
		t.Errorf("%d copies are left over by %d kills", copies, kills)
	}
	for _, l := range []*longSession{whole, killed} {
		l.verify(t)
	}
}

// longSession is a session of many turns with its own folder.
type longSession struct {
	*provider
	bin, home, folder string
	turns, kills      int
	rng               *rand.Rand

	runs, killed, idle int
	took               []time.Duration // of runs that nobody killed
	opening            []time.Duration // from the start of a run to its first request
}

func newLong(t *testing.T, bin string, turns int, rng *rand.Rand, kills int) *longSession {
	l := &longSession{provider: newProvider(t, 2*turns), bin: bin, turns: turns, kills: kills, rng: rng}
	l.home, l.folder = t.TempDir(), t.TempDir()
	settings := fmt.Sprintf(`{"compact": {"items": %d, "keep": 300}}`, 6*50)
	if turns < 100 { // as often in proportion
		settings = fmt.Sprintf(`{"compact": {"items": %d, "keep": 300}}`, 6*10)
	}
	if err := os.WriteFile(filepath.Join(l.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// nothingToDo is what the program reports when it resumes a session that waits for input.
const nothingToDo = "no input and no pending approval"

// run performs the task turn by turn, each in a separate process.
func (l *longSession) run(t *testing.T) {
	interrupted := false
	for !l.over() {
		if l.runs++; l.runs > 4*l.turns+4*l.kills {
			t.Errorf("%d runs, and it is not done", l.runs)
			return
		}
		prompt := []string{"go on"}
		if interrupted && l.rng.IntN(2) == 0 {
			prompt = nil // answer what the transcript ends with
		}
		kill := l.killed < l.kills && l.rng.IntN(max(1, l.left())) < l.kills-l.killed
		killed, out, err := l.once(t, prompt, kill)
		switch {
		case killed:
			l.killed++
		case err != nil && prompt == nil && strings.Contains(out, nothingToDo):
			l.idle++
		case err != nil:
			t.Errorf("run %d: %v\n%s", l.runs, err, out)
		}
		if l.broken(t) || t.Failed() {
			return
		}
		interrupted = killed
	}
}

func (l *longSession) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// left is about the number of remaining turns, except for some at the end: a kill may come
// when the program has just ended, and is repeated then.
func (l *longSession) left() int { return max(1, l.turns-len(l.took)-5) }

func (l *longSession) broken(t *testing.T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.refused {
		t.Errorf("run %d was refused: %s", l.runs, r)
	}
	return len(l.refused) > 0
}

// once runs the program for a turn, and kills it during the turn if kill is set.
func (l *longSession) once(t *testing.T, prompt []string, kill bool) (killed bool, out string, err error) {
	var said bytes.Buffer
	cmd := exec.Command(l.bin, append([]string{
		"run", "-q", "--session-id", "long", "--cwd", l.folder, "--permission-mode", "bypassPermissions", "--no-daemon", "--effort", "low",
		"-m", "anthropic/claude-sonnet-4-5",
	}, prompt...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.folder, &said, &said
	cmd.Env = append(environ(l.home), "ANTHROPIC_BASE_URL="+l.URL, "ANTHROPIC_API_KEY=none")
	cmd.WaitDelay = time.Second
	began := time.Now()
	l.mu.Lock()
	l.first = func() { l.opening = append(l.opening, time.Since(began)) }
	l.mu.Unlock()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if kill {
		usual := 300 * time.Millisecond
		if len(l.took) > 0 {
			usual = l.took[len(l.took)-1]
		}
		timer := time.AfterFunc(time.Duration(l.rng.Float64()*float64(usual)), func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return true, "", nil
	}
	l.took = append(l.took, time.Since(began))
	return false, said.String(), err
}

// tree is what lies in a folder.
func tree(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == filepath.Join(".holdfast", "project") { // the folder's own id
			return err
		}
		text, err := os.ReadFile(path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// verify lets the program verify its log and logs the numbers.
func (l *longSession) verify(t *testing.T) {
	holdfast := func(args ...string) string {
		cmd := exec.CommandContext(context.Background(), l.bin, args...)
		cmd.Env, cmd.Dir = environ(l.home), l.folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	holdfast("sessions", "verify", "long")
	records := holdfast("sessions", "export", "long")
	opened, rewritten, unknown := 0, 0, 0
	results := map[string]int{}
	for line := range strings.Lines(records) {
		var r struct {
			Kind    string
			Payload struct {
				Outcome string
				Item    struct {
					Parts []struct {
						Type  string
						UseID string `json:"use_id"`
					}
				}
			}
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			continue
		}
		switch r.Kind {
		case "turn.opened":
			opened++
		case "rewrite":
			rewritten++
		case "tool.finished":
			if r.Payload.Outcome == "unknown" {
				unknown++
			}
		case "item":
			for _, p := range r.Payload.Item.Parts {
				if p.Type == "tool_result" {
					results[p.UseID]++
				}
			}
		}
	}
	for use, n := range results {
		if n != 1 {
			t.Errorf("%s has %d results", use, n)
		}
	}
	if rewritten < 4 || opened < l.turns*9/10 {
		t.Errorf("%d turns and %d compactions", opened, rewritten)
	}
	slices.Sort(l.took)
	t.Logf("%d turns, %d steps: %d processes, %d killed, %d with nothing to do; %d requests, 0 refused, %d summaries, %d rewrites; "+
		"%d calls of unknown outcome, the model looked %d times, %d results; a run takes %v (median); first request after %s",
		opened, l.steps, l.runs, l.killed, l.idle, l.requests, l.summed, rewritten, unknown, l.looked, len(results),
		l.took[len(l.took)/2].Round(time.Millisecond), quarters(l.opening))
}

// quarters are the medians of the four quarters of a list.
func quarters(list []time.Duration) string {
	var out []string
	for q := range 4 {
		part := slices.Sorted(slices.Values(list[len(list)*q/4 : len(list)*(q+1)/4]))
		if len(part) > 0 {
			out = append(out, part[len(part)/2].Round(time.Millisecond).String())
		}
	}
	return strings.Join(out, ", ")
}
