package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// The system calls by which stores change the disk.
var changing = []string{"pwrite64", "fsync", "fdatasync", "ftruncate", "renameat", "renameat2", "unlinkat", "mkdirat", "linkat"}

// Each system call of a small history that changes the disk fails in turn, once and
// permanently. Every error has a type, everything acknowledged is stored, a poisoned store can
// be opened again, and afterwards everything works. With HOLDFAST_CRASH_TRIALS every call
// fails, otherwise a few.
func TestFaults(t *testing.T) {
	takesLong(t)
	if _, err := exec.LookPath("strace"); err != nil {
		testneed.Need(t, `%v; run: eval "$(scripts/services env strace)"`, err)
	}
	errnos, step := []string{"EIO", "ENOSPC", "EDQUOT", "EROFS"}, 9
	if os.Getenv("HOLDFAST_CRASH_TRIALS") != "" {
		step = 1
	}
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			s := &faults{store: store, dir: t.TempDir(), refused: map[string]int{}}
			for i, call := range changing {
				for n := 1 + i%2; ; n += step {
					errno := errnos[s.n%len(errnos)]
					if !s.cell(t, call, errno, fmt.Sprint(n)) {
						break
					}
					if step == 1 || s.n%3 == 0 { // from then on
						s.cell(t, call, errno, fmt.Sprintf("%d+", n))
					}
				}
			}
			t.Logf("%d cells, %d calls failed; errors: %v; %d syncs of folders failed and nobody was told", s.n, s.hit, s.refused, s.folders)
		})
	}
}

type faults struct {
	store, dir string
	n, hit     int
	folders    int
	refused    map[string]int
}

var injected = regexp.MustCompile(`(\w+)\((?:\w+<([^>]*)>)?.*\(INJECTED\)`)

// wholeCalls joins the two lines of a call between which another thread's call is told.
func wholeCalls(trace string) string {
	begun, lines := map[string]string{}, strings.Split(trace, "\n") // begun by thread
	for i, line := range lines {
		thread, rest, _ := strings.Cut(line, " ")
		if call, ok := strings.CutSuffix(rest, " <unfinished ...>"); ok {
			begun[thread] = call
		} else if _, end, ok := strings.Cut(rest, " resumed>"); ok {
			lines[i] = thread + " " + begun[thread] + end
		}
	}
	return strings.Join(lines, "\n")
}

// expected are the kinds of errors that an error number may become.
var expected = map[string][]string{
	"EIO":    {"poisoned", "io"},
	"ENOSPC": {"poisoned", "full"},
	"EDQUOT": {"poisoned", "full"},
	"EROFS":  {"poisoned", "read-only"},
}

// cell runs the history with one failure and reports whether there was something to fail.
func (s *faults) cell(t *testing.T, call, errno, when string) bool {
	t.Helper()
	name := call + " " + errno + " " + when
	dir := filepath.Join(s.dir, fmt.Sprint(s.n))
	trace, out := filepath.Join(s.dir, "trace"), filepath.Join(s.dir, "out")
	s.n++
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.child(t, Task{Store: s.store, Dir: dir, Work: "fault", Report: out, Ledger: os.DevNull},
		"strace", "-f", "--seccomp-bpf", "-y", "-q", "-o", trace, "-e", "trace="+call, "-e", "inject="+call+":error="+errno+":when="+when, "--")
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	report := s.report(t, out)
	hits := injected.FindAllStringSubmatch(wholeCalls(string(text)), -1)
	for _, f := range append(report.Faults, report.Failed...) {
		t.Errorf("%s: %s", name, f)
	}
	told := 0
	for _, e := range report.Events {
		if e.What != Refused {
			continue
		}
		told++
		s.refused[e.Session]++
		if len(hits) > 0 && e.Session != "follows" && !slices.Contains(expected[errno], e.Session) {
			t.Errorf("%s: %s: %s", name, e.Session, e.Text)
		}
	}
	switch {
	case len(hits) == 0 && told > 0:
		t.Errorf("%s: nothing failed, and yet: %+v", name, report.Events)
	case len(hits) > 0 && told == 0 && strings.Contains(call, "sync"):
		if strings.HasSuffix(hits[0][2], dir) || !strings.Contains(filepath.Base(hits[0][2]), ".") && s.store == "sqlite" {
			s.folders++
		} else {
			t.Errorf("%s: a sync of %s failed, and nothing was refused", name, hits[0][2])
		}
	}
	s.check(t, name, dir, out)
	s.hit += len(hits)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return len(hits) > 0
}

// check checks what is left when nothing fails any more.
func (s *faults) check(t *testing.T, name, dir, past string) {
	t.Helper()
	out := filepath.Join(s.dir, "found")
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.child(t, Task{Store: s.store, Dir: dir, Work: "check", Report: out, Past: past, Ledger: os.DevNull})
	found := s.report(t, out)
	for _, f := range append(found.Faults, found.Failed...) {
		t.Errorf("%s: afterwards: %s", name, f)
	}
	if !found.Done {
		t.Errorf("%s: afterwards the store is not usable", name)
	}
}

func (s *faults) report(t *testing.T, path string) *Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := ReadReport(f, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// child runs a task to its end in a process of its own, below another program.
func (s *faults) child(t *testing.T, task Task, below ...string) {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	words := append(below, os.Args[0])
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), childVar+"="+string(text), "GOMAXPROCS=2")
	out, err := cmd.CombinedOutput()
	if len(out) > 0 || cmd.ProcessState == nil {
		t.Fatalf("the child: %v\n%s", err, firstLines(string(out), 30))
	}
}
