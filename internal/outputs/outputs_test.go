package outputs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/outputs"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// reversed is a Sealer that reverses the text and adds the session and the name.
type reversed struct{}

func (reversed) Seal(_ context.Context, id, name string, plain []byte) ([]byte, error) {
	b := slices.Clone(plain)
	slices.Reverse(b)
	return append([]byte(id+"/"+name+"/"), b...), nil
}

func (reversed) Unseal(_ context.Context, id, name string, sealed []byte) ([]byte, error) {
	b, ok := bytes.CutPrefix(sealed, []byte(id+"/"+name+"/"))
	if !ok {
		return nil, session.ErrCorrupt
	}
	b = slices.Clone(b)
	slices.Reverse(b)
	return b, nil
}

const token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

// put writes an output and returns its path.
func put(t *testing.T, dir string, k *outputs.Files, id, use, text string) string {
	t.Helper()
	kept, err := k.Write(t.Context(), id, use, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(kept.Name, id) || strings.Contains(kept.Name, use) {
		t.Errorf("the name says whose it is: %s", kept.Name)
	}
	path := filepath.Join(dir, "run-1", kept.Name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, kept.File, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWriteMasksAndSeals(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := "login with " + token + "\nzanzibar\n"
	plain := &outputs.Files{Store: "s", Mask: mask}
	kept, err := plain.Write(t.Context(), "id", "use", []byte(text))
	if err != nil || bytes.Contains(kept.File, []byte(token)) || !bytes.Contains(kept.File, []byte("zanzibar")) {
		t.Errorf("%q, %v", kept.File, err)
	}
	sealed := &outputs.Files{Store: "s", Sealed: true, Sealer: reversed{}, Mask: mask}
	kept, err = sealed.Write(t.Context(), "id", "use", []byte(text))
	if err != nil || bytes.Contains(kept.File, []byte("zanzibar")) || bytes.Contains(kept.Text, []byte(token)) {
		t.Errorf("%q, %v", kept.File, err)
	}
	read, err := sealed.Open(t.Context(), "/x/"+kept.Name, kept.File)
	if err != nil || !bytes.Equal(read, kept.Text) {
		t.Errorf("%q, %v", read, err)
	}
	if _, err := plain.Open(t.Context(), "/x/"+kept.Name, kept.File); err == nil {
		t.Error("it was opened without the store")
	}
	if _, err := sealed.Open(t.Context(), "/x/another.txt", kept.File); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("under another name: %v", err)
	}
	// An output that cannot be encrypted is not written.
	if _, err := (&outputs.Files{Store: "s", Sealed: true}).Write(t.Context(), "id", "use", []byte(text)); err == nil {
		t.Error("it was kept in the clear")
	}
}

func TestEraser(t *testing.T) {
	dir := t.TempDir()
	k := &outputs.Files{Store: "s", Sealed: true, Sealer: reversed{}}
	h := &outputs.Eraser{Dir: dir, Store: "s", Sealer: reversed{}}
	hit := put(t, dir, k, "ses-a", "u1", "about zanzibar")
	miss := put(t, dir, k, "ses-a", "u2", "about nothing")
	other := put(t, dir, k, "ses-b", "u1", "about zanzibar")
	store := put(t, dir, &outputs.Files{Store: "t"}, "ses-a", "u1", "about zanzibar")
	old := filepath.Join(dir, "run-1", "output-OLD.txt")
	foreign := filepath.Join(dir, "run-1", "output-FOREIGN.txt")
	for _, path := range []string{old, foreign} {
		if err := os.WriteFile(path, []byte("about zanzibar"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	item := transcript.Item{ID: "r", Role: transcript.RoleTool, Parts: []transcript.Part{
		transcript.ToolResult{UseID: "u9", Content: []transcript.Part{transcript.Text{Text: "the whole output is in " + old + " (14 bytes)"}}},
	}}.MustEncode()

	records := []session.Record{{Seq: 1, Kind: session.KindItem, Payload: session.ItemDraft(item, false, nil).Payload}}
	mask := func(raw json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(raw, []byte("zanzibar"), []byte("[erased]"))
	}
	places := func(e *session.Erasing) (list []string) {
		t.Helper()
		found, err := h.Find(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			list = append(list, f.Path)
		}
		slices.Sort(list)
		return list
	}
	want := []string{hit, old}
	slices.Sort(want)
	if got := places(&session.Erasing{Session: "ses-a", Mask: mask, Records: records}); !slices.Equal(got, want) {
		t.Errorf("by the mask: %v", got)
	}
	if got := places(&session.Erasing{Session: "ses-a", Uses: []string{"u2"}, Records: records}); !slices.Equal(got, []string{miss}) {
		t.Errorf("by the tool use: %v", got)
	}
	if got := places(&session.Erasing{Session: "ses-a", Uses: []string{"u9"}, Records: records}); !slices.Equal(got, []string{old}) {
		t.Errorf("by the tool use, of an older version: %v", got)
	}
	e := &session.Erasing{Session: "ses-a", Mask: mask, Records: records}
	for range 2 {
		if err := h.Erase(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		checkExist(t, map[string]bool{hit: false, old: false, miss: true, other: true, store: true, foreign: true})
	}
	all := func(yield func(session.Record, error) bool) { yield(records[0], nil) }
	for _, rs := range []iter.Seq2[session.Record, error]{all, func(func(session.Record, error) bool) {}} {
		if err := h.Forget(t.Context(), "ses-a", rs); err != nil {
			t.Fatal(err)
		}
	}
	checkExist(t, map[string]bool{miss: false, other: true, store: true, foreign: true})
}

func checkExist(t *testing.T, want map[string]bool) {
	t.Helper()
	for path, is := range want {
		if _, err := os.Stat(path); (err == nil) != is {
			t.Errorf("%s: there is %v, want %v", path, err == nil, is)
		}
	}
}
