//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
)

// watching prepares a jail that moves .tool and sub/file to quarantine.
func watching(t *testing.T) (j *Jail, work string, store quarantine.Folder) {
	t.Helper()
	work, store = t.TempDir(), quarantine.Folder(filepath.Join(t.TempDir(), "q"))
	if err := os.Mkdir(filepath.Join(work, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	j, err := Prepare(&Policy{
		Read: []string{"/"}, Write: []string{work}, Pin: []string{work + "/sub"},
		Forbid: []Name{{Path: work + "/.tool"}, {Path: work + "/sub/file", Dot: true}}, Quarantine: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, work, store
}

// entries returns the names in a folder.
func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A file with a protected name is in quarantine when the command has ended, however it was created.
func TestForbiddenNameQuarantined(t *testing.T) {
	for what, script := range map[string]string{
		"a folder":                    "mkdir .tool && echo x >.tool/settings",
		"a folder of no rights":       "mkdir .t && echo x >.t/settings && chmod 555 .t && mv .t .tool",
		"a file":                      "echo x >.tool",
		"a link":                      "ln -s /etc/passwd .tool",
		"a second name of a file":     "echo x >a && ln a .tool",
		"a file that was moved there": "echo x >b && mv b .tool",
		"a pipe":                      "mkfifo .tool",
		"in another folder":           "echo x >sub/file",
	} {
		for name, on := range map[string]string{"same disk": "", "another disk": "/dev/shm"} {
			t.Run(what+", "+name, func(t *testing.T) {
				j, work, store := watching(t)
				if on != "" {
					dir, err := os.MkdirTemp(on, "holdfast-")
					if err != nil {
						t.Skip(err)
					}
					defer os.RemoveAll(dir)
					store = quarantine.Folder(dir)
					j.watch.store = store
				}
				got := sh(t, j, work, script+"; sleep 0.05; true")
				if len(got.Quarantined) == 0 || len(got.Appeared) > 0 {
					t.Fatalf("moved %v, appeared %v: %s", got.Quarantined, got.Appeared, got.out)
				}
				if there := entries(t, work) + entries(t, work+"/sub"); strings.Contains(there, "file") || strings.Contains(there, ".tool") {
					t.Errorf("%q are there", there)
				}
				items, err := store.List()
				if err != nil || len(items) != len(got.Quarantined) || items[len(items)-1].Path != got.Quarantined[0].Path {
					t.Errorf("in quarantine: %v, %v", items, err)
				}
				if again := sh(t, j, work, "true"); len(again.Quarantined) > 0 {
					t.Errorf("reported again: %v", again.Quarantined)
				}
			})
		}
	}
}

// A command that creates a name repeatedly is killed.
func TestRepeatedOffenderKilled(t *testing.T) {
	j, work, _ := watching(t)
	got := sh(t, j, work, "while :; do mkdir .tool 2>/dev/null; done")
	if !got.Status.Signaled() || got.Status.Signal() != syscall.SIGKILL || len(got.Quarantined) < maxRepeats {
		t.Errorf("%v, moved %d", got.Status, len(got.Quarantined))
	}
	if there := entries(t, work); there != "sub" {
		t.Errorf("%q are there", there)
	}
}

// Without inotify the result of a command is the same.
func TestForbiddenNamesWithoutInotify(t *testing.T) {
	j, work, _ := watching(t)
	none, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	j.watch.events = none // subscribing was tried and failed
	if got := sh(t, j, work, "while :; do mkdir .tool 2>/dev/null; done"); !got.Status.Signaled() || len(got.Quarantined) < maxRepeats {
		t.Errorf("%v, moved %d", got.Status, len(got.Quarantined))
	}
}

// idle starts a command that waits, and waits until the activity of its processes was recorded.
func idle(t *testing.T, j *Jail, work string) *Process {
	t.Helper()
	proc, r := start(t, j, Attr{Dir: work}, "echo begun; exec sleep 100")
	if _, err := io.ReadFull(r, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proc.Signal(syscall.SIGKILL)
		_, _ = proc.Wait()
	})
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		cmdline, _ := os.ReadFile(procFile(t, proc))
		trace := proc.trace()
		if strings.HasPrefix(string(cmdline), "sleep") && trace != "" {
			j.watch.mu.Lock()
			j.watch.running[proc].trace = trace
			j.watch.mu.Unlock()
			return proc
		}
	}
	t.Skip("this kernel does not say what processes do")
	return nil
}

// procFile returns the command line of the process below init.
func procFile(t *testing.T, p *Process) string {
	t.Helper()
	dir := filepath.Join("/proc", itoa(int64(p.pid)), "task", itoa(int64(p.pid)))
	child, _ := os.ReadFile(filepath.Join(dir, "children"))
	return filepath.Join("/proc", strings.TrimSpace(string(child)), "cmdline")
}

// A file that another program creates while a command only waits stays.
func TestForeignFilesStay(t *testing.T) {
	j, work, store := watching(t)
	proc := idle(t, j, work)
	if err := os.Mkdir(work+"/.tool", 0o755); err != nil {
		t.Fatal(err)
	}
	j.watch.sweepNow()
	if there := entries(t, work); there != ".tool sub" {
		t.Errorf("%q are there, %q in quarantine", there, entries(t, string(store)))
	}
	if err := proc.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s, err := proc.Wait(); err != nil || len(s.Quarantined) > 0 {
		t.Errorf("%v, %v", s.Quarantined, err)
	}
}

// If a command was active meanwhile, the file's creator is unknown, and the file is moved to be safe.
func TestUnknownOriginQuarantined(t *testing.T) {
	j, work, store := watching(t)
	proc := idle(t, j, work)
	if err := unix.Kill(proc.pid, 0); err != nil {
		t.Fatal(err)
	}
	j.watch.mu.Lock()
	j.watch.running[proc].trace += " "
	j.watch.mu.Unlock()
	if err := os.Mkdir(work+"/.tool", 0o755); err != nil {
		t.Fatal(err)
	}
	j.watch.sweepNow()
	if there := entries(t, work); there != "sub" {
		t.Errorf("%q are there, %q in quarantine", there, entries(t, string(store)))
	}
}

// Files that this process creates while commands run are not attributed to a command.
func TestOwnFilesStay(t *testing.T) {
	j, work, store := watching(t)
	proc, r := start(t, j, Attr{Dir: work}, "echo begun; while [ ! -e end ]; do sleep 0.01; done")
	if _, err := io.ReadFull(r, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(work, ".tool/settings")
	err := store.MarkOwn(name, func() error { return errors.Join(os.Mkdir(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)) })
	if err != nil {
		t.Fatal(err)
	}
	j.watch.sweepNow()
	if err := os.WriteFile(work+"/end", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := proc.Wait(); err != nil || len(s.Quarantined) > 0 {
		t.Errorf("%v, %v", s.Quarantined, err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}

// Placeholders of a killed sandbox of the last version are removed; those that a running one holds stay.
func TestPlaceholdersRemoved(t *testing.T) {
	j, work, _ := watching(t)
	take := func() {
		t.Helper()
		if err := errors.Join(unix.Mknod(work+"/.tool", unix.S_IFSOCK, 0), createDotPlaceholder(work+"/sub/file")); err != nil {
			t.Fatal(err)
		}
	}
	take()
	if got := sh(t, j, work, "ls -A . sub"); strings.Contains(got.out, "tool") || strings.Contains(got.out, "file") || len(got.Quarantined) > 0 {
		t.Errorf("%q, moved %v", got.out, got.Quarantined)
	}
	take()
	lock, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, j, work, "true"); len(got.Quarantined) > 0 || !IsPlaceholder(work+"/.tool") || IsPlaceholder(work+"/sub/file") {
		t.Errorf("moved %v, there are %q", got.Quarantined, entries(t, work))
	}
}

// If a folder is replaced by another one, both are watched.
func TestReplacedFolderWatched(t *testing.T) {
	j, work, store := watching(t)
	idle(t, j, work)
	if err := errors.Join(os.Rename(work+"/sub", work+"/old"), os.Mkdir(work+"/sub", 0o755)); err != nil {
		t.Fatal(err)
	}
	got := sh(t, j, work, "echo x >sub/file; echo x >old/file; sleep 0.05")
	if there := entries(t, work+"/sub") + entries(t, work+"/old"); there != "" || len(got.Quarantined) != 2 {
		t.Errorf("%q are there, moved %v, %q in quarantine", there, got.Quarantined, entries(t, string(store)))
	}
}
