package stores

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/session"
)

// Exports that are as they were written go with what is erased, however their format writes
// it. What somebody has changed, evidence, and what does not have it stay.
func TestExportsAreErased(t *testing.T) {
	const secret = `a "b" <c>`
	dir := t.TempDir()
	owner := &env.Env{Vars: []string{"HOLDFAST_HOME=" + filepath.Join(dir, "home")}}
	quoted, _ := json.Marshal(secret)
	e := &session.Erasing{Session: "s", Mask: func(raw json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(raw, quoted[1:len(quoted)-1], []byte("gone"))
	}}
	h := &exportCopies{filepath.Join(dir, "home", "exports"), "file:" + dir}
	for name, text := range map[string]string{
		"raw.txt": secret, "lines.jsonl": `{"n":1}` + "\n" + `{"text":` + string(quoted) + "}\n", "page.html": "<p>a &#34;b&#34; &lt;c&gt;</p>",
		"long.txt": strings.Repeat("some text\n", exportChunk/10-1) + secret, "document.json": "{\n \"a\": [1, {\"b\": " + string(quoted) + "}]\n}\n",
		"long.json": `{"a": "` + strings.Repeat("x", exportLine) + `", "b": ` + string(quoted) + `}`, "name.json": "{\n" + string(quoted) + ": 1}",
		"other.txt": "nothing of it", "changed.txt": secret, "evidence.csv": secret, "parent.txt": secret,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		of := []session.Meta{{ID: "s"}}
		if name == "parent.txt" {
			of[0].ID = "another"
		}
		sum := sha256.Sum256([]byte(text))
		if err := NoteExport(t.Context(), owner, h.store, nil, of, path, hex.EncodeToString(sum[:]), name == "evidence.csv"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "changed.txt"), []byte("mine, and "+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a kill in between, and again
		if err := h.Erase(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if got := strings.Join(left, " "); got != "changed.txt evidence.csv other.txt parent.txt" {
		t.Errorf("left: %s", got)
	}
	list, err := h.Find(t.Context(), e)
	if err != nil || len(list) != 2 || list[0].Stays == "" || list[1].Stays == "" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := h.Forget(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	if notes, err := h.notes(""); err != nil || len(notes) != 2 { // the evidence, the other session's
		t.Errorf("%+v, %v", notes, err)
	}
}
