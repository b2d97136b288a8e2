package crashtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// folderWatcher looks at a folder every 5 ms, as an editor or a sync client does.
type folderWatcher struct {
	mu   sync.Mutex
	seen map[string]bool // what was not there before, and no command made
	done chan struct{}
	over sync.WaitGroup
}

// watchFolder starts to watch. The commands of the test name their files made-….
func watchFolder(dir string) *folderWatcher {
	b := &folderWatcher{seen: map[string]bool{}, done: make(chan struct{})}
	before := listAll(dir)
	b.over.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			for name := range listAll(dir) {
				if !before[name] && !strings.HasPrefix(name, "made-") {
					b.mu.Lock()
					b.seen[name] = true
					b.mu.Unlock()
				}
			}
			select {
			case <-tick.C:
			case <-b.done:
				return
			}
		}
	})
	return b
}

// end returns what was seen.
func (b *folderWatcher) end() []string {
	close(b.done)
	b.over.Wait()
	var names []string
	for name := range b.seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func listAll(dir string) map[string]bool {
	names := map[string]bool{}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, bad := filepath.Rel(dir, path); err == nil && bad == nil {
			names[rel] = true
		}
		return nil
	})
	return names
}

// The project folder as another process sees it, while commands run in the sandbox, one after the
// other and in a run, and when holdfast is killed: it contains only what commands made. A full
// trial is 200 commands and 50 kills.
func TestUserFolderClean(t *testing.T) {
	bin := testprogram.Path(t)
	home, project := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\tbare = false\n", ".git/objects/x/": "", ".git/refs/x/": "", "main.go": "package main\n"} {
		full := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hold := func(args ...string) *exec.Cmd {
		c := exec.Command(bin, args...)
		c.Dir, c.Env = project, environ(home)
		return c
	}
	if out, err := hold("sandbox", "exec", "--", "true").CombinedOutput(); err != nil {
		testneed.Need(t, "no kernel sandbox here: %s", out)
	}
	play := filepath.Join(home, "play.yaml")
	var steps strings.Builder
	for i := range 10 {
		fmt.Fprintf(&steps, "  - tool_uses: [{tool: Bash, input: {command: 'ls -A && echo x >made-run-%d'}}]\n", i)
	}
	if err := os.WriteFile(play, []byte("steps:\n"+steps.String()+"  - text: done\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	if out, err := hold("sessions", "list").CombinedOutput(); err != nil { // the project has its id
		t.Fatalf("%v: %s", err, out)
	}
	other := watchFolder(project)
	for i := range trials(t, 190) {
		if out, err := hold("sandbox", "exec", "--", "sh", "-c", fmt.Sprintf("echo x >made-%d", i)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := hold("run", "--no-daemon", "--permission-mode", "bypassPermissions", "-m", "scripted/"+play, "go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(project, "made-run-9")); err != nil {
		t.Error(err)
	}
	for i := range trials(t, 50) {
		made, marker := fmt.Sprintf("made-killed-%d", i), fmt.Sprintf("98765.%d", os.Getpid()*1000+i)
		c := hold("sandbox", "exec", "--", "sh", "-c", "echo x >"+made+"; exec sleep "+marker)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the command", func() bool { _, err := os.Stat(filepath.Join(project, made)); return err == nil })
		await(t, "its program", func() bool { return isRunning(marker) })
		_ = c.Process.Signal(syscall.SIGKILL)
		_ = c.Wait()
		await(t, "the end of what it ran", func() bool { return !isRunning(marker) })
	}
	if seen := other.end(); len(seen) > 0 {
		t.Errorf("somebody else sees %q", seen)
	}
}

// isRunning reports whether a process has a word in its command line.
func isRunning(word string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(name string) bool {
		b, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(b), "\x00"+word+"\x00") && strings.HasPrefix(string(b), "sleep")
	})
}

func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !there(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}
