package convert_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
)

// importRejected checks that a file was rejected and nothing was written.
func importRejected(t *testing.T, name, content string, src convert.Source, o *convert.Options) error {
	t.Helper()
	src.Path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(src.Path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSessions()
	_, err := convert.Import(t.Context(), s, src, o)
	if err == nil {
		t.Error("it was imported")
	}
	if p, lerr := s.List(t.Context(), session.Query{Worktrees: true, WithTrash: true}); lerr != nil || len(p.Sessions) != 0 {
		t.Errorf("%v %v", p.Sessions, lerr)
	}
	return err
}

// A session whose id would be masked could not be found again.
func TestSecretID(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	line := `{"type":"user","uuid":"11111111-1111-4111-8111-111111111111","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"x"}}`
	err = importRejected(t, token+".jsonl", line+"\n", convert.Source{Format: convert.Claude}, &convert.Options{Mask: mask})
	if e, ok := errors.AsType[*session.Error](err); !ok || !errors.Is(err, session.ErrInvalidID) || strings.Contains(e.Error(), token) {
		t.Errorf("%v", err)
	}
}

// A sealed record that is no first one opens no session.
func TestSealedRecordNeedsKey(t *testing.T) {
	var file []byte
	prev := session.Digest{}
	add := func(seq int64, kind session.Kind, payload, instead string) {
		r := session.Record{Seq: seq, ID: "r" + string(kind), Time: time.UnixMilli(1700000000000), Kind: kind, Payload: []byte(payload)}
		r.Seal(prev)
		prev = r.Digest
		if instead != "" {
			r.Payload = []byte(instead)
		}
		file = append(convert.AppendRecord(file, &r), '\n')
	}
	add(1, record.KindOpened, `{"format":1,"session_id":"victim","created":"2026-01-01T00:00:00Z"}`, "")
	add(2, session.KindItem, `{}`, `{"sealed":"AAAA","key":"k","delta":{"opened":{"format":1,"session_id":"evil","created":"2026-01-01T00:00:00Z","base":{"parent":"victim","seq":1,"digest":"`+prev.String()+`","messages":-5}}}}`)
	if err := importRejected(t, "x.jsonl", string(file), convert.Source{Format: convert.JSONL}, nil); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

// A deleted session that forks still need does not count as imported.
func TestDeletedInTarget(t *testing.T) {
	s := newSessions()
	l, err := s.Create(t.Context(), session.Opened{SessionID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := convert.Export(t.Context(), &b, s, "a", convert.JSONL); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fork(t.Context(), "a", &session.ForkOptions{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	r, err := convert.Import(t.Context(), s, convert.Source{Path: path, Format: convert.JSONL}, nil)
	if !errors.Is(err, session.ErrExists) || r.Status != convert.Skipped {
		t.Errorf("%s, %v", r.Status, err)
	}
}
