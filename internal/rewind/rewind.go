// Package rewind plans and applies a rewind: it restores the files and the transcript of a session
// to their state immediately after an earlier record.
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
// The plan comes from the file.saved records of the session and its sub-agents. Each file is
// restored, through [workdir.Folders], to its state immediately before the first change after the
// target record. The log does not contain the changes that commands made. If the current content of
// a file is neither what the last recorded change found nor what it wrote, the file has a conflict:
// it is not overwritten unless [Options].Force is set. The same applies to files that control other
// programs. Apply restores nothing if one of the files is blocked or in conflict. The package does
// not ask the user and prints nothing.
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
	// Transcript also rewinds the transcript by a rewrite; the earlier transcript stays readable.
	// With Fork, the transcript of this session stays as it is, and a new session is forked at Seq.
	Transcript bool
	Fork       bool
	Grants     bool // with Fork: see [session.ForkOptions].Grants
	// Force also restores files that something other than a tool changed, and files that control
	// other programs.
	Force bool
	// Except are files to leave unchanged, given as absolute paths.
	Except []string
	// Actor is who requested the rewind, for the record.
	Actor string
	// Mask returns a payload with its secrets masked, or the same bytes if it has none. Content
	// with a secret is not stored. If Mask is nil, everything is stored.
	Mask func(json.RawMessage) json.RawMessage

	afterFile func(n int) error // for tests that stop after n files
}

// Action is what a rewind does with a file.
type Action string

// The actions. Only the first three change a file.
const (
	Restore   Action = "restore"  // write the earlier content
	Recreate  Action = "recreate" // the file was deleted; create it again
	Delete    Action = "delete"   // the file did not exist; delete it
	Unchanged Action = "same"     // the file already has the earlier content
	Skip      Action = "left"     // listed in Options.Except
	Conflict  Action = "conflict" // needs Options.Force; see Reason
	Blocked   Action = "blocked"  // the file cannot be restored; see Reason
)

// File is one file of a plan.
type File struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Reason string `json:"why,omitempty"`
	// Note is additional information.
	Note string `json:"note,omitempty"`
	Size int64  `json:"size"` // size after the rewind

	save, newest savedFile  // the records of the first and of the last change after the target
	content      *savedFile // the record that contains the content to restore
	now          string     // digest of the current content
	target       workdir.Path
	info         fs.FileInfo
}

func (f *File) changes() bool {
	return f.Action == Restore || f.Action == Recreate || f.Action == Delete
}

// Plan describes the changes of a rewind. Making a plan changes nothing.
type Plan struct {
	Session string `json:"session"`
	Seq     int64  `json:"to"`
	Files   []File `json:"files"` // by path
	// Items are the numbers of items in the transcript now and after the rewind. Both are 0 without
	// [Options].Transcript.
	Items [2]int `json:"items"`
	// Undone contains the rewrites of the transcript that the rewind undoes.
	Undone []Rewrite `json:"undone,omitempty"`

	s    *session.Sessions
	o    Options
	head int64 // head of the log when the plan was made
}

// Report is the JSON form of a plan and its result.
type Report struct {
	*Plan
	Digest string  `json:"digest"` // digest of the plan
	Head   int64   `json:"head"`   // a rewind to this seq undoes this rewind
	Done   *Result `json:"done,omitempty"`
}

// Document returns the report of a plan that was not applied.
func (p *Plan) Document() *Report { return &Report{Plan: p, Digest: p.Digest(), Head: p.head} }

// Result is the result of [Plan.Apply].
type Result struct {
	Files       []File   `json:"files"`             // changed files
	Transcript  bool     `json:"transcript"`        // the transcript was rewound
	Forked      string   `json:"forked,omitempty"`  // the id of the new session, if the rewind forked one
	NotRestored []File   `json:"unkept,omitempty"`  // the files whose content before the rewind is not in the log
	Notices     []string `json:"notices,omitempty"` // about repairs when the session was opened, and about what the fork does not inherit
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

// New creates the plan of a rewind. It takes no lease. It returns [session.ErrInvalid] if the
// session has no record with the seq [Options].Seq.
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

// Head returns the seq of the last record at the time of the plan. To undo the rewind, rewind to
// this seq.
func (p *Plan) Head() int64 { return p.head }

// Digest returns a digest of the whole plan: the target, the options, each file with its action and
// current content, and the head of the log.
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

// files decides what to do with each file that changed after the target.
func (p *Plan) files(ctx context.Context, all []savedFile) error {
	at := map[string]int{}
	checked := map[string]error{} // the result of reading each stored content, by the content's digest
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

// decide compares the current file with its stored content, and sets the action of the file.
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

// look determines the current state of a file. why is the reason why the file is blocked, or "".
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

// reason returns the text of an error without the path, because the path is shown next to it.
func reason(err error) string {
	if e, ok := errors.AsType[*workdir.PathError](err); ok {
		if e.Help != "" {
			return e.Err.Error() + " (" + e.Help + ")"
		}
		return e.Err.Error()
	}
	return err.Error()
}
