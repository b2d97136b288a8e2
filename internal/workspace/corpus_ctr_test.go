package workspace

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

const corpusFile = "agentkit-commaagents-parachute.json"

// The corpus cases about containers.
func TestCorpusContainers(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, corpusFile, "ctr"), map[string]func(*testing.T, corpus.Case){
		"pa-ctr-002": caseStatus,
		"pa-ctr-004": corpus.Test(`{"given": {"limits seed":{"memory":"512m","cpus":"1.0","pids":100},"limits head":{"memory":"4g","memory-swap":"4g","cpus":"2.0","pids":300,"nproc":"256:256","nofile":"4096:8192"}}, "when": ["create"], "expect": {"always":["drop all capabilities","no-new-privileges","init","pids limit","non-root uid 1000"]}}`, caseAlways),
		"pa-ctr-009": corpus.Test(`{"given": {"state":"no allowed paths (seed version)"}, "when": ["mounts"], "expect": {"vault":"read-only"}}`, caseOnlyNamedFolders),
		"pa-ctr-010": corpus.Test(`{"given": {"state":"allowed_paths (head)"}, "when": ["mounts"], "expect": {"host paths":"none"}}`, caseOnlyNamedFolders),
		"pa-ctr-011": corpus.Test(`{"given": {"state":"existing container made before the .claude mount feature"}, "when": ["ensure"], "expect": {"container":"rebuilt because its config hash differs, unless a turn is running in it"}}`, whole(tryConfigChange)),
		"pa-ctr-016": corpus.Test(`{"given": {"state":"container OOM (inspect says OOMKilled or cgroup oom_kill count rose)"}, "when": ["handle"], "expect": {"error":"Container ran out of memory. It will be recreated on next use.","next message":"new container, same mounted data, resume works"}}`, caseOOM),
		"pa-ctr-017": corpus.Test(`{"given": {"state":"exec exits 2 with stderr 'boom'"}, "when": ["handle"], "expect": {"error":"Sandbox error (exit 2): boom"}}`, caseExit),
		"pa-ctr-019": corpus.Test(`{"given": {"state":"user interrupts"}, "when": ["handle"], "expect": {"process inside the container":"stopped","turn":"recorded as interrupted"}}`, whole(tryCancelLeavesNothing)),
		"pa-ctr-021": corpus.Test(`{"given": {"state":"child writes 1 MB to stderr while running"}, "when": ["read"], "expect": {"stdout events":"keep flowing"}}`, caseYell),
		"pa-ctr-024": corpus.Test(`{"given": {"state":"server start, containers: known, orphan, legacy name"}, "when": ["reconcile"], "expect": {"known":"kept","orphan":"removed","legacy":"removed"}}`, whole(tryReconcile)),
		"pa-ctr-027": corpus.Test(`{"given": {"state":"server shutdown"}, "when": ["stop all"], "expect": {"containers":"stopped in parallel, grace 5 s, not removed","next use":"started again"}}`, whole(tryStopAll)),
		"pa-ctr-028": corpus.Test(`{"given": {"state":"network create fails for another reason (exit 1)"}, "when": ["ensure"], "expect": {"error":"reported"}}`, whole(tryEnsureFails)),
		"pa-ctr-029": corpus.Test(`{"given": {"state":"Linux host uid 1001"}, "when": ["create"], "expect": {"container user can write the mounted home":true}}`, caseWritable),
		"pa-ctr-030": corpus.Test(`{"given": {"state":"host path mounts"}, "when": ["mount a path that is a symlink to /"], "expect": {"refused":true}}`, caseLink),
	}, map[string]string{
		"pa-ctr-022": "what an agent writes is read by its driver: internal/workspace/vendoragent has it",
	})
}

// The corpus case of a machine without an engine.
func TestCorpusNoDocker(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, corpusFile, "no docker"), map[string]func(*testing.T, corpus.Case){"xx-020": corpus.Test(`{"given": {"state":"docker absent"}, "when": ["sandboxed session"], "expect": {"refused with a clear reason, never falls back to direct":true}}`, whole(tryNoEngine))}, nil)
}

func whole(test func(*testing.T)) func(*testing.T, corpus.Case) {
	return func(t *testing.T, _ corpus.Case) {
		if testing.Short() {
			t.Skip("a container for each: make test-all")
		}
		test(t)
	}
}

func caseStatus(t *testing.T, c corpus.Case) {
	var given struct {
		Status string `json:"container status"`
	}
	var expect struct{ Actions []string }
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &expect)
	want := map[string]string{labelID: "1", labelConfig: "a"}
	for i, status := range strings.Split(given.Status, " / ") {
		found := &engine.Container{State: engine.State(status), Labels: want}
		if status == "absent" {
			found = nil
		}
		if do, _ := plan(found, want); string(do) != expect.Actions[i] {
			t.Errorf("%s: %s, want %s", status, do, expect.Actions[i])
		}
	}
}

