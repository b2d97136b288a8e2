package rewind

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Apply applies the plan. If a file is blocked or in conflict, Apply changes nothing and returns a
// [*BlockedError]. It opens the session, which takes the lease ([session.ErrBusy] while the session
// runs) and repairs what the last run left incomplete. It returns [ErrChanged] if the plan would be
// different now. The current content of a file is stored in the log before the file is restored.
// After a crash or an error in the middle, each file has either its old or its new content, and
// another rewind restores the remaining files.
func (p *Plan) Apply(ctx context.Context) (_ *Result, err error) {
	if err := p.Ready(); err != nil {
		return nil, err
	}
	opened, err := p.s.Restore(ctx, session.RestoreOptions{SessionID: p.Session, MustExist: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Log.Close()) }()
	now, err := New(ctx, p.s, p.Session, p.o)
	if err != nil {
		return nil, err
	}
	if now.fingerprint() != p.fingerprint() {
		return nil, fmt.Errorf("rewind: session %s: %w", p.Session, ErrChanged)
	}
	a := applyRun{p: now, log: opened.Log, at: opened.State.Saved, r: &Result{Notices: opened.Notices}}
	if a.at == nil {
		a.at = map[string]int64{}
	}
	if err := a.restoreFiles(ctx); err != nil {
		return nil, err
	}
	return a.r, a.rewindTranscript(ctx)
}

// fingerprint returns, as text, the parts of the plan that must still be the same when the plan is
// applied.
func (p *Plan) fingerprint() string {
	var b strings.Builder
	for _, f := range p.Files {
		fmt.Fprintln(&b, f.Path, f.Action, f.now, f.save.Digest)
	}
	fmt.Fprintln(&b, p.Items[1])
	return b.String()
}

// applyRun applies a plan.
type applyRun struct {
	p   *Plan
	log *session.Log
	at  map[string]int64 // the seq of the record that contains a content, by the content's digest
	r   *Result
}

