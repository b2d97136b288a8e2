package rewind

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestRewindFiles(t *testing.T) {
	for name, open := range map[string]func(dir string) (session.Store, error){
		"memory": func(string) (session.Store, error) { return memory.New(), nil },
		"file":   func(dir string) (session.Store, error) { return file.Open(dir, nil) },
		"sqlite": func(dir string) (session.Store, error) { return sqlite.Open(filepath.Join(dir, "s.db"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := store.(interface{ Close() error }); ok {
				t.Cleanup(func() { c.Close() })
			}
			d := newRewindEnv(t, store)
			d.put("a", "a1")
			d.put("b", "b1")
			d.put("c", "c1")
			d.put("same", "s1")
			d.must(os.Chmod(d.path("a"), 0o640))
			h := d.begin(session.Opened{})
			start := h.says("i1")
			h.edits("a", "a2")
			h.edits("b", "b2")
			middle := h.says("i2")
			h.edits("a", "a3")
			h.edits("a", "a1")
			h.edits("a", "a4")
			h.edits("b", "b3")
			h.edits("new", "n1")
			h.edits("new", "n2")
			h.edits("x/y/new", "n")
			h.edits("x/kept/new", "n")
			h.edits("c", "c2")
			h.edits("same", "s2")
			h.edits("same", "s1")
			d.put("x/kept/theirs", "t")
			d.put("b", "")
			id := h.ends()

			before := "a=a4 c=c2 new=n2 same=s1 x/ x/kept/ x/kept/new=n x/kept/theirs=t x/y/ x/y/new=n"
			d.wantFiles(before)
			p := d.plan(id, Options{Seq: start, Actor: "test"})
			if got := d.actions(p); got != "a:restore b:recreate c:restore new:delete same:same x/kept/new:delete x/y/new:delete" {
				t.Fatalf("plan: %s", got)
			}
			d.wantFiles(before) // a plan changes nothing
			if _, err := p.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			after := "a=a1 b=b1 c=c1 same=s1 x/ x/kept/ x/kept/theirs=t"
			d.wantFiles(after)
			if info, err := os.Stat(d.path("a")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if p := d.plan(id, Options{Seq: start}); p.Changes() {
				t.Errorf("once more: %s", d.actions(p))
			}
			// Rewind to the middle, which is forward from here, and to before the rewind, which undoes it.
			d.apply(id, Options{Seq: middle})
			d.wantFiles("a=a2 b=b2 c=c1 same=s1 x/ x/kept/ x/kept/theirs=t")
			state, err := d.s.Get(t.Context(), id)
			d.must(err)
			first := int64(0)
			all, err := read(t.Context(), d.s, id, session.Range{})
			d.must(err)
			for _, s := range all {
				if s.Rewind != nil {
					first = s.seq
					break
				}
			}
			if first == 0 || first > state.Head {
				t.Fatal("the rewind is not recorded")
			}
			d.apply(id, Options{Seq: first - 1})
			d.wantFiles("a=a4 c=c2 new=n2 same=s1 x/ x/kept/ x/kept/new=n x/kept/theirs=t x/y/ x/y/new=n")
		})
	}
}

func TestConflictNotOverwritten(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("a", "a1")
	d.put("b", "b1")
	d.put(".git/config", "g1")
	h := d.begin(session.Opened{})
	start := h.says("i")
	h.edits("a", "a2")
	h.edits("b", "b2")
	h.edits("new", "n")
	h.edits(".git/config", "g2")
	d.put("a", "theirs")
	d.put("new", "theirs")
	id := h.ends()
	p := d.plan(id, Options{Seq: start})
	if got := d.actions(p); got != ".git/config:conflict a:conflict b:restore new:conflict" {
		t.Fatalf("plan: %s", got)
	}
	was := d.allFiles()
	_, err := p.Apply(t.Context())
	var blocked *BlockedError
	if !errors.As(err, &blocked) || len(blocked.Files) != 3 || !errors.Is(err, ErrBlocked) {
		t.Fatalf("applied: %v", err)
	}
	d.wantFiles(was)
	p = d.plan(id, Options{Seq: start, Except: []string{d.path("a"), d.path(".git/config"), d.path("new")}})
	if got := d.actions(p); got != ".git/config:left a:left b:restore new:left" {
		t.Fatalf("plan: %s", got)
	}
	d.apply(id, Options{Seq: start, Force: true})
	d.wantFiles(".git/ .git/config=g1 a=a1 b=b1")
	undo := int64(0)
	for s, err := range d.s.Records(t.Context(), id, session.Range{Reverse: true}) {
		d.must(err)
		if s.Kind == record.KindFileSaved && bytes.Contains(s.Payload, []byte(`"rewind"`)) {
			undo = s.Seq - 1
		}
	}
	d.apply(id, Options{Seq: undo, Force: true}) // the content written by others was stored, too
	d.wantFiles(".git/ .git/config=g2 a=theirs b=b2 new=theirs")
}

// TestForeignChanges checks the note about changes by others between the changes of tools.
func TestForeignChanges(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("a", "a1")
	h := d.begin(session.Opened{})
	start := h.says("i")
	h.edits("a", "a2")
	d.put("a", "theirs")
	h.edits("a", "a3")
	p := d.plan(h.ends(), Options{Seq: start})
	if p.Files[0].Action != Restore || !strings.Contains(p.Files[0].Note, "other than a tool") {
		t.Errorf("%+v", p.Files[0])
	}
}

func TestErasedReported(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("a", "geheim")
	h := d.begin(session.Opened{})
	start := h.says("i")
	seq := h.edits("a", "a2")
	id := h.ends()
	_, err := d.s.Redact(t.Context(), id, session.RedactOptions{Seqs: []int64{seq}})
	d.must(err)
	if _, err = d.plan(id, Options{Seq: start}).Apply(t.Context()); !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "erased") {
		t.Error(err)
	}
}

// Folders created for files are removed with the last of them, whichever file was first.
func TestFoldersRemovedWithLastFile(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("kept/theirs", "t")
	h := d.begin(session.Opened{})
	start := h.says("i")
	for _, name := range []string{"n/a", "n/b", "x/y/m", "x/a", "x/y/z/a", "x/y/z/b", "kept/a", "kept/deep/a", "kept/deep/b"} {
		h.edits(name, "new")
	}
	id := h.ends()
	d.apply(id, Options{Seq: start})
	d.wantFiles("kept/ kept/theirs=t")
}

func TestRewindSubagentFiles(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("a", "a1")
	parent := d.begin(session.Opened{})
	parent.says("i1")
	early := d.begin(session.Opened{Owner: parent.log.ID()}, parent.log)
	early.edits("early", "e1") // started before the target, and edits after it
	start := parent.says("i2")
	parent.edits("a", "a2")
	child := d.begin(session.Opened{Owner: parent.log.ID()}, parent.log)
	child.says("c1")
	childAt := child.says("c2")
	child.edits("a", "a3")
	grandchild := d.begin(session.Opened{Owner: parent.log.ID()}, child.log, parent.log) // owned by the session of the run
	grandchild.edits("deep", "d1")
	stranger := d.begin(session.Opened{})
	stranger.edits("stranger", "s1")
	early.edits("early", "e2")
	parent.edits("a", "a4")
	child.edits("late", "l1")
	timed := d.begin(session.Opened{Owner: parent.log.ID()}) // a record without parent heads
	timed.edits("timed", "t1")
	id := parent.ends()
	for _, h := range []*editor{early, child, grandchild, stranger, timed} {
		h.ends()
	}
	if got := d.actions(d.plan(child.log.ID(), Options{Seq: childAt})); got != "a:conflict deep:delete late:delete" {
		t.Errorf("the child: %s", got)
	}
	p := d.plan(id, Options{Seq: start})
	if got := d.actions(p); got != "a:restore deep:delete early:restore late:delete timed:delete" {
		t.Fatalf("plan: %s", got)
	}
	d.apply(id, Options{Seq: start})
	d.wantFiles("a=a1 early=e1 stranger=s1")
	if p := d.plan(id, Options{Seq: start}); p.Changes() {
		t.Errorf("once more: %s", d.actions(p))
	}
}

func TestRewindFork(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("a", "a1")
	h := d.begin(session.Opened{})
	start := h.says("i1")
	h.edits("a", "a2")
	h.says("i2")
	worker := d.begin(session.Opened{Owner: h.log.ID()}, h.log)
	worker.edits("w", "w1")
	base := h.says("i3")
	id := h.ends()
	fork, err := d.s.Fork(t.Context(), id, nil)
	d.must(err)
	source := d.continueRun(id)
	source.edits("only", "there") // not inherited by the fork
	worker.above = []*session.Log{source.log}
	worker.edits("only2", "there")
	source.ends()
	worker.ends()
	f := d.continueRun(fork)
	f.edits("a", "a3")
	f.ends()
	if got := d.actions(d.plan(fork, Options{Seq: start})); got != "a:restore w:delete" {
		t.Errorf("to what it has of its source: %s", got)
	}
	if got := d.actions(d.plan(fork, Options{Seq: base})); got != "a:restore" {
		t.Errorf("to where it begins: %s", got)
	}
	d.apply(fork, Options{Seq: start})
	d.wantFiles("a=a1 only=there only2=there")
}

func TestRewindTranscript(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	h := d.begin(session.Opened{})
	h.says("i1")
	start := h.says("i2")
	h.edits("a", "a1")
	h.says("i3")
	_, err := d.plan(h.log.ID(), Options{Seq: start, Transcript: true}).Apply(t.Context())
	if !errors.Is(err, session.ErrBusy) {
		t.Errorf("a session that runs: %v", err)
	}
	id := h.ends()
	r := d.apply(id, Options{Seq: start, Transcript: true, Fork: true, Except: []string{d.path("a")}})
	if m, err := d.s.Get(t.Context(), id); err != nil || m.MessageCount != 3 {
		t.Errorf("the session has %d items, %v", m.MessageCount, err)
	}
	if m, err := d.s.Get(t.Context(), r.Forked); err != nil || m.MessageCount != 2 || m.ParentSeq != start {
		t.Errorf("the fork has %+v, %v", m, err)
	}
	p := d.plan(id, Options{Seq: start, Transcript: true})
	if p.Items != [2]int{3, 2} || d.actions(p) != "a:delete" {
		t.Errorf("plan: %+v", p)
	}
	d.must(os.WriteFile(d.path("a"), []byte("theirs"), 0o644))
	if _, err := p.Apply(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("what was not shown was done: %v", err)
	}
	d.put("a", "a1")
	if r := d.apply(id, Options{Seq: start, Transcript: true}); !r.Transcript || len(r.Files) != 1 {
		t.Errorf("%+v", r)
	}
	state, err := d.s.StateAt(t.Context(), id, mustHead(t, d.s, id))
	d.must(err)
	if len(state.Items) != 2 || len(state.Queue) != 0 {
		t.Errorf("%d items, %d wait", len(state.Items), len(state.Queue))
	}
	// If the transcript stays, the model is notified that the files changed.
	h = d.continueRun(id)
	at := h.log.Head()
	h.edits("a", "a2")
	h.ends()
	d.apply(id, Options{Seq: at})
	state, err = d.s.StateAt(t.Context(), id, mustHead(t, d.s, id))
	d.must(err)
	if len(state.Queue) != 1 || !strings.Contains(state.Queue[0].Text(), d.path("a")) {
		t.Errorf("notifications: %+v", state.Queue)
	}
	// So is the model of a session whose files are restored with a fork.
	h = d.continueRun(id)
	at = h.log.Head()
	h.edits("b", "b1")
	h.ends()
	r = d.apply(id, Options{Seq: at, Transcript: true, Fork: true})
	state, err = d.s.StateAt(t.Context(), id, mustHead(t, d.s, id))
	d.must(err)
	if len(state.Queue) != 2 || !strings.Contains(state.Queue[1].Text(), d.path("b")) {
		t.Errorf("notifications: %+v", state.Queue)
	}
	state, err = d.s.StateAt(t.Context(), r.Forked, mustHead(t, d.s, r.Forked))
	d.must(err)
	if slices.ContainsFunc(state.Queue, func(e transcript.Encoded) bool { return strings.Contains(e.Text(), d.path("b")) }) {
		t.Errorf("notifications of the fork: %+v", state.Queue)
	}
}

func mustHead(t *testing.T, s *session.Sessions, id string) int64 {
	t.Helper()
	m, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m.Head
}

func TestSecretsNotStored(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	d.put("a", "a1")
	h := d.begin(session.Opened{})
	start := h.says("i")
	h.edits("a", "geheim")
	id := h.ends()
	mask := func(p json.RawMessage) json.RawMessage { return bytes.ReplaceAll(p, []byte("geheim"), []byte("x")) }
	r := d.apply(id, Options{Seq: start, Mask: mask})
	d.wantFiles("a=a1")
	if len(r.NotRestored) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestFind(t *testing.T) {
	d := newRewindEnv(t, memory.New())
	h := d.begin(session.Opened{})
	turn := func(k session.Kind, id string) int64 {
		dr, err := session.NewDraft(k, record.TurnOpened{Turn: id})
		d.must(err)
		_, err = h.log.Append(t.Context(), dr)
		d.must(err)
		return h.log.Head()
	}
	first := turn(record.KindTurnOpened, "t1")
	item := h.says("i1")
	ended := turn(record.KindTurnClosed, "t1")
	second := turn(record.KindTurnOpened, "t2")
	h.must(h.log.Rewrite(t.Context(), session.Rewrite{Reason: "x", Items: []json.RawMessage{[]byte(`{"role":"user","id":"s1","parts":[]}`)}}))
	summary := h.log.Head()
	last := h.says("i2")
	for what, want := range map[string]int64{
		"3": 3, "turn:0": first - 1, "turn:1": ended, "turn:2": last, "t1": ended, "i1": item, "s1": summary,
		"turn:-1": second - 1, "turn:-2": first - 1, "turn:-3": 0, "turn:3": 0, "turn:x": 0, "0": 0, "-1": 0, "1000": 0, "nothing": 0, "": 0,
	} {
		got, err := Find(t.Context(), d.s, h.log.ID(), what)
		if got != want || (want == 0) != errors.Is(err, session.ErrInvalid) {
			t.Errorf("%q: %d, %v; want %d", what, got, err, want)
		}
	}
}
