package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// Request is a request to rewind a session.
type Request struct {
	api.Rewind
	AddDirs []string // more folders in which files may be restored
	Actor   string   // who requested it, for the record
}

// Check fills in the defaults of the request, or returns an error if the request is invalid. The
// parameter session is the id of the session, for hints.
func (r *Request) Check(session string) error {
	if (r.Target == "") == (r.ToRewrite == "") {
		return outcome.Invalid("missing target: give one of --to and --to-rewrite", "to undo the last turn: --to turn:-1. holdfast sessions show "+term.Quote(session)+" lists the ids of items; add --records or --rewrites for the numbers")
	}
	if !r.Files && !r.Transcript {
		r.Transcript, r.Files = true, r.Target != ""
	}
	if r.WithGrants && !r.Fork {
		return outcome.Invalid("--with-grants needs --fork", "add --fork")
	}
	if r.Fork && !r.Transcript {
		return outcome.Invalid("--fork forks the transcript and cannot be combined with --files alone", "leave --files out, or add --transcript")
	}
	return nil
}

// Plan plans a checked request. done closes the folders of the plan; call it after [Plan.Apply].
func (r *Request) Plan(ctx context.Context, e *env.Env, s *session.Sessions, m session.Meta) (plan *Plan, done func(), err error) {
	o := Options{Transcript: r.Transcript, Fork: r.Fork, Grants: r.WithGrants, Force: r.Force, Actor: r.Actor, Except: r.except(m)}
	if o.Seq, err = r.targetSeq(ctx, s, m); err != nil {
		return nil, nil, err
	}
	mask, err := e.Masker(m.CWD)
	if err != nil {
		return nil, nil, err
	}
	o.Mask = func(raw json.RawMessage) json.RawMessage {
		raw, _ = mask.JSON(raw)
		return raw
	}
	done = func() {}
	if r.Files {
		if o.Folders, err = r.folders(ctx, e, s, m); err != nil {
			return nil, nil, err
		}
		done = func() { _ = o.Folders.Close() }
	}
	if plan, err = New(ctx, s, m.ID, o); err != nil {
		done()
		return nil, nil, err
	}
	return plan, done, nil
}

// CheckExcept rejects a path in Except that is not a file of the plan. Otherwise a misspelled path
// would not protect the file.
func (r *Request) CheckExcept(plan *Plan, m session.Meta) error {
	for i, path := range r.except(m) {
		if !slices.ContainsFunc(plan.Files, func(f File) bool { return f.Path == path }) {
			return outcome.Invalid(fmt.Sprintf("--except %s is not among the files to restore", term.Quote(r.Except[i])), "list the files with --dry-run and no --except")
		}
	}
	return nil
}

// except returns the excluded files as absolute paths.
func (r *Request) except(m session.Meta) (list []string) {
	for _, f := range r.Except {
		if !filepath.IsAbs(f) {
			f = filepath.Join(m.CWD, f)
		}
		list = append(list, filepath.Clean(f))
	}
	return list
}

// folders opens the folders in which files may be restored.
func (r *Request) folders(ctx context.Context, e *env.Env, s *session.Sessions, m session.Meta) (*workdir.Folders, error) {
	if err := checkLocal(ctx, s, m); err != nil {
		return nil, err
	}
	var dirs []string
	if m.CWD != "" {
		dirs = append(dirs, m.CWD)
	}
	for _, d := range r.AddDirs {
		dir, err := e.Folder(d)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) == 0 {
		return nil, outcome.Invalid("the session has no folder", "name the folder with its files: --add-dir FOLDER")
	}
	folders, err := workdir.Open(dirs[0], dirs[1:]...)
	if err != nil {
		return nil, &outcome.Failure{
			Message: err.Error(), Advice: "if the folder was moved: holdfast sessions relocate --cwd FOLDER " + m.ID, Result: outcome.Usage, Cause: err,
		}
	}
	return folders, nil
}

// checkLocal returns an error if the session, or the session that owns it, runs in a workspace: the
// files in its log are files of the container.
func checkLocal(ctx context.Context, s *session.Sessions, m session.Meta) error {
	for _, id := range []string{m.ID, m.Owner} {
		if id == "" {
			continue
		}
		meta, err := s.Get(ctx, id)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if slug, _, ok := workspace.OfProject(meta.Project); ok {
			return outcome.Invalid(fmt.Sprintf("the files of this session are in workspace %s and cannot be restored from outside", slug), "rewind only the transcript: --transcript")
		}
	}
	return nil
}

// targetSeq returns the seq of the record to rewind to.
func (r *Request) targetSeq(ctx context.Context, s *session.Sessions, m session.Meta) (int64, error) {
	if r.Target != "" {
		return Find(ctx, s, m.ID, r.Target)
	}
	all, err := Rewrites(ctx, s, m.ID)
	if err != nil {
		return 0, err
	}
	if r.ToRewrite == "last" && len(all) > 0 {
		return all[len(all)-1].Seq - 1, nil
	}
	n, err := strconv.ParseInt(r.ToRewrite, 10, 64)
	for _, w := range all {
		if err == nil && w.Seq == n {
			return n - 1, nil
		}
	}
	hint := "its transcript was never rewritten"
	if len(all) > 0 {
		hint = "holdfast sessions show --rewrites " + m.ID
	}
	return 0, outcome.Invalid(fmt.Sprintf("--to-rewrite %q is not the number of a rewrite", r.ToRewrite), hint)
}
