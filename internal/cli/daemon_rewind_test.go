package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// A client of the daemon gets the plan of a rewind, applies exactly that plan, and reverts it.
func TestRewindRemote(t *testing.T) {
	dir := shortDir(t)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "play.yaml", `
steps:
  - tool_uses: [{tool: Write, input: {file_path: a.txt, content: "one"}}]
  - text: first
  - tool_uses: [{tool: Read, input: {file_path: a.txt}}]
  - tool_uses: [{tool: Write, input: {file_path: a.txt, content: "two"}}, {tool: Write, input: {file_path: b.txt, content: "b"}}]
  - text: second
`)
	env := environ(dir, "HOLDFAST_MODEL=scripted/"+filepath.Join(dir, "play.yaml"))
	for _, args := range [][]string{{"--session-id", "s"}, {"--resume", "s"}} {
		p, _, errs := newProgram(work, env, append([]string{"run", "go", "--no-daemon", "--permission-mode", "acceptEdits"}, args...)...)
		if code := Run(t.Context(), p); code != 0 {
			t.Fatalf("%d: %s", code, errs)
		}
	}
	c, _ := serve(t, dir, env)
	files := func(want string) {
		t.Helper()
		got := ""
		for _, name := range []string{"a.txt", "b.txt"} {
			b, err := os.ReadFile(filepath.Join(work, name))
			if err != nil {
				b = []byte("-")
			}
			got += string(b) + " "
		}
		if got != want {
			t.Errorf("files %q, want %q", got, want)
		}
	}
	refused := func(r api.Rewind, code string) {
		t.Helper()
		_, err := c.RewindSession(t.Context(), "s", r)
		if got := outcome.FromError(err).Code; got != code {
			t.Errorf("%+v: %s (%v), want %s", r, got, err, code)
		}
	}
	look := func(r api.Rewind) *api.RewindResult {
		t.Helper()
		got, err := c.RewindSession(t.Context(), "s", r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	r := api.Rewind{Target: "turn:1"}
	plan := look(r)
	if plan.Done != nil || len(plan.Files) != 2 || plan.Files[0].Action != "restore" || plan.Files[1].Action != "delete" || plan.Digest == "" {
		t.Fatalf("%+v", plan)
	}
	files("two b ")

	other := r
	other.Force, other.Digest = true, plan.Digest // not the plan that was shown
	refused(other, "conflict")
	r.Digest = plan.Digest
	write(t, work, "a.txt", "mine")
	refused(r, "conflict")
	refused(api.Rewind{Target: "turn:1", Digest: look(api.Rewind{Target: "turn:1"}).Digest}, "conflict") // the file was changed meanwhile
	write(t, work, "a.txt", "two")
	refused(api.Rewind{}, "usage")
	refused(api.Rewind{Target: "turn:9"}, "usage")
	refused(api.Rewind{Target: "1", ToRewrite: "last"}, "usage")
	refused(api.Rewind{Target: "1", Files: true, Fork: true}, "usage")
	refused(api.Rewind{Target: "turn:1", Except: []string{"c.txt"}}, "usage") // it excludes nothing
	if spared := look(api.Rewind{Target: "turn:1", Except: []string{"b.txt"}}); spared.Files[1].Action != "left" || spared.Digest == plan.Digest {
		t.Errorf("%+v", spared)
	}
	files("two b ")

	done := look(r)
	if done.Done == nil || len(done.Done.Files) != 2 || !done.Done.Transcript || done.Items[1] >= done.Items[0] {
		t.Fatalf("%+v", done)
	}
	files("one - ")
	refused(r, "conflict") // done already

	undo := api.Rewind{Target: strconv.FormatInt(done.Head, 10)}
	undo.Digest = look(undo).Digest
	if got := look(undo); got.Done == nil || got.Items[1] != done.Items[0] {
		t.Errorf("%+v", got)
	}
	files("two b ")
}
