package shell

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// However it is cut into pieces, the model sees the beginning and the end, and
// the file has everything.
func TestOutputInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := []byte(strings.Repeat("añ😀\n", 1+random.IntN(60)))
		o := &output{maxShown: 100, dir: t.TempDir(), maxFile: 1 << 20}
		for rest := text; len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 70))
			o.write(rest[:n])
			rest = rest[n:]
		}
		got := o.text()
		o.close()
		kept, _ := filepath.Glob(o.dir + "/*")
		if len(text) <= 100 {
			if got != string(text) || len(kept) != 0 {
				t.Fatalf("%d bytes: %q, %v", len(text), got, kept)
			}
			continue
		}
		head, rest, _ := strings.Cut(got, "\n...(truncated)... ")
		_, tail, _ := strings.Cut(rest, "…]\n")
		if strings.Contains(got, "\uFFFD") || !strings.HasPrefix(string(text), head) || !strings.HasSuffix(string(text), tail) ||
			len(head) < 46 || len(tail) < 46 || len(head)+len(tail) > 100 {
			t.Fatalf("%d bytes: %q", len(text), got)
		}
		if len(kept) != 1 {
			t.Fatalf("kept %v", kept)
		}
		if all, err := os.ReadFile(kept[0]); err != nil || string(all) != string(text) {
			t.Fatalf("kept %d of %d bytes, %v", len(all), len(text), err)
		}
	}
}

func TestOutputWithoutAFile(t *testing.T) {
	o := &output{maxShown: 10}
	o.write([]byte(strings.Repeat("x", 30)))
	if got, want := o.text(), "xxxxx\n...(truncated)... [… 20 bytes left out; they were not stored …]\nxxxxx"; got != want {
		t.Errorf("got %q", got)
	}
	o = &output{maxShown: 10, dir: "/dev/null/none", maxFile: 100}
	o.write([]byte(strings.Repeat("x", 30)))
	if got := o.text(); !strings.Contains(got, "they were not stored") {
		t.Errorf("got %q", got)
	}
}

func TestMayChangeDir(t *testing.T) {
	for line, want := range map[string]bool{"cd x": true, "a && pushd b": true, ". ./env": true, "source env": true, "ls -l": false, "go test ./...": false} {
		if mayChangeDir(line) != want {
			t.Errorf("%s: %v", line, !want)
		}
	}
}
