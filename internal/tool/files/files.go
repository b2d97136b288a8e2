// Package files provides the tools that read and change single files: Read, Write,
// Edit, MultiEdit and NotebookEdit.
//
//	Read ──► what the model saw (path, sha256) ──► Edit, Write
//	              ▲ RestoreFiles: the session's log       │ unchanged since? ─no─► "has changed since it was read"
//	                                                └ yes ─► temp file, fsync, rename, fsync of the folder
//
//	f, err := files.New(folders, nil)
//	registry, err := tool.NewRegistry(f.Tools()...)
//
// All access happens through [workdir.Folders], and only to regular files. A file is replaced
// completely or not at all: a hard link to it keeps the old content; a symbolic link to it remains,
// and the target of the link is replaced. The package does not search (see package search), and
// does not delete or move files (the model uses the shell for that).
package files

import (
	"sync"

	"github.com/holdfast-dev/holdfast/internal/tool/override"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options configure the tools. The zero value of a field is its default.
type Options struct {
	MaxLines int   // lines per Read without a limit; 2000
	MaxBytes int   // bytes of text for each Read; 256 KiB
	MaxImage int64 // bytes; 5 MiB

	// Override lets a call request one exception from a denial that applies to the session; see
	// [override.AllowOverride].
	Override bool
}

// Files has the file tools of one session and knows what the session has read. It is safe for concurrent
// use.
type Files struct {
	folders *workdir.Folders
	opts    Options
	tools   []tool.Tool

	changing sync.Mutex // serializes changes

	mu      sync.Mutex
	seen    map[string]string       // the digest of the content that the model last read or wrote, by canonical path
	checked map[string]checkedState // the paths that Requests returned, by call
}

// checkedState is the state for which a call was checked: a path and, if the call would change the
// file, the digest of the file's content.
type checkedState struct {
	abs, base string
}

// New returns the tools of one session over its folders. The caller closes the folders.
func New(folders *workdir.Folders, opts *Options) (*Files, error) {
	f := &Files{folders: folders, seen: map[string]string{}, checked: map[string]checkedState{}}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.MaxLines <= 0 {
		f.opts.MaxLines = 2000
	}
	if f.opts.MaxBytes <= 0 {
		f.opts.MaxBytes = 256 << 10
	}
	if f.opts.MaxImage <= 0 {
		f.opts.MaxImage = 5 << 20
	}
	for _, newTool := range []func() (tool.Tool, error){f.newRead, f.newWrite, f.newEdit, f.newMultiEdit, f.newNotebookEdit} {
		t, err := newTool()
		if err != nil {
			return nil, err
		}
		if f.opts.Override {
			if t, err = override.AllowOverride(t); err != nil {
				return nil, err
			}
		}
		f.tools = append(f.tools, recallingTool{t, f})
	}
	return f, nil
}

// Tools returns Read, Write, Edit, MultiEdit and NotebookEdit.
func (f *Files) Tools() []tool.Tool { return append([]tool.Tool(nil), f.tools...) }

// request returns the request for a path and stores the path for locate. If the call would change
// the file, the request contains the digest of the file, so that an approval does not apply to
// different content.
func (f *Files) request(call *tool.Call, op policy.Operation, path string) (workdir.Path, policy.Request, error) {
	p, err := f.find(op, path)
	if err != nil {
		return p, policy.Request{}, err
	}
	r := policy.Request{Operation: op, Resource: p.Abs, NamedPath: p.Named}
	about := checkedState{abs: p.Abs}
	if op == policy.OpWrite {
		r.Base = stateDigest(p)
		about.base = r.Base
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.checked) >= 1024 { // calls that never ran
		clear(f.checked)
	}
	f.checked[call.Session+"\x00"+call.ID] = about
	return p, r, nil
}

// locate finds the path again when the call runs. It fails if a link in the path has changed since
// the call was checked. If the call was approved before a restart, and the model has not read the
// file, the content that was approved is treated as the content that the model read.
func (f *Files) locate(call *tool.Call, path string) (workdir.Path, error) {
	return f.locateFor(policy.OpWrite, call, path)
}

// find locates a path. For reading, it also finds files in the read-only folders.
func (f *Files) find(op policy.Operation, path string) (workdir.Path, error) {
	if op == policy.OpRead {
		return f.folders.LocateRead(path)
	}
	return f.folders.Locate(path)
}

func (f *Files) locateFor(op policy.Operation, call *tool.Call, path string) (workdir.Path, error) {
	p, err := f.find(op, path)
	if err != nil {
		return p, err
	}
	key := call.Session + "\x00" + call.ID
	f.mu.Lock()
	defer f.mu.Unlock()
	about, ok := f.checked[key]
	delete(f.checked, key)
	if ok && about.abs != p.Abs {
		return p, &workdir.PathError{Path: path, Err: workdir.ErrMoved}
	}
	if _, read := f.seen[p.Abs]; call.Resumed && about.base != "" && about.base != absent && !read {
		f.seen[p.Abs] = about.base
	}
	return p, nil
}