func (a *applyRun) restoreFiles(ctx context.Context) error {
	list := a.p.changedFiles()
	if len(list) > 0 && (!a.p.o.Transcript || a.p.o.Fork) { // the session's transcript stays
		// Notify before the first file: after the last one, a crash could prevent it.
		if err := a.notify(ctx, list); err != nil {
			return err
		}
	}
	n := 0
	for _, f := range list {
		if err := a.restoreFile(ctx, f); err != nil {
			return fmt.Errorf("rewind: %s: %w; %d of %d files were restored; run the rewind again to restore the rest", f.Path, err, n, len(list))
		}
		a.r.Files = append(a.r.Files, *f)
		n++
		if a.p.o.afterFile != nil {
			if err := a.p.o.afterFile(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// changedFiles returns the files that the rewind changes, in the order in which to change them. A
// file whose folders are deleted together with it comes after the other files in those folders.
func (p *Plan) changedFiles() []*File {
	var list []*File
	for i := range p.Files {
		if p.Files[i].changes() {
			list = append(list, &p.Files[i])
		}
	}
	rank := func(f *File) int {
		if f.Action != Delete || f.save.Folders == 0 {
			return 0
		}
		return math.MaxInt - strings.Count(f.Path, string(filepath.Separator)) // the deepest first
	}
	slices.SortStableFunc(list, func(a, b *File) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// restoreFile stores the current content of a file, and then restores the file.
func (a *applyRun) restoreFile(ctx context.Context, f *File) error {
	if err := a.saveCurrent(ctx, f); err != nil {
		return err
	}
	folders := a.p.o.Folders
	if f.Action == Delete {
		return folders.Remove(f.target, f.info, f.save.Folders)
	}
	content, err := f.content.content(ctx, a.p.s)
	if err != nil {
		return err
	}
	mode, err := f.save.Permissions()
	if err != nil {
		return damaged(err)
	}
	_, err = folders.Replace(f.target, content, f.info, mode)
	return err
}

// saveCurrent records the current content of a file. A content that is too large or contains a
// secret is left out of the record.
func (a *applyRun) saveCurrent(ctx context.Context, f *File) error {
	was := record.FileSaved{
		Path: f.Path, Digest: f.now, After: f.save.Digest,
		Rewind: &record.Rewind{Seq: a.p.Seq, By: a.p.o.Actor},
	}
	if f.info != nil {
		content, err := f.read()
		if err != nil {
			return err
		}
		was.Describe(f.info.Mode(), f.info.Size(), f.now)
		was.SetContent(content, a.at)
	} else {
		was.Folders = f.target.Missing()
	}
	payload, err := was.Payload()
	if err != nil {
		return err
	}
	d := session.Draft{Kind: record.KindFileSaved, Payload: payload}
	if a.p.o.Mask != nil {
		r := session.Record{Kind: d.Kind, Payload: d.Payload}
		if masked, found := r.Mask(a.p.o.Mask); found {
			d.Payload = masked
			if err := json.Unmarshal(masked, &was); err != nil {
				return err
			}
			was.Data = ""
		}
	}
	recs, err := a.log.Append(context.WithoutCancel(ctx), d)
	if err != nil {
		return err
	}
	if was.Data != "" {
		a.at[was.Digest] = recs[0].Seq
	}
	if was.Omitted != "" {
		a.r.NotRestored = append(a.r.NotRestored, *f)
	}
	return nil
}

// read returns the current content of the file, or nil if it is too large to store. It returns
// [ErrChanged] if the content changed after the plan was made.
func (f *File) read() ([]byte, error) {
	if f.info.Size() > record.MaxSaved {
		return nil, nil
	}
	file, _, err := f.target.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, record.MaxSaved+1))
	if err == nil && session.Digest(sha256.Sum256(content)).String() != f.now {
		err = ErrChanged
	}
	return content, err
}

// maxListed is the maximum number of files that a notification lists for the model.
const maxListed = 50

// notify queues a notification for the model, because the transcript still describes the files as
// the model left them.
func (a *applyRun) notify(ctx context.Context, list []*File) error {
	var text strings.Builder
	text.WriteString("The user restored files to an earlier state, so they no longer have the content you wrote. Read them again before you change them.")
	for i, f := range list {
		if i == maxListed {
			fmt.Fprintf(&text, "\n… and %d more", len(list)-i)
			break
		}
		action := "restored"
		if f.Action == Delete {
			action = "deleted"
		}
		text.WriteString("\n" + f.Path + ": " + action)
	}
	it := transcript.Item{
		ID: a.p.s.NewID(), Time: a.p.s.Now(), Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: text.String()}},
	}
	e, err := it.Encode()
	if err != nil {
		return err
	}
	d := session.ItemDraft(e, true, nil)
	if a.p.o.Mask != nil {
		r := session.Record{Kind: d.Kind, Payload: d.Payload}
		d.Payload, _ = r.Mask(a.p.o.Mask)
	}
	_, err = a.log.Append(ctx, d)
	return err
}

func (a *applyRun) rewindTranscript(ctx context.Context) error {
	if !a.p.o.Transcript {
		return nil
	}
	if a.p.o.Fork {
		id, err := a.p.s.Fork(ctx, a.p.Session, &session.ForkOptions{Seq: a.p.Seq, User: a.p.o.Actor, Grants: a.p.o.Grants})
		a.r.Forked, a.r.Transcript = id, err == nil
		if err != nil || a.p.o.Grants {
			return err
		}
		left, err := a.p.s.NotInheritedByFork(ctx, a.p.Session)
		if text := left.Notice(a.p.Session); text != "" {
			a.r.Notices = append(a.r.Notices, text)
		}
		return err
	}
	changed, err := a.log.RewindTo(ctx, a.p.Seq, a.p.o.Actor)
	a.r.Transcript = changed
	return err
}
