//go:build linux

package cgroup

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// fake is a folder with the files of a machine in testdata/machines.
type fake struct {
	system
	t      *testing.T
	closed map[string]bool // folders that are not writable
}

// load creates a fake machine. The columns of its group table are: folder, type (- for the root), number of
// processes, controllers, controllers given to groups in it, rw or ro.
func load(t *testing.T, file string) (*fake, string) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, closed: map[string]bool{}}
	f.system = system{root: t.TempDir(), mkdir: f.mkdir, rmdir: os.RemoveAll, writable: func(p string) bool {
		for p != f.root && p != "/" {
			if f.closed[p] {
				return false
			}
			if f.exists(path.Join(p, "cgroup.procs")) {
				return true
			}
			p = path.Dir(p)
		}
		return false
	}}
	for _, part := range a.Files {
		switch part.Name {
		case "mountinfo", "cgroup":
			f.put("/proc/self/"+part.Name, string(part.Data))
		case "groups":
			for line := range strings.Lines(string(part.Data)) {
				f.group(strings.Fields(line))
			}
		}
	}
	return f, string(a.Comment)
}

func (f *fake) group(w []string) {
	if len(w) != 6 {
		f.t.Fatalf("invalid line of a group: %q", w)
	}
	list := func(s string) string { return strings.ReplaceAll(strings.Trim(s, "-"), ",", " ") + "\n" }
	dir := unescape(w[0])
	f.put(dir+"/cgroup.procs", strings.Repeat("1\n", strings.Count(w[2], "1")))
	f.put(dir+"/cgroup.controllers", list(w[3]))
	f.put(dir+"/cgroup.subtree_control", list(w[4]))
	if w[1] != "-" {
		f.put(dir+"/cgroup.type", w[1]+"\n")
	}
	f.closed[f.root+dir] = w[5] == "ro"
}

func (f *fake) put(name, text string) {
	f.t.Helper()
	full := f.root + name
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o600)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) exists(full string) bool {
	_, err := os.Stat(full)
	return err == nil
}

// get reads a file of the machine.
func (f *fake) get(name string) string {
	b, err := os.ReadFile(f.root + name)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// files are the files that a controller adds to a new group of version 2.
var files = map[string]map[string]string{
	memory: {"memory.max": "max", "memory.swap.max": "max", "memory.events": "low 0\nmax 9\noom 4\noom_kill 3", "memory.peak": "4096"},
	pids:   {"pids.max": "max", "pids.events": "max 7"},
	cpu:    {"cpu.max": "max 100000"},
}

// mkdir creates a group of version 2, with the files of the controllers that the parent group gives.
func (f *fake) mkdir(full string) error {
	if err := os.Mkdir(full, 0o755); err != nil {
		return err
	}
	dir := strings.TrimPrefix(full, f.root)
	given := strings.Fields(strings.ReplaceAll(f.get(path.Dir(dir)+"/cgroup.subtree_control"), "+", ""))
	f.group([]string{dir, "domain", "0", strings.Join(given, ",") + "-", "-", "rw"})
	for _, c := range given {
		for name, text := range files[c] {
			f.put(dir+"/"+name, text)
		}
	}
	return nil
}

// TestPlaces reads the machines of testdata/machines. A comment line in each names the place for groups with
// some controllers, or "-" and the reason why there is none.
func TestPlaces(t *testing.T) {
	machines, err := filepath.Glob("testdata/machines/*.txtar")
	if err != nil || len(machines) == 0 {
		t.Fatal("no machines", err)
	}
	for _, file := range machines {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			f, comment := load(t, file)
			_, lines, ok := strings.Cut(comment, "\n\n")
			if !ok {
				t.Fatal("the comment has no cases")
			}
			for line := range strings.Lines(lines) {
				list, want, ok := strings.Cut(strings.TrimSpace(line), " ")
				if !ok {
					t.Fatalf("not a case: %q", line)
				}
				if got := f.description(strings.Split(list, ",")); got != want {
					t.Errorf("%s:\ngot  %s\nwant %s", list, got, want)
				}
			}
		})
	}
}

