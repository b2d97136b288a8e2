package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/rewind"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *rewindCmd) Run(ctx context.Context, p *command.Program) error {
	r := &rewind.Request{Rewind: c.Rewind, AddDirs: c.AddDirs, Actor: cmp.Or(p.Getenv("USER"), "person")}
	if err := r.Check(c.Session); err != nil {
		return err
	}
	c.Rewind = r.Rewind // Check has set the missing flags
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		plan, closeFolders, err := r.Plan(ctx, p.Environment(), s, m)
		if err != nil {
			return err
		}
		defer closeFolders()
		if !c.JSON {
			c.show(p, m, plan)
		}
		if err := r.CheckExcept(plan, m); err != nil {
			return err
		}
		if err := plan.Ready(); err != nil {
			return c.blocked(p, plan, err)
		}
		yes, err := c.confirm(ctx, p, plan)
		if err != nil {
			return err
		}
		doc := plan.Document()
		if yes {
			if doc.Done, err = plan.Apply(ctx); err != nil {
				return err
			}
		}
		return c.print(p, m, doc)
	})
}

// blocked returns the reason why nothing was changed.
func (c *rewindCmd) blocked(p *command.Program, plan *rewind.Plan, err error) error {
	e, ok := errors.AsType[*rewind.BlockedError](err)
	if !ok {
		return err
	}
	if c.JSON {
		if err := p.Out.JSON(plan.Document(), false); err != nil {
			return err
		}
	}
	hint := "use --except FILE to leave a file unchanged"
	if slices.ContainsFunc(e.Files, func(f rewind.File) bool { return f.Action == rewind.Conflict }) {
		hint += ", or --force to restore the files in conflict"
	}
	return &outcome.Failure{Message: fmt.Sprintf("%s cannot be restored, so nothing was changed", term.Count(len(e.Files), "file")), Advice: hint, Result: outcome.Failed, Cause: err}
}

// confirm asks at the terminal, unless a flag answers.
func (c *rewindCmd) confirm(ctx context.Context, p *command.Program, plan *rewind.Plan) (bool, error) {
	switch {
	case c.DryRun || !plan.Changes():
		return false, nil
	case c.Yes:
		return true, nil
	}
	a := question.NewAsker(p)
	if a == nil {
		if c.JSON {
			if err := p.Out.JSON(plan.Document(), false); err != nil {
				return false, err
			}
		}
		return false, outcome.Invalid("cannot ask for confirmation without a terminal; nothing was changed", "use --yes to rewind, or --dry-run to show the changes")
	}
	defer a.Close()
	return a.Yes(ctx, "rewind?")
}

// show prints the plan.
func (c *rewindCmd) show(p *command.Program, m session.Meta, plan *rewind.Plan) {
	t := p.Out.Style
	p.Out.Line("session %s: rewind to record %d of %d", term.Escape(m.ID), plan.Seq, m.Head)
	for _, f := range plan.Files {
		word := term.Column(string(f.Action), 8)
		switch f.Action {
		case rewind.Conflict, rewind.Blocked:
			word = t.Red(word)
		case rewind.Unchanged, rewind.Skip:
			word = t.Dim(word)
		case rewind.Delete:
			word = t.Yellow(word)
		}
		more := ""
		if f.Action == rewind.Restore || f.Action == rewind.Recreate {
			more = "  " + term.Size(f.Size)
		}
		for _, text := range []string{f.Reason, f.Note} {
			if text != "" {
				more += "  " + text
			}
		}
		p.Out.Line("  %s  %s%s", word, term.Escape(displayPath(m.CWD, f.Path)), t.Dim(term.Escape(more)))
	}
	if c.Files && len(plan.Files) == 0 {
		p.Out.Line("  no tool has changed a file since then")
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
		line += "; this undoes: " + strings.Join(undone, ", ")
	}
	p.Out.Line("  %s", term.Escape(line))
}

// displayPath returns a path relative to the folder if it is inside.
func displayPath(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}

func (c *rewindCmd) print(p *command.Program, m session.Meta, d *rewind.Report) error {
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	switch {
	case d.Done == nil && !d.Changes():
		p.Err.Line("nothing to rewind")
		return nil
	case d.Done == nil && c.DryRun:
		return nil
	case d.Done == nil:
		p.Err.Line("nothing was changed")
		return nil
	}
	for _, f := range d.Done.NotRestored {
		p.Warn("%s: its current content is not saved in the log, so this rewind cannot be undone", f.Path)
	}
	for _, text := range d.Done.Notices {
		p.Err.Line("%s", text)
	}
	if d.Done.Forked != "" {
		p.Out.Line("%s", d.Done.Forked)
	}
	var what []string
	if n := len(d.Done.Files); n > 0 {
		what = append(what, term.Count(n, "file")+" restored")
	}
	if d.Done.Transcript {
		what = append(what, "the transcript rewound")
	}
	if d.Done.Forked != "" {
		what = append(what, "forked")
	}
	if len(what) == 0 {
		p.Err.Line("nothing to rewind")
		return nil
	}
	p.Err.Line("session %s: %s", term.Escape(m.ID), strings.Join(what, ", "))
	if d.Done.Forked == "" || len(d.Done.Files) > 0 {
		p.Err.Line("%s to undo: holdfast sessions rewind %s--to %d %s", p.Err.Bold("hint:"), c.undoCommand(p), m.Head, term.Quote(m.ID))
	}
	return nil
}

// undoCommand returns the flags that must be repeated in the command to undo the rewind.
func (c *rewindCmd) undoCommand(p *command.Program) string {
	var args strings.Builder
	args.WriteString(command.StoreArg(c.Store))
	for _, d := range c.AddDirs {
		if dir, err := p.Folder(d); err == nil && c.Files {
			args.WriteString("--add-dir " + term.Quote(dir) + " ")
		}
	}
	return args.String()
}
