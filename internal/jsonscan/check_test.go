package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Check accepts the same texts as encoding/json.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+3,"\u00e9\\"]}`, ` null `, `"aaaaaaaaaaaaaaaa\"aaaaaaaaaaaaaaaaaaa"`, "\"aaaaaaaaaa\x01\"", `[01]`, `{"a":1,}`, `-`, `1.`, `1e`,
		`"\u12"`, `"\x"`, `"`, "\"\xff\"", `{"a"}`, `{1:2}`, `[1 2]`, `truex`, `{} {}`, "\"12345678\x00\"", "\"1234567\x7f\"",
		strings.Repeat("[", 1500) + strings.Repeat("]", 1500), strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := jsonscan.Valid(b), json.Valid(b); got != want {
			t.Fatalf("%q: %v, want %v", b, got, want)
		}
		valid, compact := jsonscan.Check(b)
		if !valid {
			return
		}
		var c bytes.Buffer
		if err := json.Compact(&c, b); err != nil || compact != bytes.Equal(c.Bytes(), b) {
			t.Fatalf("%q: compact %v, %v", b, compact, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	line, err := json.Marshal(map[string]any{"text": strings.Repeat("a line of text, \"quoted\", with ümlauts\n", 40), "n": 12345, "list": []string{"a", "b"}})
	if err != nil {
		b.Fatal(err)
	}
	for name, valid := range map[string]func([]byte) bool{"ours": jsonscan.Valid, "encoding/json": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if !valid(line) {
					b.Fatal("refused")
				}
			}
		})
	}
}
