package redacting_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/holdfast-dev/holdfast/internal/session/mirror"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/encrypted"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/redacting"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/transcript"
)

const token = "hunter2-" + "hunter2"

// mask masks the token.
func mask(p json.RawMessage) json.RawMessage {
	if !bytes.Contains(p, []byte(token)) {
		return p
	}
	return bytes.ReplaceAll(p, []byte(token), []byte("[secret]"))
}

func open(t testing.TB, inner session.Store, o *redacting.Options) *redacting.Store {
	t.Helper()
	s, err := redacting.New(inner, mask, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store { return open(t, memory.New(), nil) }, sessiontest.Capabilities{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, s.(*redacting.Store).Unwrap(), nil) },
	})
}

// write makes a session with secrets everywhere.
func write(t testing.TB, s session.Store, id string) {
	t.Helper()
	ss := session.New(s, nil)
	l, err := ss.Create(t.Context(), session.Opened{SessionID: id, Title: "about " + token, CWD: "/home/" + token, User: token})
	if err != nil {
		t.Fatal(err)
	}
	use := transcript.Item{ID: "i2", Role: transcript.RoleAssistant, Model: "m", Parts: []transcript.Part{
		transcript.Text{Text: "I use " + token},
		transcript.ToolUse{ID: "u1", Name: "Bash", Input: json.RawMessage(`{"command":"echo ` + token + `"}`)},
	}}
	result := transcript.Item{ID: "i3", Role: transcript.RoleTool, Parts: []transcript.Part{
		transcript.ToolResult{UseID: "u1", Content: []transcript.Part{transcript.Text{Text: token}}},
	}}
	for _, it := range []transcript.Item{transcript.UserText("the token is " + token), use, result, transcript.UserText("nothing secret")} {
		if it.ID == "" {
			it.ID = ss.NewID()
		}
		if _, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ss.Tag(t.Context(), id, "tag "+token); err != nil {
		t.Fatal(err)
	}
}

func TestMirrorWithoutSecrets(t *testing.T) {
	dir := t.TempDir()
	disk, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	primary, clean := memory.New(), open(t, disk, nil)
	m, err := mirror.New(primary, clean, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, m, "a")
	if _, err := session.New(m, nil).Fork(t.Context(), "a", &session.ForkOptions{ID: "fork"}); err != nil {
		t.Fatal(err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkClean(t, dir)
	a, err := session.New(primary, nil).Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "fork"} {
		r, err := session.New(clean, nil).Verify(t.Context(), id)
		if err != nil || !r.OK() || len(r.Notices) == 0 || !strings.Contains(r.Notices[len(r.Notices)-1], "records were masked") {
			t.Fatalf("the copy of %s: %+v %v", id, r, err)
		}
		if id == "a" && r.Meta.HeadDigest != a.HeadDigest {
			t.Error("the copy ends with another digest")
		}
		if r.Items != 4 {
			t.Errorf("the copy of %s has %d items", id, r.Items)
		}
	}
	l, err := session.New(clean, nil).Load(t.Context(), "a", nil)
	if err != nil || len(l.Items) != 4 || l.Items[1].UseIDs()[0] != "u1" || strings.Contains(l.Items[0].Text(), token) {
		t.Fatalf("load from the copy: %+v %v", l, err)
	}
	// The next open of the file store folds the log by itself.
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	clean = open(t, again, nil)
	if r, err := session.New(clean, nil).Verify(t.Context(), "a"); err != nil || !r.OK() {
		t.Fatalf("after reopening: %+v %v", r, err)
	}
	// Without this package one is told.
	if _, err := session.New(again, nil).Load(t.Context(), "a", nil); !errors.Is(err, session.ErrSealed) || session.Hint(err) == "" {
		t.Fatalf("load without the wrapper: %v", err)
	}
}

// checkClean fails when a file has the token.
func checkClean(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(token)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
}

func TestCopyAppends(t *testing.T) {
	primary, inner := memory.New(), memory.New()
	write(t, primary, "a")
	clean := open(t, inner, nil)
	if r, err := session.New(primary, nil).ReplicateAll(t.Context(), clean, nil); err != nil || !r.OK() {
		t.Fatalf("copy: %+v %v", r, err)
	}
	// From a masked store into another that masks, but into no other.
	next := open(t, memory.New(), nil)
	if r, err := session.New(clean, nil).ReplicateAll(t.Context(), next, nil); err != nil || !r.OK() {
		t.Fatalf("copy on: %+v %v", r, err)
	}
	r, err := session.New(clean, nil).ReplicateAll(t.Context(), memory.New(), nil)
	if err != nil || len(r.Faults) != 1 || !errors.Is(r.Faults[0].Err, session.ErrSealed) {
		t.Fatalf("copy into a plain store: %+v %v", r, err)
	}
	// As it lies there it can be copied anywhere.
	raw := memory.New()
	if r, err := session.New(inner, nil).ReplicateAll(t.Context(), raw, nil); err != nil || !r.OK() {
		t.Fatalf("copy as it is: %+v %v", r, err)
	}
	if r, err := session.New(open(t, raw, nil), nil).Verify(t.Context(), "a"); err != nil || !r.OK() {
		t.Fatalf("verify: %+v %v", r, err)
	}
}

func TestOverEncrypted(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := encrypted.Identities(strings.NewReader(id.String()))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypted.New(t.Context(), memory.New(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	primary, clean := memory.New(), open(t, sealed, nil)
	write(t, primary, "a")
	if r, err := session.New(primary, nil).ReplicateAll(t.Context(), clean, nil); err != nil || !r.OK() {
		t.Fatalf("copy: %+v %v", r, err)
	}
	if r, err := session.New(clean, nil).Verify(t.Context(), "a"); err != nil || !r.OK() {
		t.Fatalf("verify: %+v %v", r, err)
	}
}

func TestErasedInCopy(t *testing.T) {
	primary := memory.New()
	write(t, primary, "a")
	clean := open(t, memory.New(), nil)
	for range 2 {
		if _, err := session.New(primary, nil).Replicate(t.Context(), clean, "a"); err != nil {
			t.Fatal(err)
		}
		r, err := session.New(clean, nil).Verify(t.Context(), "a")
		if err != nil || !r.OK() {
			t.Fatalf("verify: %+v %v", r, err)
		}
		if _, err := session.New(primary, nil).Redact(t.Context(), "a", session.RedactOptions{Seqs: []int64{2}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefuse(t *testing.T) {
	s := open(t, memory.New(), &redacting.Options{Refuse: true})
	ss := session.New(s, nil)
	l, err := ss.Create(t.Context(), session.Opened{SessionID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{"fine": nil, "the token is " + token: session.ErrInvalid} {
		it := transcript.UserText(text)
		it.ID = ss.NewID()
		_, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil))
		if !errors.Is(err, want) || want != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := redacting.New(memory.New(), nil, nil); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("no mask: %v", err)
	}
	s := open(t, memory.New(), nil)
	if _, err := s.Search(t.Context(), session.Search{Words: "x"}); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("search: %v", err)
	}
}
