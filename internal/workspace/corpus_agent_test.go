package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// The files of an agent's sessions are checked, because an untrusted program wrote them.
func TestCorpusTranscriptFiles(t *testing.T) {
	const parsed = "internal/workspace/claude reads the agent's output"
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "trn"), map[string]func(*testing.T, corpus.Case){
		"pa-trn-011": corpus.Test(`{"given": {"transcript in":"any encoded-cwd directory"}, "when": ["find"], "expect": {"found":true}}`, func(t *testing.T, _ corpus.Case) {
			home, file := transcriptIn(t)
			if _, err := resumable(home, file); err != nil {
				t.Error(err)
			}
		}),
		"pa-trn-015": corpus.Test(`{"given": {"projects/x":"symlink to /","projects/y/S.jsonl":"symlink to a host file"}, "when": ["has transcript","load"], "expect": {"has":false,"load":"nothing read outside the mount"}}`, func(t *testing.T, _ corpus.Case) {
			home, file := transcriptIn(t)
			replaceWithLink(t, filepath.Join(home, file))
			checkRefused(t, home, file)
			home, file = transcriptIn(t)
			replaceWithLink(t, filepath.Join(home, filepath.Dir(file)))
			checkRefused(t, home, file)
		}),
		"pa-trn-016": corpus.Test(`{"given": {"state":".claude or projects itself is replaced by a symlink from inside the container"}, "when": ["read, chmod, delete on the host"], "expect": {"nothing outside touched":true}}`, func(t *testing.T, _ corpus.Case) {
			for _, part := range []string{".claude", ".claude/projects"} {
				home, file := transcriptIn(t)
				replaceWithLink(t, filepath.Join(home, part))
				checkRefused(t, home, file)
			}
		}),
		"pa-trn-017": corpus.Test(`{"given": {"projects/y/S.jsonl":"FIFO / device / 10 GB file"}, "when": ["load"], "expect": {"refused":"not a regular file / too large, no hang"}}`, func(t *testing.T, _ corpus.Case) {
			home, file := transcriptIn(t)
			if err := os.Truncate(filepath.Join(home, file), 10<<30); err != nil {
				t.Fatal(err)
			}
			checkRefused(t, home, file)
			home, file = transcriptIn(t)
			if err := errors.Join(os.Remove(filepath.Join(home, file)), os.Mkdir(filepath.Join(home, file), 0o700)); err != nil {
				t.Fatal(err)
			}
			checkRefused(t, home, file)
		}),
	}, map[string]string{
		"pa-trn-001": parsed, "pa-trn-003": parsed, "pa-trn-009": parsed, "pa-trn-019": parsed, "pa-trn-020": parsed,
		"pa-trn-013": "internal/workspace/vendoragent sends the history from the host's log if the file is missing",
	})
}

// transcriptIn creates a home with the file of a session.
func transcriptIn(t *testing.T) (home, file string) {
	t.Helper()
	home, file = t.TempDir(), ".claude/projects/-work/S.jsonl"
	full := filepath.Join(home, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return home, file
}

// replaceWithLink moves a file away and leaves a link to it.
func replaceWithLink(t *testing.T, name string) {
	t.Helper()
	if err := errors.Join(os.Rename(name, name+".real"), os.Symlink(name+".real", name)); err != nil {
		t.Fatal(err)
	}
}

func checkRefused(t *testing.T, home, file string) {
	t.Helper()
	if _, err := resumable(home, file); err == nil {
		t.Errorf("%s is taken for a file that can be resumed", file)
	}
}

// The corpus cases about credentials, except those about names of variables.
func TestCorpusCredentials(t *testing.T) {
	handled := map[string]func(*testing.T){"pa-entry-005": tryMissingCredentials, "pa-cred-001": tryNothingSecret}
	for _, c := range corpus.Load(t, corpusFile) {
		if f := handled[c.ID]; f != nil {
			t.Run(c.ID, f)
			delete(handled, c.ID)
		}
	}
	for id := range handled {
		t.Errorf("the corpus has no %s", id)
	}
}

// tryMissingCredentials: a missing credential is an error before anything starts.
func tryMissingCredentials(t *testing.T) {
	t.Helper()
	w, err := New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(t.Context(), Settings{Slug: "blog", Agent: AgentSpec{Kind: KindClaude}, Credentials: []string{"MADE_UP_KEY"}}); err != nil {
		t.Fatal(err)
	}
	o := AgentOptions{Options: agent.Options{Sessions: session.New(memory.New(), nil)}}
	for _, environ := range [][]string{nil, {"MADE_UP_KEY="}, {"MADE_UP_KEY2=x"}} {
		o.Environ = environ
		if _, err := w.Agent(t.Context(), "blog", o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "MADE_UP_KEY") {
			t.Errorf("%q: %v", environ, err)
		}
	}
	o.Environ = []string{"MADE_UP_KEY=x"}
	a, err := w.Agent(t.Context(), "blog", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Agent(t.Context(), "blog", AgentOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("without sessions: %v", err)
	}
	if _, err := w.Agent(t.Context(), "nowhere", o); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}
