package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lines returns a tar as text, one line per file.
func lines(t testing.TB, r io.Reader) string {
	t.Helper()
	var out strings.Builder
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s has a time: %s", h.Name, h.ModTime)
		}
		fmt.Fprintf(&out, "%c %o %d:%d %s", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Name)
		if h.Linkname != "" {
			out.WriteString(" -> " + h.Linkname)
		}
		if len(content) > 0 {
			fmt.Fprintf(&out, " %q", content)
		}
		out.WriteString("\n")
	}
}

func TestLayer(t *testing.T) {
	home := folder("home/agent", 0o700)
	home.uid, home.gid = 4711, 4711
	l := sorted(
		text("usr/bin/b", "two"), text("usr/bin/a", "one"), folder("tmp", 0o1777), home,
		file{name: "usr/bin/link", typ: tar.TypeSymlink, mode: 0o777, link: "a"},
		file{name: "usr/bin/same", typ: tar.TypeLink, mode: 0o4755, link: "usr/bin/a"},
	)
	var b bytes.Buffer
	if err := l.write(&b, true); err != nil {
		t.Fatal(err)
	}
	if n, err := l.length(); err != nil || n != int64(b.Len()) {
		t.Errorf("%d, %v; written were %d", n, err, b.Len())
	}
	want := `5 755 0:0 home/
5 700 4711:4711 home/agent/
5 1777 0:0 tmp/
5 755 0:0 usr/
5 755 0:0 usr/bin/
0 644 0:0 usr/bin/a "one"
0 644 0:0 usr/bin/b "two"
2 777 0:0 usr/bin/link -> a
1 755 0:0 usr/bin/same -> usr/bin/a
`
	if got := lines(t, &b); got != want {
		t.Errorf("%s", got)
	}
}

// A file that changes while it is sent is an error, not another image.
func TestLayerChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"short", "much longer than expected"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (layer{hostFile("file", path, 0o755, 10)}).write(io.Discard, true); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if err := (layer{hostFile("file", path+"none", 0o755, 10)}).write(io.Discard, true); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The same input gives the same archive, and its parts are consistent.
func TestArchive(t *testing.T) {
	files := sorted(text("etc/a", "content"))
	c := config{Architecture: "amd64", OS: "linux", Created: time.Unix(0, 0).UTC(), Config: runConfig{User: "4711:4711", Labels: map[string]string{"b": "2", "a": "1"}}}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := archive(b, files, c, []string{"x/y:z", "x/y:latest"}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives")
	}
	found := map[string][]byte{}
	for in := tar.NewReader(&first); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name], _ = io.ReadAll(in)
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	var settings config
	if err := json.Unmarshal(found["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(found) != 3 {
		t.Fatalf("%v, %s", err, found["manifest.json"])
	}
	m := manifest[0]
	if err := json.Unmarshal(found[m.Config], &settings); err != nil || strings.Join(m.RepoTags, " ") != "x/y:z x/y:latest" || m.Layers[0] != "layer.tar" {
		t.Fatalf("%v, %+v", err, m)
	}
	if got := settings.RootFS.DiffIDs; len(got) != 1 || got[0] != "sha256:"+sum(found["layer.tar"]) || m.Config != sum(found[m.Config])+".json" {
		t.Errorf("%q, %q", got, m.Config)
	}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
