package agent_test

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/rewind"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// fileTools returns the file tools for a folder.
func fileTools(t testing.TB, dir string) []tool.Tool {
	t.Helper()
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folders.Close() })
	f, err := files.New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Tools()
}

// savedIn returns the file.saved records of a session.
func savedIn(t testing.TB, s *session.Sessions, id string) (list []record.FileSaved, seqs []int64) {
	t.Helper()
	for r, err := range s.Records(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != record.KindFileSaved {
			continue
		}
		var f record.FileSaved
		if err := json.Unmarshal(r.Payload, &f); err != nil {
			t.Fatal(err)
		}
		list, seqs = append(list, f), append(seqs, r.Seq)
	}
	return list, seqs
}

var allowAll = policy.Config{Mode: policy.ModeBypass}

func TestFilesSavedInLog(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	secretText := "ghp_" + "Zq8Lx2Vn4Rb7Tc9Wk3Md6Yp1Hs5Jf0Ga8Ue2"
	if err := os.WriteFile(filepath.Join(dir, "env"), []byte("TOKEN="+secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	s := session.New(memory.New(), nil)
	o := agent.Options{Sessions: s, Tools: registry(t, fileTools(t, dir)...), Mask: masker(t), Permissions: agent.Permissions{Config: allowAll}}
	m := play(t,
		step{uses: usesOf(use("r", "Read", `{"file_path":"a"}`), use("r2", "Read", `{"file_path":"env"}`))},
		step{uses: usesOf(
			use("w1", "Write", `{"file_path":"a","content":"two"}`), use("w2", "Write", `{"file_path":"a","content":"one"}`),
			use("w3", "Write", `{"file_path":"a","content":"two"}`), use("w4", "Write", `{"file_path":"d/new","content":"n"}`),
			use("w5", "Write", `{"file_path":"env","content":"TOKEN=x"}`),
		)},
		step{text: "done"})
	a := newAgent(t, m, o)
	prompt(t, a, "go")
	id := a.SessionID()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	list, seqs := savedIn(t, s, id)
	if len(list) != 5 {
		t.Fatalf("%d are saved", len(list))
	}
	one := session.Digest(sha256.Sum256([]byte("one"))).String()
	if f := list[0]; f.Use != "w1" || f.Path != filepath.Join(dir, "a") || f.Digest != one || f.Mode != "640" || f.Size != 3 || f.Data == "" ||
		f.After != session.Digest(sha256.Sum256([]byte("two"))).String() {
		t.Errorf("the first: %+v", f)
	}
	if content, err := list[0].Data.Content(one); err != nil || string(content) != "one" {
		t.Errorf("content %q, %v", content, err)
	}
	if f := list[1]; f.Data == "" || f.SameAs != 0 {
		t.Errorf("another content: %+v", f)
	}
	if f := list[2]; f.Data != "" || f.SameAs != seqs[0] {
		t.Errorf("the same content once more: %+v", f)
	}
	if f := list[3]; f.Existed || f.Digest != record.FileAbsent || f.Folders != 1 || f.Data != "" {
		t.Errorf("a new file: %+v", f)
	}
	if f := list[4]; f.Data != "" || f.Omitted != record.OmittedMasked {
		t.Errorf("a file with a secret: %+v", f)
	}
	order := kinds(t, s, id)
	for i, k := range order {
		if k == record.KindFileSaved && (order[i-1] != record.KindToolStarted || order[i+1] != record.KindToolFinished) {
			t.Errorf("%s %s %s", order[i-1], k, order[i+1])
		}
	}
	// A resumed session knows the contents in its log.
	m = play(t, step{uses: usesOf(use("r3", "Read", `{"file_path":"a"}`))}, step{uses: usesOf(use("w6", "Write", `{"file_path":"a","content":"three"}`))}, step{text: "done"})
	o.Session = session.RestoreOptions{SessionID: id}
	prompt(t, newAgent(t, m, o), "go on")
	if list, seqs := savedIn(t, s, id); len(list) != 6 || list[5].SameAs != seqs[1] {
		t.Errorf("after a restart: %+v", list[len(list)-1])
	}
}

// The records of a sub-agent's files have the head of the parent's log, so that a rewind of the parent
// knows which are later.
func TestSubagentFilesRecordParentHeads(t *testing.T) {
	dir := t.TempDir()
	child := play(t, step{uses: usesOf(use("w", "Write", `{"file_path":"a","content":"x"}`))}, step{text: "done"})
	h := newSubagentEnv(t, agent.Options{Tools: registry(t, fileTools(t, dir)...), Permissions: agent.Permissions{Config: allowAll}},
		[]step{{uses: usesOf(delegate("c1", "a", "do it", ""))}, {text: "fine"}}, map[string]*fake{"a": child}, kind("a"))
	prompt(t, h.parent, "begin")
	children := h.children()
	if len(children) != 1 {
		t.Fatalf("%d sub-agents", len(children))
	}
	list, _ := savedIn(t, h.sessions, children[0].ID)
	if len(list) != 1 || len(list[0].ParentHeads) != 1 || list[0].ParentHeads[0].Session != h.parent.SessionID() {
		t.Fatalf("%+v", list)
	}
	started := int64(0)
	for r, err := range h.sessions.Records(t.Context(), h.parent.SessionID(), session.Range{}) {
		if err == nil && r.Kind == record.KindToolStarted && strings.Contains(string(r.Payload), `"c1"`) {
			started = r.Seq
		}
	}
	if list[0].ParentHeads[0].Seq != started {
		t.Errorf("the parent's log was at %d, the call started at %d", list[0].ParentHeads[0].Seq, started)
	}
}

func usesOf(list ...transcript.ToolUse) []transcript.ToolUse { return list }

// A session can be rewound to the transcript before a compaction and continue from there.
func TestRewindBeforeCompaction(t *testing.T) {
	s := session.New(memory.New(), nil)
	o := agent.Options{Sessions: s, Compact: agent.Compact{Items: 4, Steps: []agent.Mutator{agent.CompactionStep{Step: "keepRecent", Items: 2}}}}
	a := newAgent(t, play(t, step{text: "one"}, step{text: "two"}, step{text: "three"}), o)
	for _, text := range []string{"a", "b", "c"} {
		prompt(t, a, text)
	}
	id := a.SessionID()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := rewind.Rewrites(t.Context(), s, id)
	if err != nil || len(all) != 1 || all[0].Reason != "compaction" {
		t.Fatalf("%+v, %v", all, err)
	}
	if changed, err := s.RewindTo(t.Context(), id, all[0].Seq-1, "test"); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	o.Session = session.RestoreOptions{SessionID: id}
	o.Compact = agent.Compact{Disabled: true}
	m := play(t, step{text: "four"})
	a = newAgent(t, m, o)
	prompt(t, a, "d")
	var got []string
	for _, e := range a.Snapshot().Items {
		got = append(got, e.Text())
	}
	if text := strings.Join(got, " "); text != "a one b two c d four" {
		t.Errorf("the transcript is %q", text)
	}
}
