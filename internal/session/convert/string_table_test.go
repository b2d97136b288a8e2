package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// A line stored next to its item is restored byte for byte, whatever text they share.
func FuzzStringTable(f *testing.F) {
	long := strings.Repeat("a long text, ", 6)
	for _, s := range [][2]string{
		{`{"role":"user","parts":[{"text":"` + long + `"}]`, `{"content":"` + long + `","again":["` + long + `"]}`},
		{`{"parts":["` + long + `\n"]`, `{"` + long + `\n":"` + long + `\n"}`},
		{`{"parts":["` + long + `"]`, `{"a":"[import:0]","b":"` + long + `"}`},
		{`{"parts":["` + long + `"]`, `{"a":["` + strings.Repeat(long+`","`, 9) + `"]}`},
		{`{"parts":["[import:0] ` + long + `"]`, `{"a":"[import:0] ` + long + `"}`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, head, line []byte) {
		item := append(bytes.Clone(head), '}')
		if valid, compact := check(line); !valid || !compact {
			return
		}
		if valid, compact := check(item); !valid || !compact || field(item, "parts") == nil || field(item, "metadata") != nil {
			return
		}
		s := newStringTable()
		s.fill(head)
		keep := []originalLine{{n: 1, raw: line, clean: true}, {n: 2, raw: line, clean: true}}
		stored := append(append(bytes.Clone(head), `,"metadata":{"import":`...), appendOriginals(nil, keep, s)...)
		stored = append(stored, "}}"...)
		if valid, compact := check(stored); !valid || !compact {
			t.Fatalf("stored %s", stored)
		}
		n := 0
		err := readOriginals(originalOf(stored), stored, func(k originalLine) error {
			n++
			if k.n != n || !bytes.Equal(k.raw, line) {
				return fmt.Errorf("line %d is %q", k.n, k.raw)
			}
			return nil
		})
		if err != nil || n != 2 {
			t.Fatalf("%d lines, %v: %s", n, err, stored)
		}
	})
}

// Texts are stored once, and lines of older imports are restored too.
func TestStringTable(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	line := `{"type":"user","uuid":"a","message":{"role":"user","content":"` + long + `"},"toolUseResult":{"stdout":"` + long + `"}}`
	raw, stored := taken(t, line, nil)
	if bytes.Count(stored, []byte(long)) != 1 || string(raw) != line+"\n" {
		t.Errorf("stored %s\nexported %s", stored, raw)
	}
	old := `{"role":"user","id":"a","parts":[{"type":"text","text":"` + long + `"}],"metadata":{"import":[{"n":1,"json":` + line + `}]}}`
	if err := readOriginals(originalOf([]byte(old)), []byte(old), func(k originalLine) error {
		if string(k.raw) != line {
			t.Errorf("%s", k.raw)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// What is masked in the item is masked in the line, and the rest of the line is unchanged. A
// reference to a text never looks like a secret.
func TestStringTableMasked(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	text := strings.Repeat(`said \u00e9, \/ `, 10)
	for _, key := range []string{"content", "password", "api_key", "token"} {
		line := `{"type":"user","uuid":"a","message":{"role":"user","content":"` + text + token + `"},"x":{"` + key + `":"` + text + token + `","y":"z"}}`
		raw, _ := taken(t, line, mask)
		if want := strings.ReplaceAll(line, token, "[secret:github-token]") + "\n"; string(raw) != want {
			t.Errorf("%s: exported %s", key, raw)
		}
		line = strings.ReplaceAll(line, token, "")
		if raw, _ := taken(t, line, mask); string(raw) != line+"\n" {
			t.Errorf("%s, nothing to mask: exported %s", key, raw)
		}
	}
}

// taken imports and exports a file of one line; stored is the record of its item.
func taken(t *testing.T, line string, mask *secret.Masker) (raw, stored []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := session.New(memory.New(), nil)
	r, err := Import(t.Context(), s, Source{Path: path, Format: Claude}, &Options{Mask: mask})
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range s.Store().Read(t.Context(), r.Session, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == session.KindItem {
			stored = rec.Payload
		}
	}
	var b bytes.Buffer
	if err := Export(t.Context(), &b, s, r.Session, Claude); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), stored
}

// A removed text is not replaced by another one, and no record expands to much more than its
// size.
func TestStringTableDamaged(t *testing.T) {
	const head = `{"parts":["a","b"],"metadata":{"import":[{"n":1,"short":`
	for name, tt := range map[string]struct{ item, want string }{
		"one is gone":      {head + `["[import:0]","[import:1]"],"of":3}]}}`, `["[erased]","[erased]"]`},
		"none of that":     {head + `["[import:2]","[import:-1]","[import:x]","[import:"],"of":2}]}}`, `["[erased]","[erased]","[erased]","[erased]"]`},
		"what it is":       {head + `["[import:1]"],"of":2}]}}`, `["b"]`},
		"four times":       {head + `["[import:1]","[import:1]","[import:1]","[import:1]"],"of":2}]}}`, `["b","b","b","b"]`},
		"five times":       {head + `["[import:1]","[import:1]","[import:1]","[import:1]","[import:1]"],"of":2}]}}`, ""},
		"five times, two":  {head + `["[import:1]","[import:1]","[import:1]"],"of":2},{"n":2,"short":["[import:1]","[import:1]"],"of":2}]}}`, ""},
		"nothing said":     {`{"metadata":{"import":[{"n":1,"short":["[import:0]"]}]}}`, `["[erased]"]`},
		"as an event has":  {`{"metadata":{"import":[{"n":1}]}}`, ""},
		"a number as line": {`{"metadata":{"import":[{"n":1,"short":7,"of":0}]}}`, "7"},
	} {
		got := ""
		err := readOriginals(originalOf([]byte(tt.item)), []byte(tt.item), func(k originalLine) error {
			got = string(k.raw)
			return nil
		})
		if (err != nil) != (tt.want == "") || err == nil && got != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
