package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// ForkOptions are the options of [Sessions.Fork].
type ForkOptions struct {
	ID        string // id of the new session; default a new UUID
	ItemIndex *int   // index of the last transcript item to keep, from 0; nil keeps all
	First     *int   // the number of items to keep, in place of ItemIndex: First 10 is ItemIndex 9
	ItemID    string // id of the last transcript item to keep, in place of its index
	Seq       int64  // seq of the last record to share, in place of an item; 0 is the newest
	Title     string
	User      string // see [Opened.User]
	Owner     string // see [Opened.Owner]

	Caller, Use string // the tool call that starts the new session, see [Opened]

	// Grants copies the current policy of the source's run into the fork: mode, grants, denials
	// and patches. If it is false, the fork starts without them.
	Grants bool
}

// Fork starts a new session that shares src's records up to a point; nothing is copied. It returns
// the new id. Errors: ErrNotFound, ErrExists, and ErrInvalid for an index out of range or an
// unknown item id, with the nearest ids in its Hint.
//
// The fork copies the source's metadata, with "Forked from session <src>" as its summary. Queued
// input, running tools and open approval requests stay in the source.
func (s *Sessions) Fork(ctx context.Context, src string, o *ForkOptions) (string, error) {
	var opt ForkOptions
	if o != nil {
		opt = *o
	}
	if opt.ID == "" {
		opt.ID = uuid.NewString()
	}
	if err := CheckID(opt.ID); err != nil {
		return "", err
	}
	m, err := s.Get(ctx, src)
	if err != nil {
		return "", err
	}
	if _, err := s.lookup(ctx, opt.ID); err == nil {
		return "", &Error{Op: "fork", Session: opt.ID, Err: ErrExists, Hint: "choose another id, or leave it empty"}
	}
	if opt.ItemIndex, err = opt.lastIndex(m); err != nil {
		return "", err
	}
	at := branch{base: Base{Parent: src, Seq: m.Head, Digest: m.HeadDigest, Messages: m.MessageCount}}
	switch {
	case opt.ItemIndex != nil || opt.ItemID != "":
		at, err = s.branch(ctx, m, opt)
	case opt.Seq != 0:
		at, err = s.branchAt(ctx, m, opt.Seq)
	}
	if err != nil {
		return "", err
	}
	return opt.ID, s.startFork(ctx, m, opt, at)
}

// lastIndex returns ItemIndex, or the index that First stands for.
func (o *ForkOptions) lastIndex(m Meta) (*int, error) {
	bad := func(detail, hint string) error {
		return &Error{Op: "fork", Session: m.ID, Err: ErrInvalid, Detail: detail, Hint: hint}
	}
	switch {
	case o.First == nil:
		return o.ItemIndex, nil
	case o.ItemIndex != nil || o.ItemID != "" || o.Seq != 0:
		return nil, bad("there is more than one fork point", "set only one of ItemIndex, First, ItemID and Seq")
	case *o.First < 1 || *o.First > m.MessageCount:
		return nil, bad(fmt.Sprintf("cannot keep the first %d of %d items", *o.First, m.MessageCount), fmt.Sprintf("use a number from 1 to %d", m.MessageCount))
	}
	last := *o.First - 1
	return &last, nil
}

// startFork appends the first records of a fork.
func (s *Sessions) startFork(ctx context.Context, m Meta, opt ForkOptions, at branch) error {
	title := opt.Title
	if title == "" {
		title = m.Title
	}
	drafts, err := Opened{
		Format: record.FormatVersion, SessionID: opt.ID, Created: s.opt.Clock().UTC().Truncate(time.Millisecond), Project: m.Project, CWD: m.CWD,
		Model: m.Model, GitBranch: m.GitBranch, Title: title, Summary: "Forked from session " + m.ID, Tag: m.Tag,
		Prompt: m.FirstPrompt, User: opt.User, Owner: opt.Owner, Caller: opt.Caller, Use: opt.Use, Base: &at.base,
	}.Drafts()
	if err != nil {
		return err
	}
	if at.cut != nil {
		d, err := NewDraft(record.KindRewrite, at.cut)
		if err != nil {
			return err
		}
		drafts = slices.Insert(drafts, 1, d)
	}
	if opt.Grants {
		decided, err := s.policyDrafts(ctx, m)
		if err != nil {
			return err
		}
		drafts = append(drafts, decided...)
	}
	l := s.newLog(opt.ID)
	l.meta = Meta{Head: at.base.Seq, HeadDigest: at.base.Digest}
	// A new fork needs no lease: no other process knows its id yet.
	return l.write(ctx, l.seal(drafts))
}

// Drafts returns the first records of a log. The first one describes the session. The title,
// summary, tag and first prompt are in a second record: it may be necessary to erase them, and the
// first record cannot be erased.
func (o Opened) Drafts() ([]Draft, error) {
	p := MetaPatch{}
	shown := false
	for _, f := range []struct {
		text *string
		to   **string
	}{{&o.Title, &p.Title}, {&o.Summary, &p.Summary}, {&o.Tag, &p.Tag}, {&o.Prompt, &p.FirstPrompt}} {
		if *f.text != "" {
			text := *f.text
			*f.to, *f.text, shown = &text, "", true
		}
	}
	opened, err := NewDraft(record.KindOpened, o)
	if err != nil || !shown {
		return []Draft{opened}, err
	}
	changed, err := NewDraft(record.KindMetaChanged, p)
	return []Draft{opened, changed}, err
}

