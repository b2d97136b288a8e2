package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/checkpoint"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// rewindCmd is `holdfast sessions rewind`.
type rewindCmd struct {
	sessionArg
	To         string
	ToRewrite  string
	Files      bool
	Transcript bool
	Fork       bool
	WithGrants bool
	AddDir     []string
	Except     []string
	Force      bool
	DryRun     bool
	Yes        bool
	command.StoreFlags
	command.JSONFlag

	by string // who wants it; "": the user
}

func (c *rewindCmd) Declare(b *command.Builder) {
	b.Include(&c.sessionArg)
	b.Flag(&c.To, "to", "", "POINT", "Back to right after this record (its number), item (its id) or turn (its id, or turn:3; turn:0 is before the first).")
	b.Flag(&c.ToRewrite, "to-rewrite", "", "N", "Back to the transcript before the rewrite in record N, such as a compaction; last is the newest. sessions show --rewrites lists them.")
	b.Flag(&c.Files, "files", "", "", "Only the files, unless --transcript is given, too.")
	b.Flag(&c.Transcript, "transcript", "", "", "Only the transcript, unless --files is given, too.")
	b.Flag(&c.Fork, "fork", "", "", "Leave the transcript as it is, and go on from there in a new session.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "With --fork: begin with what was decided in the session: mode, grants, denials, changes of policy.")
	b.Flag(&c.AddDir, "add-dir", "", "FOLDER", "Another folder in which files are put back; may be repeated.")
	b.Flag(&c.Except, "except", "", "FILE", "Leave this file as it is; may be repeated.")
	b.Flag(&c.Force, "force", "", "", "Put back also files that others have changed since, and those that decide what other programs do.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only show what would be done.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// rewindDoc is what it prints as JSON: the plan, and what was done.
type rewindDoc struct {
	*checkpoint.Plan
	Digest string             `json:"digest"` // of what was shown
	Head   int64              `json:"head"`   // going back to it takes this back
	Done   *checkpoint.Result `json:"done,omitempty"`
}

func newRewindDoc(plan *checkpoint.Plan) rewindDoc {
	return rewindDoc{Plan: plan, Digest: plan.Digest(), Head: plan.Head()}
}

// check completes what is wanted.
func (c *rewindCmd) check() error {
	if (c.To == "") == (c.ToRewrite == "") {
		return outcome.Invalid("say how far: one of --to and --to-rewrite", "holdfast sessions show "+term.Quote(c.Session)+" has the ids, --records and --rewrites the numbers")
	}
	if !c.Files && !c.Transcript {
		c.Transcript, c.Files = true, c.To != ""
	}
	if c.WithGrants && !c.Fork {
		return outcome.Invalid("--with-grants is about the fork", "add --fork")
	}
	if c.Fork && !c.Transcript {
		return outcome.Invalid("--fork is about the transcript", "leave --files out, or add --transcript")
	}
	return nil
}

func (c *rewindCmd) Run(ctx context.Context, p *command.Program) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.with(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		o, closeFolders, err := c.options(ctx, p, s, m)
		if err != nil {
			return err
		}
		defer closeFolders()
		plan, err := checkpoint.New(ctx, s, m.ID, o)
		if err != nil {
			return err
		}
		if !c.JSON {
			c.show(p, m, plan)
		}
		if err := c.spared(plan, o.Except); err != nil {
			return err
		}
		if err := plan.Ready(); err != nil {
			return c.blocked(p, plan, err)
		}
		yes, err := c.agreed(ctx, p, plan)
		if err != nil {
			return err
		}
		doc := newRewindDoc(plan)
		if yes {
			if doc.Done, err = plan.Apply(ctx); err != nil {
				return err
			}
		}
		return c.tell(p, m, doc)
	})
}

// options find the point, the folders, and what masks secrets.
func (c *rewindCmd) options(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) (o checkpoint.Options, done func(), err error) {
	done = func() {}
	o = checkpoint.Options{Transcript: c.Transcript, Fork: c.Fork, Grants: c.WithGrants, Force: c.Force, By: cmp.Or(c.by, cmp.Or(p.Getenv("USER"), "person"))}
	if o.To, err = c.point(ctx, s, m); err != nil {
		return o, done, err
	}
	mask, err := logMask(p, m.CWD)
	if err != nil {
		return o, done, err
	}
	o.Mask = func(raw json.RawMessage) json.RawMessage {
		raw, _ = mask.JSON(raw)
		return raw
	}
	for _, f := range c.Except {
		if !filepath.IsAbs(f) {
			f = filepath.Join(m.CWD, f)
		}
		o.Except = append(o.Except, filepath.Clean(f))
	}
	if !c.Files {
		return o, done, nil
	}
	if err := c.onThisMachine(ctx, s, m); err != nil {
		return o, done, err
	}
	dirs := []string{m.CWD}
	if m.CWD == "" {
		dirs = nil
	}
	for _, d := range c.AddDir {
		dir, err := p.Folder(d)
		if err != nil {
			return o, done, err
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) == 0 {
		return o, done, outcome.Invalid("the session names no folder", "say where its files are: --add-dir FOLDER")
	}
	if o.Folders, err = tool.OpenFolders(dirs[0], dirs[1:]...); err != nil {
		return o, done, &outcome.Failure{Message: err.Error(), Advice: "if the folder was moved: holdfast sessions relocate --cwd FOLDER " + m.ID, Result: outcome.Usage, Cause: err}
	}
	return o, func() { _ = o.Folders.Close() }, nil
}

// spared refuses an --except that spares nothing: what was misspelt would be put back.
func (c *rewindCmd) spared(plan *checkpoint.Plan, except []string) error {
	for i, path := range except {
		if !slices.ContainsFunc(plan.Files, func(f checkpoint.File) bool { return f.Path == path }) {
			return outcome.Invalid(fmt.Sprintf("--except %s is none of the files that would be put back", term.Quote(c.Except[i])), "--dry-run without it lists them")
		}
	}
	return nil
}

// logMask is what masks secrets in the log of a session of a folder; nil: its settings
// mask nothing. With settings that cannot be read the built-in patterns count.
func logMask(p *command.Program, folder string) (*secret.Masker, error) {
	if s, err := p.FolderSettings(folder); err == nil {
		return s.Masker()
	}
	return secret.New(nil)
}

// onThisMachine refuses to write files of a session whose agent works in a container:
// its log comes from there.
func (c *rewindCmd) onThisMachine(ctx context.Context, s *session.Sessions, m session.Meta) error {
	for _, id := range []string{m.ID, m.Owner} {
		if id == "" {
			continue
		}
		of, err := s.Get(ctx, id)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if slug, _, ok := workspace.OfProject(of.Project); ok {
			return outcome.Invalid(fmt.Sprintf("the files of this session are those of workspace %s: they are not put back from outside", slug), "take back the transcript alone: --transcript")
		}
	}
	return nil
}

// point is the record that is meant.
func (c *rewindCmd) point(ctx context.Context, s *session.Sessions, m session.Meta) (int64, error) {
	if c.To != "" {
		return checkpoint.Find(ctx, s, m.ID, c.To)
	}
	all, err := s.Rewrites(ctx, m.ID)
	if err != nil {
		return 0, err
	}
	if c.ToRewrite == "last" && len(all) > 0 {
		return all[len(all)-1].Seq - 1, nil
	}
	n, err := strconv.ParseInt(c.ToRewrite, 10, 64)
	for _, r := range all {
		if err == nil && r.Seq == n {
			return n - 1, nil
		}
	}
	hint := "its transcript was never rewritten"
	if len(all) > 0 {
		hint = "holdfast sessions show --rewrites " + m.ID
	}
	return 0, outcome.Invalid(fmt.Sprintf("--to-rewrite %q is the number of no rewrite", c.ToRewrite), hint)
}

// blocked tells why nothing is done.
func (c *rewindCmd) blocked(p *command.Program, plan *checkpoint.Plan, err error) error {
	e, ok := errors.AsType[*checkpoint.BlockedError](err)
	if !ok {
		return err
	}
	if c.JSON {
		if err := p.Out.JSON(newRewindDoc(plan), false); err != nil {
			return err
		}
	}
	hint := "--except FILE leaves one as it is"
	if slices.ContainsFunc(e.Files, func(f checkpoint.File) bool { return f.Action == checkpoint.Conflict }) {
		hint += ", --force puts back those in conflict"
	}
	return &outcome.Failure{Message: fmt.Sprintf("%s cannot be put back, so nothing was changed", term.Count(len(e.Files), "file")), Advice: hint, Result: outcome.Failed, Cause: err}
}

// agreed asks the person at the terminal, unless the command line has said it.
func (c *rewindCmd) agreed(ctx context.Context, p *command.Program, plan *checkpoint.Plan) (bool, error) {
	switch {
	case c.DryRun || !plan.Changes():
		return false, nil
	case c.Yes:
		return true, nil
	}
	a := newAsker(p)
	if a == nil {
		if c.JSON {
			if err := p.Out.JSON(newRewindDoc(plan), false); err != nil {
				return false, err
			}
		}
		return false, outcome.Invalid("nothing was changed: nobody is there to confirm it", "--yes does it, --dry-run only shows it")
	}
	defer a.Close()
	return a.Yes(ctx, "do this?")
}

// show prints the plan.
func (c *rewindCmd) show(p *command.Program, m session.Meta, plan *checkpoint.Plan) {
	t := p.Out.Style
	p.Out.Line("session %s: back to record %d of %d", term.Escape(m.ID), plan.To, m.Head)
	for _, f := range plan.Files {
		word := term.Column(string(f.Action), 8)
		switch f.Action {
		case checkpoint.Conflict, checkpoint.Blocked:
			word = t.Red(word)
		case checkpoint.Same, checkpoint.Left:
			word = t.Dim(word)
		case checkpoint.Delete:
			word = t.Yellow(word)
		}
		more := ""
		if f.Action == checkpoint.Restore || f.Action == checkpoint.Recreate {
			more = "  " + term.Size(f.Size)
		}
		for _, text := range []string{f.Why, f.Note} {
			if text != "" {
				more += "  " + text
			}
		}
		p.Out.Line("  %s  %s%s", word, term.Escape(seenFrom(m.CWD, f.Path)), t.Dim(term.Escape(more)))
	}
	if c.Files && len(plan.Files) == 0 {
		p.Out.Line("  no tool has changed a file since")
	}
	if !c.Transcript {
		return
	}
	how := "the transcript"
	if c.Fork {
		how = "a fork's transcript"
	}
	line := fmt.Sprintf("%s: %s instead of %d", how, term.Count(plan.Items[1], "item"), plan.Items[0])
	var undone []string
	for _, r := range plan.Undone {
		undone = append(undone, fmt.Sprintf("%s (record %d)", r.Reason, r.Seq))
	}
	if len(undone) > 0 {
		line += ", as before: " + strings.Join(undone, ", ")
	}
	p.Out.Line("  %s", term.Escape(line))
}

// seenFrom is a path as it is seen from a folder that holds it.
func seenFrom(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}

func (c *rewindCmd) tell(p *command.Program, m session.Meta, d rewindDoc) error {
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	switch {
	case d.Done == nil && !d.Changes():
		p.Err.Line("nothing has to be done")
		return nil
	case d.Done == nil && c.DryRun:
		return nil
	case d.Done == nil:
		p.Err.Line("nothing was changed")
		return nil
	}
	for _, f := range d.Done.Unkept {
		p.Warn("%s: what it was until now is not kept in the log, so this cannot be taken back", f.Path)
	}
	for _, text := range d.Done.Notices {
		p.Err.Line("%s", text)
	}
	if d.Done.Forked != "" {
		p.Out.Line("%s", d.Done.Forked)
	}
	var what []string
	if n := len(d.Done.Files); n > 0 {
		what = append(what, term.Count(n, "file")+" put back")
	}
	if d.Done.Transcript {
		what = append(what, "the transcript taken back")
	}
	if d.Done.Forked != "" {
		what = append(what, "forked")
	}
	if len(what) == 0 {
		p.Err.Line("nothing has to be done")
		return nil
	}
	p.Err.Line("session %s: %s", term.Escape(m.ID), strings.Join(what, ", "))
	if d.Done.Forked == "" || len(d.Done.Files) > 0 {
		p.Err.Line("%s taken back by: holdfast sessions rewind %s--to %d %s", p.Err.Bold("hint:"), c.again(p), m.Head, term.Quote(m.ID))
	}
	return nil
}

// again is what a command that takes this back must say again.
func (c *rewindCmd) again(p *command.Program) string {
	var args strings.Builder
	args.WriteString(storeArg(c.Store))
	for _, d := range c.AddDir {
		if dir, err := p.Folder(d); err == nil && c.Files {
			args.WriteString("--add-dir " + term.Quote(dir) + " ")
		}
	}
	return args.String()
}
