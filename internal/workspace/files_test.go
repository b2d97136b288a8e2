package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// files opens the files of a new workspace.
func (d *diskEnv) files(of string) (*Files, string) {
	d.t.Helper()
	s := d.make(Settings{Slug: "a"})
	f, err := d.Files(d.t.Context(), "a", of)
	okay(d.t, err)
	d.t.Cleanup(func() { _ = f.Close() })
	return f, d.at(s.Slug, of)
}

func names(p *FilesPage) []string {
	list := []string{}
	for _, f := range p.Files {
		list = append(list, f.Name)
	}
	return list
}

func TestFilesList(t *testing.T) {
	f, dir := newDiskEnv(t).files(HomeFiles)
	okay(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700))
	okay(t, os.WriteFile(filepath.Join(dir, "file"), []byte("hello"), 0o600))
	okay(t, os.WriteFile(filepath.Join(dir, ".hidden"), nil, 0o600))
	okay(t, os.Symlink("/etc", filepath.Join(dir, "link")))
	page, err := f.List(t.Context(), "", FilesQuery{})
	if err != nil || page.Path != "." || page.Next != "" || fmt.Sprint(names(page)) != "[file link sub]" {
		t.Fatalf("%+v, %v", page, err)
	}
	file, link, sub := page.Files[0], page.Files[1], page.Files[2]
	if file.Type != "file" || file.Size != 5 || link.Type != "link" || link.Target != "/etc" || link.Size != 0 || sub.Type != "folder" || sub.ModTime.IsZero() {
		t.Errorf("%+v", page.Files)
	}
	if page, err := f.List(t.Context(), "/", FilesQuery{Hidden: true}); err != nil || !slices.Contains(names(page), ".hidden") {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err := f.List(t.Context(), "/sub/./", FilesQuery{}); err != nil || page.Path != "sub" || fmt.Sprint(names(page)) != "[deep]" {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err := f.List(t.Context(), "sub/deep", FilesQuery{}); err != nil || page.Files == nil || len(page.Files) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	for rel, contract := range map[string]error{
		"none": ErrNoFile, "file": ErrNotRegular, "link": ErrNotRegular, "link/ssl": ErrNotRegular, "..": ErrOutside, "sub/../..": ErrOutside, "a\x00": ErrInvalidPath,
	} {
		if _, err := f.List(t.Context(), rel, FilesQuery{}); !errors.Is(err, contract) {
			t.Errorf("%q: %v", rel, err)
		}
	}
}

// Pages contain every name once, in order, whatever it contains.
func TestFilesPages(t *testing.T) {
	f, dir := newDiskEnv(t).files(ProjectFiles)
	want := []string{"a\nb", "\xff\xfe", "ünï", strings.Repeat("x", 255), " ", "-rf", "*"}
	for i := range 50 {
		want = append(want, fmt.Sprintf("n%02d", i))
	}
	for _, name := range want {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Skipf("a file system that keeps no such name: %v", err)
		}
	}
	slices.Sort(want)
	for _, limit := range []int{1, 7, 56, 57, 58, 0, -1, 1 << 30} {
		var got []string
		for after := ""; ; {
			page, err := f.List(t.Context(), "", FilesQuery{Limit: limit, After: after})
			okay(t, err)
			got = append(got, names(page)...)
			if limit > 0 && len(page.Files) > limit {
				t.Errorf("a page of %d has %d", limit, len(page.Files))
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: %q", limit, got)
		}
	}
}

func TestFilesWrite(t *testing.T) {
	d := newDiskEnv(t)
	f, dir := d.files(HomeFiles)
	to := outsideFolder(t)
	okay(t, os.Symlink(filepath.Join(to, "sub", "file"), filepath.Join(dir, "link")))
	okay(t, os.Symlink(to, filepath.Join(dir, "linked")))
	okay(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	for _, tt := range []struct {
		folder, name string
		at           string
		err          error
	}{
		{"", "plain.txt", "plain.txt", nil},
		{"/", "plain.txt", "plain.txt", nil}, // replaces the first one
		{"uploads/2024", "data.csv", "uploads/2024/data.csv", nil},
		{"", "../../etc/evil.txt", "evil.txt", nil},
		{"", `C:\Users\me\report.pdf`, "report.pdf", nil},
		{"", `..\..\evil2.txt`, "evil2.txt", nil},
		{"", "link", "link", nil}, // replaces the link
		{"", "a\nb", "a\nb", nil},
		{"", "", "", ErrInvalidPath},
		{"", "..", "", ErrInvalidPath},
		{"", "a/", "", ErrInvalidPath},
		{"", "a\x00", "", ErrInvalidPath},
		{"", strings.Repeat("x", 256), "", ErrInvalidPath},
		{"", "folder", "", ErrNotRegular},
		{"linked", "x", "", ErrNotRegular},
		{"linked/new", "x", "", ErrNotRegular},
		{"plain.txt", "x", "", ErrNotRegular},
		{"../x", "y", "", ErrOutside},
	} {
		file, err := f.Write(t.Context(), tt.folder, tt.name, strings.NewReader("payload"), 0)
		if tt.err != nil {
			if !errors.Is(err, tt.err) {
				t.Errorf("%q %q: %v", tt.folder, tt.name, err)
			}
			continue
		}
		if err != nil || file.Size != 7 || file.Type != "file" {
			t.Errorf("%q %q: %+v, %v", tt.folder, tt.name, file, err)
			continue
		}
		if b, err := readRegular(f.root, tt.at, 100); string(b) != "payload" || err != nil {
			t.Errorf("%q: %q, %v", tt.at, b, err)
		}
	}
	if _, err := f.Write(t.Context(), "", "large", strings.NewReader("12345"), 4); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "limit of 4") {
		t.Error(err)
	}
	if _, err := f.Write(t.Context(), "", "just", strings.NewReader("1234"), 4); err != nil {
		t.Error(err)
	}
	broken := io.MultiReader(strings.NewReader("half"), &cancelled{canceled(t), nil})
	if _, err := f.Write(t.Context(), "", "plain.txt", broken, 0); err == nil {
		t.Error("a file that broke off was kept")
	}
	if b, err := readRegular(f.root, "plain.txt", 100); string(b) != "payload" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	list, err := f.List(t.Context(), "", FilesQuery{Hidden: true})
	okay(t, err)
	for _, name := range names(list) {
		if strings.HasPrefix(name, ".holdfast") || name == "large" {
			t.Errorf("%s was not removed", name)
		}
	}
}

func TestFilesMakeAndRemove(t *testing.T) {
	f, dir := newDiskEnv(t).files(HomeFiles)
	to := outsideFolder(t)
	mkdir := func(rel string) error {
		dir, err := f.makeFolder(rel)
		if err != nil {
			return err
		}
		return dir.Close()
	}
	okay(t, mkdir("new/nested"))
	okay(t, mkdir("new/nested")) // exists already
	if info, err := os.Stat(filepath.Join(dir, "new", "nested")); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	okay(t, os.Symlink(to, filepath.Join(dir, "new", "link")))
	for rel, contract := range map[string]error{
		"": ErrInvalidPath, "/": ErrInvalidPath, ".": ErrInvalidPath, "new/..": ErrInvalidPath, "..": ErrOutside, "new/../../x": ErrOutside,
		"none": ErrNoFile, "new/none/x": ErrNoFile, "new/link/sub": ErrNotRegular, "new/link/sub/file": ErrNotRegular,
	} {
		if err := f.Remove(t.Context(), rel); !errors.Is(err, contract) {
			t.Errorf("%q: %v", rel, err)
		}
	}
	if err := mkdir("new/link/x"); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
	okay(t, f.Remove(t.Context(), "/new/link"))
	okay(t, f.Remove(t.Context(), "new"))
	noFile(t, filepath.Join(dir, "new"))
}

func TestFilesOf(t *testing.T) {
	d := newDiskEnv(t)
	project := filepath.Join(filepath.Dir(d.home), "project")
	okay(t, os.Mkdir(project, 0o755))
	d.make(Settings{Slug: "a", Project: project})
	f, err := d.Files(t.Context(), "a", ProjectFiles)
	okay(t, err)
	defer f.Close()
	if _, err := f.Write(t.Context(), "", "x", strings.NewReader("y"), 0); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(project, "x")); string(b) != "y" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	for of, slug := range map[string]string{"": "a", "run": "a", "../a": "a", "home": "none"} {
		if _, err := d.Files(t.Context(), slug, of); err == nil {
			t.Errorf("%q of %s is open", of, slug)
		}
	}
	// A project that was replaced by a link is not searched.
	okay(t, os.Rename(project, project+"2"))
	okay(t, os.Symlink(outsideFolder(t), project))
	if _, err := d.Files(t.Context(), "a", ProjectFiles); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	okay(t, os.RemoveAll(d.at("a", homeName)))
	okay(t, os.Symlink("/", d.at("a", homeName)))
	if _, err := d.Files(t.Context(), "a", HomeFiles); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}

func TestFilesOutcomes(t *testing.T) {
	f, _ := newDiskEnv(t).files(HomeFiles)
	for rel, status := range map[string]int{"../x": 403, "none": 404, "": 400} {
		if err := f.Remove(t.Context(), rel); outcome.FromError(err).Status != status {
			t.Errorf("%q: %v is %d", rel, err, outcome.FromError(err).Status)
		}
	}
}