func (f *fake) description(wanted []string) string {
	places, err := f.places(wanted)
	if err != nil {
		absent, ok := errors.AsType[*UnavailableError](err)
		if !ok || !errors.Is(err, ErrUnavailable) || absent.Hint() == "" || !slices.Contains(wanted, absent.Controller) {
			f.t.Errorf("not an error with everything in it: %v", err)
			return ""
		}
		return "- " + absent.Reason
	}
	var out []string
	for _, p := range places {
		out = append(out, string(rune('0'+p.version))+":"+strings.ReplaceAll(p.dir, " ", `\040`))
		for _, c := range p.enable {
			out = append(out, "+"+c)
		}
	}
	return strings.Join(out, " ")
}

func TestDetectMachines(t *testing.T) {
	f, _ := load(t, "testdata/machines/v2-nocpu.txtar")
	s := f.detect()
	want := []Controller{
		{Name: pids, Available: true, Version: 2, Folder: "/sys/fs/cgroup/u"},
		{Name: memory, Available: true, Version: 2, Folder: "/sys/fs/cgroup/u"},
		{
			Name: cpu, Hint: hintV2,
			Reason: "no writable group from /sys/fs/cgroup/u/app/x upwards can delegate the controller",
		},
	}
	if !slices.Equal(s.Controllers, want) {
		t.Errorf("got %+v", s.Controllers)
	}
	if err := s.Allows(Limits{Memory: 1, Processes: 1}); err != nil {
		t.Error(err)
	}
	err := s.Allows(Limits{Memory: 1, CPUs: 1})
	if absent, ok := errors.AsType[*UnavailableError](err); !ok || absent.Controller != cpu {
		t.Error(err)
	}
	if err := os.Remove(f.root + "/proc/self/cgroup"); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.detect().Controllers {
		if c.Available || c.Reason == "" || c.Hint == "" {
			t.Errorf("a kernel without groups: %+v", c)
		}
	}
}

// TestOpenUnified creates groups of version 2 as folders.
func TestOpenUnified(t *testing.T) {
	f, _ := load(t, "testdata/machines/v2-top.txtar")
	g, err := f.open(&Limits{Memory: 1 << 20, Processes: 20, CPUs: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.folders) != 1 || len(g.Procs()) != 1 {
		t.Fatalf("%d folders", len(g.folders))
	}
	const top = "/sys/fs/cgroup"
	if got := f.get(top + "/cgroup.subtree_control"); got != "+pids +memory +cpu" {
		t.Errorf("given: %s", got)
	}
	dir := strings.TrimPrefix(g.folders[0].path, f.root)
	for name, want := range map[string]string{
		"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "20", "cpu.max": "150000 100000",
	} {
		if got := f.get(dir + "/" + name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if g.OOM() != 3 || g.Peak() != 4096 || g.RefusedForks() != 7 {
		t.Errorf("killed %d, peak %d, forks %d", g.OOM(), g.Peak(), g.RefusedForks())
	}
	if _, err := g.Procs()[0].WriteString("0"); err != nil {
		t.Error(err)
	}
	f.put(dir+"/cgroup.procs", "")
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if f.exists(f.root + dir) {
		t.Error("the group is still there")
	}
	if g.OOM() != 3 || g.Close() != nil || g.Kill() != nil {
		t.Error("a closed group does not know what it was, or ends twice")
	}
}

// TestOpenFails checks that a failed Open leaves nothing behind.
func TestOpenFails(t *testing.T) {
	f, _ := load(t, "testdata/machines/v2-top.txtar")
	files := maps.Clone(files[cpu])
	f.system.mkdir = func(full string) error {
		err := f.mkdir(full)
		for name := range files {
			err = errors.Join(err, os.Remove(filepath.Join(full, name)))
		}
		return err
	}
	if _, err := f.open(&Limits{CPUs: 1}); err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "cpu.max") {
		t.Errorf("without its file: %v", err)
	}
	f.system.mkdir = func(string) error { return os.ErrPermission }
	if _, err := f.open(&Limits{CPUs: 1}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without rights: %v", err)
	}
	left, _ := filepath.Glob(f.root + "/sys/fs/cgroup/holdfast*")
	if len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