// caseAlways checks a process in a container, and the settings that the engine received (TestLockedDown of
// package engine checks them field by field).
func caseAlways(t *testing.T, _ corpus.Case) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	status := output(t, w, "blog", "read", "/proc/self/status")
	for _, line := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, line) {
			t.Errorf("no %q in %s", line, status)
		}
	}
	if id := output(t, w, "blog", "id"); strings.HasPrefix(id, "0 ") {
		t.Errorf("root: %s", id)
	}
	if first := output(t, w, "blog", "read", "/proc/1/comm"); !strings.Contains(first, "init") {
		t.Errorf("the first process is %s", first)
	}
	raw, err := e.InspectRaw(t.Context(), c.ID)
	for _, field := range []string{`"PidsLimit":256`, `"Memory":268435456`, `"MemorySwap":268435456`, `"ReadonlyRootfs":true`, `"NetworkMode":"none"`, `"Privileged":false`} {
		if err != nil || !bytes.Contains(raw, []byte(field)) {
			t.Errorf("no %s (%v)", field, err)
		}
	}
}

// caseOnlyNamedFolders: only the host folders that the settings name are mounted.
func caseOnlyNamedFolders(t *testing.T, _ corpus.Case) {
	w, err := New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := (&Settings{Slug: "blog"}).WithDefaults()
	d := w.dirs(&s)
	spec := w.spec(&s, hostFolders{home: d.Home, run: d.Run, project: d.Project}, "sha256:0", engine.Info{})
	if len(spec.Mounts) != 3 {
		t.Errorf("%+v", spec.Mounts)
	}
	for _, m := range spec.Mounts {
		if !strings.HasPrefix(m.Source, d.Base+"/") {
			t.Errorf("%+v", m)
		}
	}
	s.Mounts = []Mount{{Host: "/data", Target: "/mnt/data", ReadOnly: true}}
	spec = w.spec(&s, hostFolders{home: d.Home, run: d.Run, project: d.Project}, "sha256:0", engine.Info{})
	if last := spec.Mounts[3]; len(spec.Mounts) != 4 || last != (engine.Mount{Source: "/data", Target: "/mnt/data", ReadOnly: true}) {
		t.Errorf("%+v", spec.Mounts)
	}
}

func caseOOM(t *testing.T, c corpus.Case) {
	var expect struct {
		Error string
		Next  string `json:"next message"` // tested by tryOutOfMemory
	}
	c.Decode(t, c.Expect(), &expect)
	if err := Failure(supervisor.Exit{Code: 137, Signal: "SIGKILL", OOM: true}); err == nil || err.Error() != expect.Error {
		t.Errorf("%v", err)
	}
	tryOutOfMemory(t)
}

func caseExit(t *testing.T, c corpus.Case) {
	var expect struct{ Error string }
	c.Decode(t, c.Expect(), &expect)
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	exit, err := w.Exec(t.Context(), "blog", ExecOptions{Args: []string{"holdfast", "exit", "2", "boom"}})
	if err != nil || Failure(exit) == nil || Failure(exit).Error() != expect.Error {
		t.Errorf("%v, %v", Failure(exit), err)
	}
}

func caseYell(t *testing.T, _ corpus.Case) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	if got := output(t, w, "blog", "yell"); got != "done\n" {
		t.Errorf("%q", got)
	}
}

func caseWritable(t *testing.T, _ corpus.Case) {
	uid, gid := agentUser()
	if os.Getuid() != 0 && uid != os.Getuid() || uid == 0 || gid == 0 && os.Getgid() == 0 && os.Getuid() == 0 {
		t.Errorf("the agent is %d:%d, the caller %d:%d", uid, gid, os.Getuid(), os.Getgid())
	}
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	s := createSmall(t, w, "blog", image)
	output(t, w, "blog", "write", "/home/agent/note", "x")
	if b, err := os.ReadFile(w.dirs(s).Home + "/note"); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

func caseLink(t *testing.T, _ corpus.Case) {
	w, err := New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	link := t.TempDir() + "/link"
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Settings{{Slug: "a", Project: link}, {Slug: "b", Mounts: []Mount{{Host: link, Target: "/mnt/all"}}}, {Slug: "c", Mounts: []Mount{{Host: link, Target: "/mnt/all", ReadOnly: true}}}} {
		if _, err := w.Create(t.Context(), s); err == nil || !strings.Contains(err.Error(), "link") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
