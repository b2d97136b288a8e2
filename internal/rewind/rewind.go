// Package rewind plans and applies a rewind: it restores the files and the transcript of a session
// to their state right after an earlier record.
//
//	Request ──► Plan: what to do with each file ────► Apply
//	 which        restore · recreate · delete · same    │ stores the current
//	 record,      conflict: changed by something else   │ content, so that the
//	 which files  blocked: it cannot be restored        ▼ rewind can be undone
//
//	plan, done, err := request.Plan(ctx, env, sessions, meta)
//	defer done()
//	for _, f := range plan.Files { fmt.Println(f.Action, f.Path, f.Reason) }
//	result, err := plan.Apply(ctx)
//
// The plan comes from the file.saved records of the session and its sub-agents. A file is restored
// to its state right before the first change after the record, through [workdir.Folders]. The log
// does not contain the changes that commands made. If the content of a file is neither what a tool
// found nor what it left, that is a conflict, and the file is not overwritten unless
// [Options].Force is set. Apply restores all files or none. The package does not ask the user and
// prints nothing.
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

// Options select the target of a rewind and what it restores.
type Options struct {
	// Seq is the seq of the record to rewind to; [Find] finds it.
	Seq int64
	// Folders are the folders in which files may be restored; nil restores no files.
	Folders *workdir.Folders
	// Transcript also rewinds the transcript with a rewrite; the earlier transcript stays
	// readable. With Fork it is rewound in a new session, and this one does not change.
	Transcript bool
	Fork       bool
	Grants     bool // with Fork: see [session.ForkOptions].Grants
	// Force also restores files that something other than a tool changed, and files that configure
	// other programs.
	Force bool
	// Except are files to leave unchanged, as absolute paths.
	Except []string
	// Actor is who requested the rewind, for the record.
	Actor string
	// Mask returns a payload without its secrets, and the same bytes if there are none. Content
	// with a secret is not stored. Nil stores everything.
	Mask func(json.RawMessage) json.RawMessage

	afterFile func(n int) error // for tests that stop after n files
}

// Action says what to do with a file.
type Action string

// The actions. Only the first three change a file.
const (
	Restore   Action = "restore"  // write the earlier content
	Recreate  Action = "recreate" // the file was deleted; create it again
	Delete    Action = "delete"   // the file did not exist; delete it
	Unchanged Action = "same"     // already has the earlier content
	Skip      Action = "left"     // listed in Options.Except
	Conflict  Action = "conflict" // needs Options.Force; see Reason
	Blocked   Action = "blocked"  // cannot be restored; see Reason
)

// File is one file of a plan.
type File struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Reason string `json:"why,omitempty"`
	// Note is additional information.
	Note string `json:"note,omitempty"`
	Size int64  `json:"size"` // size after the rewind

	save, newest savedFile // the records before the first and before the last change since the target
	content      *savedFile
	now          string // digest of the current content
	target       workdir.Path
	info         fs.FileInfo
}

func (f *File) changes() bool {
	return f.Action == Restore || f.Action == Recreate || f.Action == Delete
}

// Plan describes the changes of a rewind. By itself it changes nothing.
type Plan struct {
	Session string `json:"session"`
	Seq     int64  `json:"to"`
	Files   []File `json:"files"` // by path
	// Items are the numbers of items in the transcript now and after the rewind; both are 0 if the
	// transcript stays.
	Items [2]int `json:"items"`
	// Undone are the rewrites of the transcript that the rewind undoes.
	Undone []Rewrite `json:"undone,omitempty"`

	s    *session.Sessions
	o    Options
	head int64 // head of the log when the plan was made
}

// Report is the JSON form of a plan and its result.
type Report struct {
	*Plan
	Digest string  `json:"digest"` // digest of the plan
	Head   int64   `json:"head"`   // rewind to it to undo this rewind
	Done   *Result `json:"done,omitempty"`
}

// Document returns the report of a plan that was not applied.
func (p *Plan) Document() *Report { return &Report{Plan: p, Digest: p.Digest(), Head: p.head} }

// Result is the result of [Plan.Apply].
type Result struct {
	Files       []File   `json:"files"`             // changed files
	Transcript  bool     `json:"transcript"`        // the transcript was rewound
	Forked      string   `json:"forked,omitempty"`  // the session to continue in
	NotRestored []File   `json:"unkept,omitempty"`  // the files whose content before the rewind is not in the log
	Notices     []string `json:"notices,omitempty"` // about repairs when the session was opened, and what the fork does not inherit
}

// ErrChanged is returned if the session or a file changed after the plan was made.
var ErrChanged = errors.New("the session or its files changed since the plan was made; hint: make a new plan")

// ErrBlocked is wrapped by [*BlockedError].
var ErrBlocked = errors.New("cannot restore all files")

// BlockedError lists the files that prevent the rewind.
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

// New makes the plan of a rewind. It takes no lease. It returns ErrInvalid if the session has no
// such record.
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

// Changes reports whether the rewind changes anything.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.changes() }) || p.o.Transcript
}

// Head returns the seq of the last record when the plan was made. To undo the rewind, rewind to it.
func (p *Plan) Head() int64 { return p.head }

// Digest returns a digest of the whole plan: the target, each file with its action and current content,
// and the head of the log.
func (p *Plan) Digest() string {
	return session.Digest(sha256.Sum256(fmt.Appendf(nil, "%s %d %d %v %v %v %v\n%s", p.Session, p.Seq, p.head, p.o.Transcript, p.o.Fork, p.o.Grants, p.o.Force, p.fingerprint()))).String()
}

// Ready returns a [*BlockedError] if the plan cannot be applied.
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

// files decides about each file that changed after the target.
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
			f.Note = fmt.Sprintf("something other than a tool also changed it before record %d", s.seq)
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

func (f *File) set(a Action, why string) { f.Action, f.Reason = a, why }

// decide compares the current file with its stored content.
func (p *Plan) decide(ctx context.Context, f *File, checked map[string]error) error {
	if slices.Contains(p.o.Except, f.Path) {
		f.set(Skip, "")
		return nil
	}
	if f.save.missing != "" {
		f.set(Blocked, f.save.missing)
		return nil
	}
	if why := f.look(p.o.Folders); why != "" {
		f.set(Blocked, why)
		return nil
	}
	f.Size = f.save.Size
	known := f.now == f.newest.After || f.now == f.newest.Digest
	switch {
	case f.now == f.save.Digest:
		f.set(Unchanged, "")
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
			f.set(Blocked, why)
			return nil
		}
	}
	if why := protectedReason(f.Path); why != "" && !p.o.Force {
		f.set(Conflict, why)
	} else if !known && !p.o.Force {
		f.set(Conflict, "something other than a tool changed it since")
	} else if !known {
		f.Note = "something other than a tool changed it since"
	}
	return nil
}

// look reads the current state of a file.
func (f *File) look(folders *workdir.Folders) (why string) {
	var err error
	if !filepath.IsAbs(f.Path) {
		return "the path is not absolute"
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

// reason returns the text of an error without its path, which is shown next to it.
func reason(err error) string {
	if e, ok := errors.AsType[*workdir.PathError](err); ok {
		if e.Help != "" {
			return e.Err.Error() + " (" + e.Help + ")"
		}
		return e.Err.Error()
	}
	return err.Error()
}
