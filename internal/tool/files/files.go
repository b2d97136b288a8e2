// Package files has the tools that read and change single files: Read, Write,
// Edit, MultiEdit and NotebookEdit.
//
//	Read ──► what the model saw (path, sha256) ──► Edit, Write
//	              ▲ Recall: the session's log       │ unchanged since? ─no─► "has changed since it was read"
//	                                                └ yes ─► temp file, fsync, rename, fsync of the folder
//
//	f, err := files.New(folders, nil)
//	registry, err := tool.NewRegistry(f.Tools()...)
//
// Everything goes through [folder.Folders]; regular files only. A file is replaced
// whole or not at all: a hard link to it keeps the old content, a link stays a
// link and its target is replaced. It is not for searching (package search) and
// not for trees (no delete, no move: that is the shell's).
package files

import (
	"sync"

	"github.com/holdfast-dev/holdfast/internal/tool/override"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options adjust the tools. The zero value of each field means its default.
type Options struct {
	MaxLines int   // per Read without a limit; 2000
	MaxBytes int   // of text per Read; 256 KiB
	MaxImage int64 // bytes; 5 MiB

	// Override lets calls ask for one exception from a deny of the session; see
	// [override.AllowOverride].
	Override bool
}

// Files is the set of file tools of one session, and what that session has read.
// It is safe for concurrent use.
type Files struct {
	folders *workdir.Folders
	opts    Options
	tools   []tool.Tool

	changing sync.Mutex // one change at a time

	mu     sync.Mutex
	seen   map[string]string     // the digest of what the model has last seen or written, by canonical path
	judged map[string]judgedBase // what Requests named, by call
}

// judgedBase is what a call was judged about: a path, and the digest of what lay there if the
// call would change it.
type judgedBase struct {
	abs, base string
}

// New makes the tools of one session over its folders, which stay the caller's
// to close.
func New(folders *workdir.Folders, opts *Options) (*Files, error) {
	f := &Files{folders: folders, seen: map[string]string{}, judged: map[string]judgedBase{}}
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

// request names the place that a call would touch, and remembers it for locate.
// Of a file that would be changed it names the content, so that a yes does not
// cover another.
func (f *Files) request(call *tool.Call, op policy.Operation, path string) (workdir.Path, policy.Request, error) {
	p, err := f.find(op, path)
	if err != nil {
		return p, policy.Request{}, err
	}
	r := policy.Request{Operation: op, Resource: p.Abs, NamedPath: p.Named}
	about := judgedBase{abs: p.Abs}
	if op == policy.OpWrite {
		r.Base = judgedContent(p)
		about.base = r.Base
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.judged) >= 1024 { // calls that were never run
		clear(f.judged)
	}
	f.judged[call.Session+"\x00"+call.ID] = about
	return p, r, nil
}

// locate finds the place again when the call runs. A link that was turned since
// the call was judged is refused. A call that was approved before a restart knows
// the file as it was approved.
func (f *Files) locate(call *tool.Call, path string) (workdir.Path, error) {
	return f.locateFor(policy.OpWrite, call, path)
}

// find finds a place: what is only read may lie in folders besides.
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
	about, ok := f.judged[key]
	delete(f.judged, key)
	if ok && about.abs != p.Abs {
		return p, &workdir.PathError{Path: path, Err: workdir.ErrMoved}
	}
	if _, read := f.seen[p.Abs]; call.Resumed && about.base != "" && about.base != absent && !read {
		f.seen[p.Abs] = about.base
	}
	return p, nil
}
