// Package rewind takes a session back: the files that its tools have changed, its
// transcript, or both, to what they were right after a record of its log.
//
//	Request ──► Plan: what is to be done with each file ──► Apply
//	 which        restore · recreate · delete · same          │ keeps what is there,
//	 record,      conflict: others have changed it since      │ so that the rewind
//	 which files  blocked: it cannot be put back              ▼ can be undone
//
//	plan, done, err := request.Plan(ctx, env, sessions, meta)
//	defer done()
//	for _, f := range plan.Files { fmt.Println(f.Action, f.Path, f.Reason) }
//	result, err := plan.Apply(ctx)
//
// The plan comes from the file.saved records of the session and of its sub-agents. A file is
// put back as it was right before the first change after the record, through
// [workdir.Folders]. What a command did is not in the log: if a file contains neither what a
// tool left nor what it found, that is a conflict, and it is not overwritten unless
// [Options].Force is set. Apply restores all files or none. The package does not ask the user
// and prints nothing.
package rewind

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/session"
)

// Options say how far a session is taken back, and what of it.
type Options struct {
	// Seq is the record right after which all is as it was; [Find] finds it.
	Seq int64
	// Folders are where files may be put back; nil leaves files alone.
	Folders *workdir.Folders
	// Transcript takes the transcript back, too: by a rewrite, so that what it was until
	// now stays readable; with Fork in a new session, and this one's stays as it is.
	Transcript bool
	Fork       bool
	Grants     bool // with Fork: see [session.ForkOptions].Grants
	// Force puts back files that others have changed since, and those that decide what
	// other programs do.
	Force bool
	// Except are files to be left as they are, absolute.
	Except []string
	// Actor is who wants it, for the record.
	Actor string
	// Mask returns a payload without its secrets, and the same bytes when it finds none:
	// a content with a secret is not kept. Nil keeps all.
	Mask func(json.RawMessage) json.RawMessage

	afterFile func(n int) error // a test's crash
}

// Action is what is to be done with a file.
type Action string

// The actions. Only the first three change a file.
const (
	Restore   Action = "restore"  // it gets the content that it had
	Recreate  Action = "recreate" // it is gone, and comes back
	Delete    Action = "delete"   // it was not there
	Unchanged Action = "same"     // it is as it was
	Skip      Action = "left"     // Options.Except names it
	Conflict  Action = "conflict" // Options.Force is needed; Why says what for
	Blocked   Action = "blocked"  // it cannot be put back; Why says why
)

// File is what is to be done with one file.
type File struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Reason string `json:"why,omitempty"`
	// Note says what else there is to know.
	Note string `json:"note,omitempty"`
	Size int64  `json:"size"` // that it will have

	save, newest savedFile // before the first change since, and before the last one
	content      *savedFile
	now          string // digest
	target       workdir.Path
	info         fs.FileInfo
}

func (f *File) changes() bool {
	return f.Action == Restore || f.Action == Recreate || f.Action == Delete
}

// Plan is what going back would do. It changes nothing by itself.
type Plan struct {
	Session string `json:"session"`
	Seq     int64  `json:"to"`
	Files   []File `json:"files"` // by path
	// Items are how many items the transcript has, and will have; both 0 when it stays.
	Items [2]int `json:"items"`
	// Undone are the rewrites of the transcript that are taken back with it.
	Undone []Rewrite `json:"undone,omitempty"`

	s    *session.Sessions
	o    Options
	head int64 // of the log that was looked at
}

// Report is a plan and what was done, in JSON.
type Report struct {
	*Plan
	Digest string  `json:"digest"` // of what was shown
	Head   int64   `json:"head"`   // going back to it takes this back
	Done   *Result `json:"done,omitempty"`
}

// Document is the document of a plan that was not carried out.
func (p *Plan) Document() *Report { return &Report{Plan: p, Digest: p.Digest(), Head: p.head} }

// Result is what [Plan.Apply] has done.
type Result struct {
	Files       []File   `json:"files"`             // that were changed
	Transcript  bool     `json:"transcript"`        // it was taken back
	Forked      string   `json:"forked,omitempty"`  // the session that goes on from there
	NotRestored []File   `json:"unkept,omitempty"`  // of Files: what they were until now is not in the log
	Notices     []string `json:"notices,omitempty"` // of what was mended when the session was opened, and what a fork begins without
}

// ErrChanged says that something is not any more what the plan was made from.
var ErrChanged = errors.New("something has changed since this was looked at")

// ErrBlocked is the sentinel of a [*BlockedError].
var ErrBlocked = errors.New("not all files can be put back")

// BlockedError lists the files because of which nothing was done.
type BlockedError struct{ Files []File }

func (e *BlockedError) Error() string {
	var list []string
	for i, f := range e.Files {
		if i == 20 {
			list = append(list, fmt.Sprintf("… and %d more", len(e.Files)-i))
			break
		}
		list = append(list, fmt.Sprintf("%s: %s", f.Path, f.Reason))
	}
	return ErrBlocked.Error() + ", so nothing was changed:\n" + strings.Join(list, "\n")
}

