package erasetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// childVar has the test binary be the program.
const childVar = "HOLDFAST_ERASETEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

const word = "zanzibarquux"

// home is a HOLDFAST_HOME, a project and a store.
type home struct {
	testing.TB
	dir, home, project string
	env                []string
}

func newHome(t testing.TB, store string) *home {
	t.Helper()
	if runtime.GOOS == "windows" {
		testneed.Need(t, "commands are a shell's")
	}
	h := &home{TB: t, dir: t.TempDir()}
	h.home, h.project = filepath.Join(h.dir, "home"), filepath.Join(h.dir, "project")
	for _, d := range []string{h.home, h.project, filepath.Join(h.dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if store != "" {
		store = strings.ReplaceAll(store, "HOME", h.home)
	}
	h.env = append(os.Environ(), childVar+"=1", "HOLDFAST_HOME="+h.home, "HOME="+h.dir, "TMPDIR="+filepath.Join(h.dir, "tmp"), "HOLDFAST_STORE="+store,
		"HOLDFAST_NO_DAEMON=1", "NO_COLOR=1", "USER=somebody", "HOLDFAST_STORE_PASSPHRASE=correct horse battery staple", "HOLDFAST_MODEL=")
	return h
}

func (h *home) command(args ...string) *exec.Cmd {
	h.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env, c.Dir = h.env, h.project
	return c
}

// run runs the program and wants it to succeed.
func (h *home) run(args ...string) string {
	h.Helper()
	out, err := h.command(args...).CombinedOutput()
	if err != nil {
		h.Fatalf("holdfast %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (h *home) write(name, text string) {
	h.Helper()
	path := filepath.Join(h.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		h.Fatal(err)
	}
}

type obj = map[string]any

// play is the model's script: it uses every tool that stores text, with the word.
func play() string {
	use := func(name string, in obj) obj { return obj{"tool_uses": []obj{{"tool": name, "input": in}}} }
	steps := []obj{
		{"when": obj{"told": "mate"}, "text": "the mate has said " + word}, // whenever its turns end
		{"when": obj{"user": "once more"}, "text": "once more " + word},
		{"when": obj{"user": "CHILDTASK"}, "text": "the child found " + word},
		{"when": obj{"user": "MATETASK"}, "text": "the mate knows " + word},
		use("Bash", obj{"command": "cat big.log; true " + word}),
		use("Write", obj{"file_path": "note.txt", "content": "first " + word}),
		use("Write", obj{"file_path": "note.txt", "content": "second " + word}),
		use("TaskCreate", obj{"subject": "water " + word, "description": word + " is in the garden"}),
		use("Agent", obj{"description": "look for " + word, "prompt": "CHILDTASK look for " + word}),
		use("TeamCreate", obj{"team_name": "crew"}),
		use("Agent", obj{"description": "help", "name": "mate", "prompt": "MATETASK think of " + word}),
		use("SendMessage", obj{"to": "mate", "message": "MATETASK remember " + word}),
		{"text": "all about " + word},
	}
	raw, err := json.Marshal(obj{"name": "play", "steps": steps})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

const claudeID = "11111111-2222-4333-8444-555555555555"

// plant puts the word everywhere, and returns the sessions to redact: each with all that
// repeats it.
func (h *home) plant() []string {
	h.Helper()
	h.write("play.json", play())
	h.write("home/settings.json", `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"`+h.dir+`/hook.sh","sandbox":"off"}]}]}}`)
	h.write("hook.sh", "#!/bin/sh\necho 'context: "+word+"'\n")
	h.write("project/big.log", strings.Repeat("a line without it\n", 3000)+word+"\n"+strings.Repeat("a line without it\n", 3000))
	h.write("claude/projects/-work/"+claudeID+".jsonl",
		`{"type":"user","uuid":"a1","parentUuid":null,"sessionId":"`+claudeID+`","cwd":"/work","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"about `+word+`"}}`+"\n"+
			`{"type":"summary","summary":"`+word+`","leafUuid":"a1"}`+"\n")
	model := []string{"-q", "-m", "scripted/" + h.dir + "/play.json", "--no-sandbox", "--permission-mode", "bypassPermissions"}
	run := func(args ...string) { h.run(slices.Concat([]string{"run"}, model, args)...) }
	run("--session-id", "first", "tell of "+word)
	h.run("sessions", "rename", "first", "title of "+word)
	h.run("sessions", "tag", "first", word)
	h.run("sessions", "fork", "first", "--id", "second")
	h.run("sessions", "fork", "second", "--id", "third", "--name", "third "+word)
	run("--resume", "third", "once more "+word)
	h.run("sessions", "delete", "--yes", "second") // the third needs what it shows
	h.run("sessions", "import", filepath.Join(h.dir, "claude"))
	for _, format := range []string{"jsonl", "html", "claude"} {
		h.run("sessions", "export", "third", "--format", format, "-o", filepath.Join(h.dir, "export."+format))
	}
	return []string{"third", claudeID}
}

// hits are the files below a folder that have the word.
func hits(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(word)) {
			list = append(list, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// erased redacts, and wants the word to be nowhere.
func (h *home) erased(sessions []string) {
	h.Helper()
	for _, id := range sessions {
		out := h.run("sessions", "redact", "--match", word, "--yes", id)
		if strings.Contains(out, "stays") || strings.Contains(out, "keeps it") || strings.Contains(out, word) {
			h.Errorf("redacting %s leaves something:\n%s", id, out)
		}
	}
	h.nowhere()
}

func (h *home) nowhere() {
	h.Helper()
	if found := hits(h, h.home); len(found) > 0 {
		h.Errorf("the word is still in %v", found)
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, "export.*")); len(left) > 0 {
		h.Errorf("exports are left: %v", left)
	}
	if out := h.run("sessions", "list", "--all") + h.run("sessions", "show", "--records", "third"); strings.Contains(out, word) {
		h.Errorf("the word is still shown:\n%s", out)
	}
	h.run("sessions", "verify", "--all")
	h.run("audit", "verify")
}

func stores(t *testing.T, do func(t *testing.T, store string)) {
	for name, store := range map[string]string{
		"sqlite": "", "file": "file:HOME/store", "encrypted": "encrypted+sqlite:HOME/sealed.db",
	} {
		t.Run(name, func(t *testing.T) { do(t, store) })
	}
}

// A word that normal use has stored everywhere is nowhere after it was erased.
func TestErasedLeavesNoTrace(t *testing.T) {
	stores(t, func(t *testing.T, store string) {
		h := newHome(t, store)
		sessions := h.plant()
		plain := !strings.HasPrefix(store, "encrypted+")
		if plain {
			h.run("sessions", "search", "--all", word)
		}
		found := hits(t, h.home)
		if !plain && len(found) > 0 {
			t.Errorf("an encrypted store left the word in %v", found)
		}
		if outputs, _ := filepath.Glob(filepath.Join(h.home, "output", "run-*", "*.txt")); len(outputs) == 0 {
			t.Error("no long output was kept: nothing is tested here")
		}
		if plain && len(found) < 2 {
			t.Errorf("the word was only planted in %v", found)
		}
		known(t, h.home, store)
		h.erased(sessions)
		if outputs, _ := filepath.Glob(filepath.Join(h.home, "output", "run-*", "*.txt")); len(outputs) != 0 {
			t.Errorf("outputs that had the word are still there: %v", outputs)
		}
	})
}

// Deleting takes the copies along, at once.
func TestDeletedLeavesNoTrace(t *testing.T) {
	stores(t, func(t *testing.T, store string) {
		h := newHome(t, store)
		h.plant()
		if !strings.HasPrefix(store, "encrypted+") {
			h.run("sessions", "search", "--all", word)
		}
		for _, id := range []string{"third", "first", claudeID} {
			h.run("sessions", "delete", "--yes", id)
		}
		if found := hits(t, h.home); len(found) > 0 {
			t.Errorf("the word is still in %v", found)
		}
	})
}

// Killed anywhere in it, the same command does the rest.
func TestEraseFinishedAfterKill(t *testing.T) {
	h := newHome(t, "")
	sessions := h.plant()
	h.run("sessions", "search", "--all", word)
	for steps := range 6 { // how often the journal has changed
		c := h.command("sessions", "redact", "--match", word, "--yes", sessions[0])
		ended := make(chan error, 1)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- c.Wait() }()
		was, changes := journal(h.home), 0
		for over := false; !over && changes <= steps; {
			select {
			case <-ended:
				over = true
			default:
			}
			if now := journal(h.home); now != was {
				was, changes = now, changes+1
			}
			runtime.Gosched()
		}
		_ = c.Process.Kill() // it may have ended
		if changes > steps {
			<-ended
		}
	}
	h.erased(sessions)
}

// journal tells how the store's journal is.
func journal(home string) string {
	info, err := os.Stat(filepath.Join(home, "sessions.db-wal"))
	if err != nil {
		return ""
	}
	return info.ModTime().String()
}

// known wants everything below a home to be in the register.
func known(t *testing.T, home, store string) {
	t.Helper()
	entries, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	register := cli.HomeEntries()
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "sealed.db") || name == "store" && store != "" {
			continue // the stores of this test
		}
		if _, ok := register[name]; !ok {
			t.Errorf("%s below HOLDFAST_HOME is not in cli.HomeEntries: say what it holds and how it is erased", name)
		}
	}
}

// Code that creates something below the home must be in the register.
func TestEveryFolderIsInTheRegister(t *testing.T) {
	named := regexp.MustCompile(`Join\((?:[a-z]+\.)*[hH]ome(?:\(\))?, "([A-Za-z.-]+)"`)
	register := cli.HomeEntries()
	// What the expression finds below other homes: the person's, and those of containers.
	others := []string{".claude", ".codex", ".config", "calls.jsonl"}
	for _, dir := range []string{
		".", "internal/cli", "internal/cli/*", "internal/runtime", "internal/daemon/process", "internal/listen", "internal/workspace", "internal/settings", "internal/daemon", "daemon/client", "internal/agentdef", "internal/instructions", "internal/compose/stores",
	} {
		paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no code in %s: %v", dir, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "demo") {
				continue
			}
			for _, m := range named.FindAllStringSubmatch(string(b), -1) {
				if _, ok := register[m[1]]; !ok && !slices.Contains(others, m[1]) {
					t.Errorf("%s: %q below HOLDFAST_HOME is not in cli.HomeEntries", path, m[1])
				}
			}
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "erasure.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range register {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/erasure.md does not tell of %s", name)
		}
	}
}
