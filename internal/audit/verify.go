package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// VerifyOptions are the options of [Verify].
type VerifyOptions struct {
	Session    string // verify only this session; the trail is still read completely
	Checkpoint []byte // a signed note stored elsewhere, which the trail must contain
	Key        string // the verifier key of the notes; default: the key of the trail
}

// Report is the result of [Verify].
type Report struct {
	OK         bool      `json:"ok"` // there are no findings
	Sessions   int       `json:"sessions"`
	Records    int       `json:"records"`
	Leaves     int       `json:"leaves"`
	Checkpoint int       `json:"checkpoint"`       // number of leaves that the last checkpoint covers
	Signed     string    `json:"signed,omitempty"` // when that checkpoint was signed, RFC 3339; "" if there is no checkpoint
	Key        string    `json:"key,omitempty"`    // the verifier key with which it was verified
	Trail      string    `json:"trail"`            // the trail's folder
	Findings   []Finding `json:"findings"`
	Notes      []string  `json:"notes"`            // remarks that are not faults, such as records that no leaf covers yet
	Access     *Report   `json:"access,omitempty"` // the report on the log of logins and tokens; this log has a separate trail
}

// AddAccess adds the report on the log of logins and tokens.
func (r *Report) AddAccess(access *Report) {
	r.Access, r.OK = access, r.OK && access.OK
	for _, f := range access.Findings {
		f.Session = AccessID // set for all, because findings about a trail as a whole name no session
		r.Findings = append(r.Findings, f)
	}
}

// Finding is a fault. The first finding of a session shows where the fault begins.
type Finding struct {
	Session string `json:"session,omitempty"`
	Seq     int64  `json:"seq,omitempty"`  // seq of the first bad record, or 0
	Leaf    int64  `json:"leaf,omitempty"` // the number of the leaf in the trail, counted from 1; 0: no leaf
	Detail  string `json:"what"`           // "the payload does not match its digest", "records 12 to 15 are gone" …
}

// String returns the finding as one line.
func (f Finding) String() string {
	var where []string
	if f.Session != "" {
		where = append(where, "session "+f.Session)
	}
	if f.Seq != 0 {
		where = append(where, fmt.Sprint("record ", f.Seq))
	}
	if f.Leaf != 0 {
		where = append(where, fmt.Sprint("leaf ", f.Leaf))
	}
	if len(where) == 0 {
		return f.Detail
	}
	return strings.Join(where, ", ") + ": " + f.Detail
}

// Verify compares logs with their hash chains and with the trail, and the trail with its
// checkpoints. Faults in the data are returned as findings; the error reports what could not be
// read at all. Verify changes nothing, creates no files, and may run while other processes append.
//
// Findings about the trail come first. The findings of each session follow, oldest record first.
// Verify reads records one by one and keeps about 60 bytes for each leaf. If the folder does not
// exist, the trail was never started. That is a finding if o has a checkpoint or a key; otherwise
// it is a note.
func Verify(ctx context.Context, s *session.Sessions, dir string, o *VerifyOptions) (*Report, error) {
	v := verifyRun{ctx: ctx, s: s, dir: dir, r: &Report{Trail: dir, Findings: []Finding{}, Notes: []string{}}}
	if o != nil {
		v.o = *o
	}
	if v.o.Session != "" {
		if err := session.CheckID(v.o.Session); err != nil {
			return nil, err
		}
	}
	if err := v.readTrail(); err != nil {
		return nil, err
	}
	if err := v.verifyLogs(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(v.r.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Session, b.Session), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Leaf, b.Leaf))
	})
	v.r.OK = len(v.r.Findings) == 0
	return v.r, nil
}

// verifyRun is one Verify in progress.
type verifyRun struct {
	ctx context.Context
	s   *session.Sessions
	dir string
	o   VerifyOptions
	r   *Report

	sessions    map[string]*sessionLeaves // the leaves by session
	end         int64                     // length in bytes of the leaves that were read
	withoutLeaf []string                  // sessions without a leaf

	signed bool // there is a checkpoint
}

func (v *verifyRun) addFinding(f Finding) { v.r.Findings = append(v.r.Findings, f) }

func (v *verifyRun) note(format string, args ...any) {
	v.r.Notes = append(v.r.Notes, fmt.Sprintf(format, args...))
}

// verifyLogs verifies every existing session and reports missing ones.
func (v *verifyRun) verifyLogs() error {
	metas, err := v.metas()
	if err != nil {
		return err
	}
	for _, id := range v.ids(metas) {
		if err := v.verifyLog(id, metas); err != nil {
			return err
		}
	}
	if n := len(v.withoutLeaf); n > 0 && len(v.sessions) > 0 {
		v.note("%d %s no leaf, so only the chain of the records was checked: %s", n, plural(n, "session has", "sessions have"), firstFew(v.withoutLeaf))
	}
	return nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// firstFew returns the first few ids as text.
func firstFew(ids []string) string {
	const few = 5
	if len(ids) <= few {
		return strings.Join(ids, ", ")
	}
	return strings.Join(ids[:few], ", ") + ", …"
}

// metas returns the metadata of the sessions in the store.
func (v *verifyRun) metas() (map[string]session.Meta, error) {
	p, err := v.s.Store().List(v.ctx, session.Query{Worktrees: true, WithTrash: true, ID: v.o.Session})
	if errors.Is(err, session.ErrCorrupt) {
		v.addFinding(Finding{Detail: "the list of sessions cannot be read: " + detail(err)})
	} else if err != nil {
		return nil, err
	}
	metas := map[string]session.Meta{}
	for _, m := range p.Sessions {
		metas[m.ID] = m
	}
	return metas, nil
}

// ids lists the sessions to check: those of the list, those with leaves, and the parents of
// forks, which may be deleted.
func (v *verifyRun) ids(metas map[string]session.Meta) []string {
	if v.o.Session != "" {
		return []string{v.o.Session}
	}
	all := map[string]bool{}
	for id, m := range metas {
		all[id] = true
		if m.Parent != "" {
			all[m.Parent] = true
		}
	}
	for id := range v.sessions {
		all[id] = true
	}
	ids := make([]string, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// detail returns the cause of an error, without the operation that failed.
func detail(err error) string {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}