// Unwrap returns [ErrBlocked].
func (e *BlockedError) Unwrap() error { return ErrBlocked }

// New finds out what going back would do. It takes no lease. ErrInvalid when the session
// has no such record.
func New(ctx context.Context, s *session.Sessions, id string, o Options) (*Plan, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &Plan{Session: id, Seq: o.Seq, Files: []File{}, s: s, o: o, head: m.Head}
	state, err := s.StateAt(ctx, id, o.Seq)
	if err != nil {
		return nil, err
	}
	if o.Transcript {
		p.Items = [2]int{m.MessageCount, len(state.Items)}
		all, err := Rewrites(ctx, s, id)
		if err != nil {
			return nil, err
		}
		p.Undone = slices.DeleteFunc(all, func(r Rewrite) bool { return r.Seq <= o.Seq })
	}
	if o.Folders == nil {
		return p, nil
	}
	trail, err := collect(ctx, s, m, o.Seq)
	if err != nil {
		return nil, err
	}
	if err := p.files(ctx, trail); err != nil {
		return nil, err
	}
	return p, nil
}

// Changes reports whether there is anything to do.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.changes() }) || p.o.Transcript
}

// Head is the last record of the log that was looked at: going back to it takes all of this
// back.
func (p *Plan) Head() int64 { return p.head }

// Digest identifies exactly what a person was shown: the point, each file with what is to
// be done and what it is now, and how far the session had gone.
func (p *Plan) Digest() string {
	return session.Digest(sha256.Sum256(fmt.Appendf(nil, "%s %d %d %v %v %v %v\n%s", p.Session, p.Seq, p.head, p.o.Transcript, p.o.Fork, p.o.Grants, p.o.Force, p.print()))).String()
}

// Ready says with a [*BlockedError] why the plan cannot be carried out.
func (p *Plan) Ready() error {
	var e BlockedError
	for _, f := range p.Files {
		if f.Action == Blocked || f.Action == Conflict {
			e.Files = append(e.Files, f)
		}
	}
	if len(e.Files) > 0 {
		return &e
	}
	return nil
}

// files decides about each file that was changed since.
func (p *Plan) files(ctx context.Context, all []savedFile) error {
	at := map[string]int{}
	checked := map[string]error{} // contents, by digest
	for _, s := range all {
		i, ok := at[s.Path]
		if !ok {
			i = len(p.Files)
			at[s.Path] = i
			p.Files = append(p.Files, File{Path: s.Path, save: s, newest: s})
		} else if f := &p.Files[i]; s.Digest != f.newest.After && s.Digest != f.newest.Digest {
			f.Note = fmt.Sprintf("others have changed it before record %d, too", s.seq)
		}
		p.Files[i].newest = s
	}
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i := range p.Files {
		f := &p.Files[i]
		if err := p.decide(ctx, f, checked); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) be(a Action, why string) { f.Action, f.Reason = a, why }

// decide looks at a file as it is, and at what is kept of it.
func (p *Plan) decide(ctx context.Context, f *File, checked map[string]error) error {
	if slices.Contains(p.o.Except, f.Path) {
		f.be(Skip, "")
		return nil
	}
	if f.save.missing != "" {
		f.be(Blocked, f.save.missing)
		return nil
	}
	if why := f.look(p.o.Folders); why != "" {
		f.be(Blocked, why)
		return nil
	}
	f.Size = f.save.Size
	known := f.now == f.newest.After || f.now == f.newest.Digest
	switch {
	case f.now == f.save.Digest:
		f.be(Unchanged, "")
		return nil
	case !f.save.Existed:
		f.Action = Delete
	case f.now == record.FileAbsent:
		f.Action, known = Recreate, true // nothing is overwritten
	default:
		f.Action = Restore
	}
	if f.save.Existed {
		why, err := f.find(ctx, p.s, checked)
		if err != nil {
			return err
		}
		if why != "" {
			f.be(Blocked, why)
			return nil
		}
	}
	if why := isProtected(f.Path); why != "" && !p.o.Force {
		f.be(Conflict, why)
	} else if !known && !p.o.Force {
		f.be(Conflict, "others have changed it since a tool did")
	} else if !known {
		f.Note = "others have changed it since a tool did"
	}
	return nil
}

// look finds out what a file is now.
func (f *File) look(folders *workdir.Folders) (why string) {
	var err error
	if !filepath.IsAbs(f.Path) {
		return "its path is not absolute"
	}
	if f.target, err = folders.Locate(f.Path); err != nil {
		return reason(err)
	}
	if f.target.Abs != f.Path {
		return workdir.ErrMoved.Error() + " (" + f.target.Abs + ")"
	}
	f.now, f.info, err = digestOf(f.target)
	if err != nil {
		return reason(err)
	}
	return ""
}

// reason is an error about a path that is named beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*workdir.PathError](err); ok {
		if e.Help != "" {
			return e.Err.Error() + " (" + e.Help + ")"
		}
		return e.Err.Error()
	}
	return err.Error()
}