// policyDrafts returns the policy changes that apply in the run of a session, except the limits of
// turns.
func (s *Sessions) policyDrafts(ctx context.Context, m Meta) ([]Draft, error) {
	state, err := s.runState(ctx, m)
	if err != nil {
		return nil, err
	}
	var drafts []Draft
	for _, payload := range state.Policy {
		var p record.PolicyChanged
		if err := json.Unmarshal(payload, &p); err != nil {
			return nil, err
		}
		if p.Limit == nil {
			drafts = append(drafts, Draft{Kind: record.KindPolicyChanged, Payload: payload})
		}
	}
	return drafts, nil
}

// runState returns the state of the session that owns the run, or the session's own.
func (s *Sessions) runState(ctx context.Context, m Meta) (*State, error) {
	if m.Owner != "" {
		run, err := s.Get(ctx, m.Owner)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if err == nil {
			m = run
		}
	}
	return s.StateAt(ctx, m.ID, m.Head)
}

// NotInherited is the part of the policy of a session's run that a fork does not have.
type NotInherited struct {
	Mode   string `json:"mode,omitempty" jsonschema:"the permission mode; empty if it was never set or is default"`
	Policy bool   `json:"policy,omitempty" jsonschema:"grants, denials or changes of policy"`
}

// NotInheritedByFork returns what a fork of a session starts without, unless [ForkOptions].Grants
// is set.
func (s *Sessions) NotInheritedByFork(ctx context.Context, id string) (NotInherited, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return NotInherited{}, err
	}
	state, err := s.runState(ctx, m)
	if err != nil {
		return NotInherited{}, err
	}
	return notInheritedFrom(state), nil
}

func notInheritedFrom(s *State) NotInherited {
	left := NotInherited{Mode: s.Mode}
	if left.Mode == "default" {
		left.Mode = ""
	}
	for _, payload := range s.Policy {
		var p record.PolicyChanged
		left.Policy = left.Policy || json.Unmarshal(payload, &p) != nil || p.Mode == "" && p.Limit == nil && !p.Ended
	}
	return left
}

// Notice returns a notice for the user, or "" if the fork lacks nothing.
func (l NotInherited) Notice(id string) string {
	var what []string
	if l.Mode != "" {
		what = append(what, "the mode "+l.Mode)
	}
	if l.Policy {
		what = append(what, "the grants, denials and policy changes")
	}
	if what == nil {
		return ""
	}
	return fmt.Sprintf("the fork starts without %s of session %s; hint: --with-grants", strings.Join(what, " and "), id)
}

// branch is the point where a fork leaves its parent. If the point is inside a rewrite, branch also
// has the cut that the fork needs.
type branch struct {
	base Base
	cut  *Rewrite
}

// branch finds the record that ends the transcript at the point in opt. It reads backwards from
// the end.
func (s *Sessions) branch(ctx context.Context, m Meta, opt ForkOptions) (branch, error) {
	if opt.ItemIndex != nil {
		bad := func(format string, args ...any) error {
			return &Error{
				Op: "fork", Session: m.ID, Err: ErrInvalid, Detail: fmt.Sprintf(format, args...),
				Hint: fmt.Sprintf("use an index from 0 to %d", m.MessageCount-1),
			}
		}
		if *opt.ItemIndex < 0 {
			return branch{}, bad("upToMessageIndex %d is negative", *opt.ItemIndex)
		}
		if *opt.ItemIndex >= m.MessageCount {
			return branch{}, bad("upToMessageIndex %d out of range (0..<%d)", *opt.ItemIndex, m.MessageCount)
		}
	}
	p, err := s.findItem(ctx, m, opt.ItemID, opt.ItemIndex)
	if err != nil {
		return branch{}, err
	}
	b := branch{base: Base{Parent: m.ID, Seq: p.record.Seq, Digest: p.record.Digest, Messages: p.index + 1}}
	if !p.hasFollowing() {
		return b, nil
	}
	b.base.Messages = p.of // a rewrite has all items of the transcript
	b.cut = &Rewrite{Reason: "truncate", TruncateAfter: p.item.ID(), Messages: p.index + 1}
	if b.cut.TruncateAfter == "" {
		return branch{}, &Error{
			Op: "fork", Session: m.ID, Seq: p.record.Seq, Err: ErrInvalid,
			Detail: "the item at this index has no id",
		}
	}
	return b, nil
}

// branchAt leaves the parent right after a record.
func (s *Sessions) branchAt(ctx context.Context, m Meta, seq int64) (branch, error) {
	state, err := s.StateAt(ctx, m.ID, seq)
	if err != nil {
		return branch{}, err
	}
	for r, err := range s.records(ctx, m, Range{After: seq - 1, Until: seq}) {
		if err != nil {
			return branch{}, err
		}
		return branch{base: Base{Parent: m.ID, Seq: seq, Digest: r.Digest, Messages: len(state.Items)}}, nil
	}
	return branch{}, noRecord(m, seq)
}

// itemPosition is the position of an item in a transcript and the record that contains it.
type itemPosition struct {
	locatedItem
	index int
}

// findItem finds an item by id or, if id is empty, by index.
func (s *Sessions) findItem(ctx context.Context, m Meta, id string, index *int) (itemPosition, error) {
	var (
		b   = s.backwards(ctx, m)
		i   = m.MessageCount
		ids []string
	)
	for f := range b.items {
		i--
		if id != "" && f.item.ID() == id || id == "" && i == *index {
			return itemPosition{locatedItem: f, index: i}, nil
		}
		ids = append(ids, f.item.ID())
	}
	if b.err != nil {
		return itemPosition{}, b.err
	}
	if id == "" {
		return itemPosition{}, &Error{
			Op: "read", Session: m.ID, Err: ErrCorrupt, Detail: "its metadata counts more items than the log has",
			Hint: "holdfast sessions repair " + m.ID,
		}
	}
	return itemPosition{}, unknownItem(m.ID, id, ids)
}
