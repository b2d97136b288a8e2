package rewind

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/session"
)

// rewindEnv is a folder, and sessions whose tools work in it.
type rewindEnv struct {
	t       testing.TB
	dir     string
	s       *session.Sessions
	folders *workdir.Folders
}

func newRewindEnv(t testing.TB, store session.Store) *rewindEnv {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folders.Close() })
	return &rewindEnv{t, dir, session.New(store, nil), folders}
}

func (d *rewindEnv) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *rewindEnv) path(name string) string { return filepath.Join(d.dir, name) }

// put writes a file without a record, like another program. "" removes it.
func (d *rewindEnv) put(name, content string) {
	d.t.Helper()
	if content == "" {
		d.must(os.Remove(d.path(name)))
		return
	}
	d.must(os.MkdirAll(filepath.Dir(d.path(name)), 0o755))
	d.must(os.WriteFile(d.path(name), []byte(content), 0o644))
}

// allFiles returns the files of the folder, as "name=content" in order.
func (d *rewindEnv) allFiles() string {
	d.t.Helper()
	var list []string
	d.must(filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(d.dir, path)
		switch {
		case err != nil || name == ".":
			return err
		case e.Type()&os.ModeSymlink != 0:
			list = append(list, name+"@")
		case e.IsDir():
			list = append(list, name+"/")
		default:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			list = append(list, fmt.Sprintf("%s=%.20s", name, b))
		}
		return nil
	}))
	return strings.Join(list, " ")
}

// editor is a session whose tools edit files.
type editor struct {
	*rewindEnv
	log   *session.Log
	above []*session.Log
	n     int
	at    map[string]int64
}

func (d *rewindEnv) begin(o session.Opened, above ...*session.Log) *editor {
	d.t.Helper()
	l, err := d.s.Create(d.t.Context(), o)
	d.must(err)
	return &editor{rewindEnv: d, log: l, above: above, at: map[string]int64{}}
}

func (d *rewindEnv) continueRun(id string) *editor {
	d.t.Helper()
	l, err := d.s.Open(d.t.Context(), id, nil)
	d.must(err)
	return &editor{rewindEnv: d, log: l, at: map[string]int64{}, n: 100}
}

// says appends an item, and returns its seq.
func (h *editor) says(id string) int64 {
	h.t.Helper()
	_, err := h.log.Append(h.t.Context(), session.Draft{Kind: session.KindItem, Payload: fmt.Appendf(nil, `{"item":{"role":"user","id":%q,"parts":[{"type":"text","text":%q}]}}`, id, id)})
	h.must(err)
	return h.log.Head()
}

// edits saves and writes a file like a tool.
func (h *editor) edits(name, content string) int64 {
	h.t.Helper()
	p, err := h.folders.Locate(name)
	h.must(err)
	f := record.FileSaved{Use: fmt.Sprint("u", h.n), Path: p.Abs, Digest: record.FileAbsent, After: session.Digest(sha256.Sum256([]byte(content))).String(), Folders: p.Missing()}
	h.n++
	for _, a := range h.above {
		f.ParentHeads = append(f.ParentHeads, record.LogHead{Session: a.ID(), Seq: a.Head()})
	}
	_, info, err := digestOf(p)
	h.must(err)
	if info != nil {
		was, err := os.ReadFile(p.Abs)
		h.must(err)
		f.Describe(info.Mode(), info.Size(), session.Digest(sha256.Sum256(was)).String())
		f.SetContent(was, h.at)
	}
	h.saved(&f)
	_, err = h.folders.Replace(p, []byte(content), info, 0)
	h.must(err)
	return h.log.Head()
}

func (h *editor) saved(f *record.FileSaved) {
	h.t.Helper()
	payload, err := f.Payload()
	h.must(err)
	recs, err := h.log.Append(h.t.Context(), session.Draft{Kind: record.KindFileSaved, Payload: payload})
	h.must(err)
	if f.Data != "" {
		h.at[f.Digest] = recs[0].Seq
	}
}

func (h *editor) ends() string {
	h.t.Helper()
	h.must(h.log.Close())
	return h.log.ID()
}

func (d *rewindEnv) plan(id string, o Options) *Plan {
	d.t.Helper()
	if o.Folders == nil {
		o.Folders = d.folders
	}
	p, err := New(d.t.Context(), d.s, id, o)
	d.must(err)
	return p
}

func (d *rewindEnv) apply(id string, o Options) *Result {
	d.t.Helper()
	r, err := d.plan(id, o).Apply(d.t.Context())
	d.must(err)
	return r
}

// actions returns the short form of a plan: "a:restore b:delete".
func (d *rewindEnv) actions(p *Plan) string {
	var list []string
	for _, f := range p.Files {
		name, err := filepath.Rel(d.dir, f.Path)
		if err != nil || strings.HasPrefix(name, "..") {
			name = f.Path
		}
		list = append(list, name+":"+string(f.Action))
	}
	return strings.Join(list, " ")
}

func (d *rewindEnv) wantFiles(want string) {
	d.t.Helper()
	if got := d.allFiles(); got != want {
		d.t.Errorf("there is\n  %s\nwant\n  %s", got, want)
	}
}
