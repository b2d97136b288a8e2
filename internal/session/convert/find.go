package convert

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// SkippedFile is a file that [Find] skipped, and why.
type SkippedFile struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// Found is the result of [Find]: the sources, sorted by path, and the files that look like sources
// but are not sources.
type Found struct {
	Sources []Source
	Skipped []SkippedFile
	Bytes   int64 // total size of the sources
}

// notSessions are files and folders of the programs that contain no sessions.
var notSessions = []string{
	"history.jsonl", "session_index.jsonl", "tool-results", "file-history", "todos", "shell-snapshots", "statsig", "plugins", "debug",
	"node_modules", ".git", "logs", "log", "memory", "tasks",
}

// Find looks for sessions at a path: a file, or a folder and everything below it, such as
// ~/.claude, one project of it, ~/.codex/sessions or ~/.open-agent-sdk/sessions. With a format
// other than Auto, it finds only files of that format. Links below the path are not followed.
func Find(path string, f Format) (*Found, error) {
	if f == "" {
		f = Auto
	}
	if f != Auto && !slices.Contains(importableFormats(), f) {
		return nil, &session.Error{Op: "import", Err: session.ErrInvalid, Detail: fmt.Sprintf("cannot import format %q", f), Hint: "use one of " + join(importableFormats())}
	}
	found := &Found{}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		src, err := detect(path, f)
		if err != nil {
			return nil, &session.Error{Op: "import " + path, Err: session.ErrInvalid, Detail: err.Error(), Hint: "use one of " + join(importableFormats())}
		}
		found.add(*src)
		return found, nil
	}
	root := path
	for _, sub := range []string{"projects"} { // in ~/.claude, only this folder contains sessions
		if st, err := os.Stat(filepath.Join(path, sub)); err == nil && st.IsDir() && filepath.Base(path) == ".claude" {
			root = filepath.Join(path, sub)
		}
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			found.Skipped = append(found.Skipped, SkippedFile{path, err.Error()})
			return nil //nolint:nilerr // it is listed in Skipped
		case path != root && slices.Contains(notSessions, d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || filepath.Ext(path) != ".jsonl" && d.Name() != "transcript.json":
			return nil
		}
		src, err := detect(path, f)
		if err != nil {
			found.Skipped = append(found.Skipped, SkippedFile{path, err.Error()})
			return nil //nolint:nilerr // it is listed in Skipped
		}
		found.add(*src)
		return nil
	})
	return found, err
}

func (f *Found) add(s Source) {
	f.Sources = append(f.Sources, s)
	f.Bytes += s.Size
}

func join(list []Format) string {
	var names []string
	for _, f := range list {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// detect returns a file as a source of the given format, or of the format of its content.
func detect(path string, want Format) (*Source, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	got, err := detectFormat(file)
	if err != nil {
		return nil, err
	}
	if want != Auto && got != want {
		return nil, fmt.Errorf("it looks like %s, not like %s", got, want)
	}
	s := &Source{Path: path, Format: got, Size: st.Size()}
	if got == Claude {
		s.subagent()
	}
	return s, nil
}

// subagent finds the owner of a sub-agent's file by its path:
// SESSION/subagents/agent-ID.jsonl, with agent-ID.meta.json next to it.
func (s *Source) subagent() {
	stem, ok := strings.CutSuffix(filepath.Base(s.Path), ".jsonl")
	if !ok || !strings.HasPrefix(stem, "agent-") {
		return
	}
	meta := filepath.Join(filepath.Dir(s.Path), stem+".meta.json")
	if st, err := os.Lstat(meta); err == nil && st.Mode().IsRegular() && st.Size() < 1<<20 {
		s.Companion = meta
	}
	for dir := filepath.Dir(s.Path); ; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "subagents" {
			s.Owner = filepath.Base(filepath.Dir(dir))
			s.ID = s.Owner + "-" + stem
			return
		}
		if dir == filepath.Dir(dir) {
			return // in files of older versions the entries name the owner
		}
	}
}
