package secret

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The examples in builtin.go have <a20> where twenty random characters of some
// alphabet stand, so that no other scanner takes them for keys.
var blank = regexp.MustCompile(`<([abdltuwxGTUX])(\d+)>`)

var alphabets = map[string]string{
	"a": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"u": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_",
	"w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
	"l": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	"G": "023456789ACDEFGHJKLMNPQRSTUVWXYZ",
	"T": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	"U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	"X": "0123456789ABCDEF",
	"d": "0123456789",
	"x": "0123456789abcdef",
}

// filled puts characters in the blanks of an example, among the first a letter and
// a digit.
func filled(r *rand.Rand, example string) string {
	return blank.ReplaceAllStringFunc(example, func(b string) string {
		m := blank.FindStringSubmatch(b)
		n, _ := strconv.Atoi(m[2])
		set := alphabets[m[1]]
		out := make([]byte, n)
		for i := range out {
			out[i] = set[r.IntN(len(set))]
		}
		if strings.ContainsAny(set, "0") && strings.ContainsAny(set, "Aa") && n > 2 {
			out[0], out[1] = set[strings.IndexAny(set, "KkAa")], '7'
		}
		return string(out)
	})
}

func newMasker(t testing.TB) *Masker {
	t.Helper()
	m, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBuiltin(t *testing.T) {
	m := newMasker(t)
	if len(builtin) < 40 {
		t.Errorf("%d patterns", len(builtin))
	}
	seen := map[string]bool{}
	for _, p := range builtin {
		t.Run(p.ID, func(t *testing.T) {
			if _, err := compile(p); err != nil || seen[p.ID] || len(p.Words) == 0 || len(p.Examples) == 0 {
				t.Fatalf("a bad pattern: %v", err)
			}
			seen[p.ID] = true
			r := rand.New(rand.NewPCG(1, 2))
			for _, e := range p.Examples {
				for range 4 {
					text := filled(r, e)
					masked, found := m.Text(text)
					if !slices.Contains(found, p.ID) && len(found) == 0 {
						t.Errorf("%q is not found", text)
					}
					if masked == text || !strings.Contains(masked, "[secret:") {
						t.Errorf("%q became %q", text, masked)
					}
					checkInPlaces(t, m, text)
				}
			}
			for _, e := range p.CounterExamples {
				for range 4 {
					text := filled(r, e)
					if masked, found := m.Text(text); slices.Contains(found, p.ID) {
						t.Errorf("%q became %q", text, masked)
					}
				}
			}
		})
	}
}

// Each example is found by its pattern, or by a more specific one.
func TestExamplesMatchTheirPattern(t *testing.T) {
	m := newMasker(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range builtin {
		named := false
		for _, e := range p.Examples {
			_, found := m.Text(filled(r, e))
			named = named || slices.Contains(found, p.ID)
		}
		if !named {
			t.Errorf("no example of %s is called so", p.ID)
		}
	}
}

// checkInPlaces looks for a secret that stands between other text, and in JSON.
func checkInPlaces(t *testing.T, m *Masker, text string) {
	t.Helper()
	filler := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 30)
	alone, _ := m.Text(text)
	around, _ := m.Text(filler + text + "\n" + filler)
	if around != filler+alone+"\n"+filler {
		t.Errorf("%q is masked as %q between other lines", text, strings.ReplaceAll(around, filler, "…"))
	}
	raw, _ := json.Marshal(map[string]any{"n": 1.50, "parts": []any{map[string]any{"text": filler + text + "\n"}}})
	out, found := m.JSON(raw)
	if len(found) == 0 || !json.Valid(out) {
		t.Errorf("%q is not found in JSON: %v", text, found)
		return
	}
	again, found := m.JSON(out)
	if len(found) != 0 || string(again) != string(out) {
		t.Errorf("masked again, %s becomes %s", out, again)
	}
}

func TestNothingToMask(t *testing.T) {
	m := newMasker(t)
	for _, text := range []string{
		"", "a", "\x00\xff",
		"commit 5f7070ea1c9b2d3e4f5061728394a5b6c7d8e9f0 (HEAD -> main)",
		"id: 123e4567-e89b-12d3-a456-426614174000",
		"token: 123e4567-e89b-12d3-a456-426614174000",
		"golang.org/x/mod v0.20.0 h1:utOm6MM3R3dnawAiJgn0y+xvuYRsm1RKM/4giyfDgV0=",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.",
		"func (p *parser) token() token { return p.tokens[p.at] }",
		"for _, secret := range secrets { api.Key(secret) }",
		"password: string; apiKey?: string; token = getToken(request2)",
		"Enter your password: ", "the api key: see the docs", "Bearer token authentication",
		"https://example.org/path?page=2&token_type=bearer", "tokens=1048576 cache_read_tokens=2097152",
		"max_tokens: 8192, input_tokens=123456789012", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"password=[secret:generic-secret]", "Authorization: Bearer [secret:jwt]",
		"registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz integrity sha512-XI5MPzVNApjAyhQzphX8BkmKsKUxD4LdyK24iZeQGinBN9yTQT3bFlCBy/aVx2HrNcqQGsdot8ghrjyrvMCoEA==",
	} {
		if masked, found := m.Text(text); len(found) != 0 || masked != text {
			t.Errorf("%q became %q (%v)", text, masked, found)
		}
	}
}

func TestHidesAndShows(t *testing.T) {
	m := newMasker(t)
	for text, want := range map[string]bool{
		"git push https://ghp_" + strings.Repeat("aB3", 12) + "@host": false,
		"psql postgres://me:" + "Kx9;reboot&q2@host":                  true,
		"ls; reboot": false,
	} {
		if m.MasksAny(text, ";&") != want {
			t.Errorf("%q: %v", text, !want)
		}
		masked, found := m.Text(text)
		if m.HasPlaceholder(text) || m.HasPlaceholder(masked) != (len(found) > 0) {
			t.Errorf("%q, %q", text, masked)
		}
	}
	var none *Masker
	if none.MasksAny("a;b", ";") || !none.HasPlaceholder("[secret:jwt]") {
		t.Error("without a masker")
	}
}

// This repository has no secrets.
func TestHoldfastSources(t *testing.T) {
	m := newMasker(t)
	root := filepath.Join("..", "..")
	files, bytes := 0, 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		known := slices.Contains([]string{".go", ".md", ".sum", ".mod", ".json", ".yaml", ".yml", ".sh", ".txt"}, filepath.Ext(name)) || name == "Makefile"
		if !known || !d.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "secret" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files, bytes = files+1, bytes+len(b)
		if masked, found := m.Text(string(b)); len(found) > 0 {
			at := strings.Index(masked, marker)
			t.Errorf("%s: %v near %q", path, found, masked[max(0, at-80):min(len(masked), at+60)])
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
	t.Logf("%d files, %d bytes", files, bytes)
}
