package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// importTotals sums up the results of all files.
type importTotals struct {
	Sources   int   `json:"sources"`
	Imported  int   `json:"imported"`
	Continued int   `json:"continued"`
	Unchanged int   `json:"unchanged"`
	Skipped   int   `json:"skipped"`
	Failed    int   `json:"failed"`
	LeftOut   int   `json:"left_out"`
	Items     int   `json:"items"`
	Masked    int   `json:"masked"`
	Bytes     int64 `json:"bytes"`
	Warnings  int   `json:"warnings"`
	DryRun    bool  `json:"dry_run,omitempty"`
}

func (c *importCmd) Run(ctx context.Context, p *command.Program) error {
	o, err := c.options(p)
	if err != nil {
		return err
	}
	found, err := c.find(p)
	if err != nil {
		return err
	}
	if err := c.checkProject(found.Sources); err != nil {
		return err
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	sum := importTotals{Sources: len(found.Sources), LeftOut: len(found.Skipped), DryRun: c.DryRun}
	for _, l := range found.Skipped {
		if err := c.printSkipped(p, l); err != nil {
			return err
		}
	}
	bar := newImportProgress(p, found)
	o.Progress = bar.read
	var printing error
	err = convert.ImportAll(ctx, sessions, found.Sources, o, func(r *convert.Report, err error) bool {
		printing = c.print(p, &sum, r, err)
		bar.done()
		return printing == nil
	})
	bar.stop()
	if printing != nil {
		return printing
	}
	if terr := c.total(p, &sum, err != nil); terr != nil {
		return terr
	}
	switch {
	case err != nil:
		return context.Cause(ctx)
	case sum.Failed > 0:
		return &outcome.Failure{Message: term.Count(sum.Failed, "file") + " could not be imported", Result: outcome.Failed, Advice: "errors are listed above; all other sessions were imported"}
	}
	return nil
}

func (c *importCmd) options(p *command.Program) (*convert.Options, error) {
	o := &convert.Options{DryRun: c.DryRun, Clock: p.Clock, Trusted: c.Trusted}
	if !c.NoMask {
		rules, err := p.FolderSettings("")
		if err != nil {
			return nil, err
		}
		if o.Mask, err = rules.Masker(); err != nil {
			return nil, err
		}
	}
	if c.DryRun {
		return o, nil
	}
	fixed := ""
	if c.Project != "" {
		dir, err := p.Folder(c.Project)
		if err != nil {
			return nil, err
		}
		if fixed, _, err = project.ID(dir); err != nil {
			return nil, err
		}
	}
	o.Project = func(cwd string) string {
		if fixed != "" {
			return fixed
		}
		if st, err := os.Stat(cwd); !filepath.IsAbs(cwd) || err != nil || !st.IsDir() {
			return ""
		}
		id, _, _ := project.ID(cwd) // a folder that no longer exists belongs to no project
		return id
	}
	return o, nil
}

// checkProject rejects --project for exports in Holdfast's own format, whose records are imported
// unchanged.
func (c *importCmd) checkProject(sources []convert.Source) error {
	if c.Project == "" {
		return nil
	}
	for i := range sources {
		if sources[i].Format == convert.JSONL {
			return outcome.Invalid(sources[i].Path+": --project does not apply to the format jsonl, whose sessions keep their project", "import this file without --project")
		}
	}
	return nil
}

// find looks for sources in all paths.
func (c *importCmd) find(p *command.Program) (*convert.Found, error) {
	all := &convert.Found{}
	for _, path := range c.Paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(p.Getenv("HOME"), rest)
		}
		path, err := p.Path(path)
		if err != nil {
			return nil, err
		}
		found, err := convert.Find(path, convert.Format(c.Format))
		if errors.Is(err, os.ErrNotExist) {
			return nil, outcome.Invalid("no such file or folder: "+path, "")
		}
		if err != nil {
			return nil, err
		}
		all.Sources = append(all.Sources, found.Sources...)
		all.Skipped = append(all.Skipped, found.Skipped...)
		all.Bytes += found.Bytes
	}
	return all, nil
}

func (c *importCmd) printSkipped(p *command.Program, l convert.SkippedFile) error {
	if c.JSON {
		return p.Out.JSON(l, false)
	}
	p.Warn("%s was skipped: %s", l.File, l.Why)
	return nil
}

// importDoc is the result of one file, in JSON.
type importDoc struct {
	*convert.Report
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func (c *importCmd) print(p *command.Program, sum *importTotals, r *convert.Report, err error) error {
	sum.Items += r.Items
	sum.Masked += r.Masked
	sum.Bytes += r.Bytes
	sum.Warnings += len(r.Warnings) + r.More
	switch {
	case err != nil:
		sum.Failed++
	case r.Status == convert.Imported:
		sum.Imported++
	case r.Status == convert.Continued:
		sum.Continued++
	case r.Status == convert.Unchanged:
		sum.Unchanged++
	default:
		sum.Skipped++
	}
	if c.JSON {
		d := importDoc{Report: r}
		if err != nil {
			d.Error, d.Hint = err.Error(), outcome.Hint(err)
		}
		return p.Out.JSON(d, false)
	}
	for _, w := range r.Warnings {
		p.Warn("%s", w)
	}
	if r.More > 0 {
		p.Warn("%s: %s more", r.File, term.Count(r.More, "warning"))
	}
	if err != nil {
		p.Warn("%v", err)
		if hint := outcome.Hint(err); hint != "" {
			p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(term.OneLine(hint)))
		}
	}
	return nil
}

// total prints the totals.
func (c *importCmd) total(p *command.Program, sum *importTotals, stopped bool) error {
	if c.JSON {
		return p.Out.JSON(struct {
			Summary *importTotals `json:"summary"`
		}{sum}, false)
	}
	verb := "imported"
	if c.DryRun {
		verb = "would be imported"
	}
	words := []string{term.Count(sum.Imported, "session") + " " + verb + " (" + term.Count(sum.Items, "item") + ", " + term.Size(sum.Bytes) + " read)"}
	for _, n := range []struct {
		n    int
		what string
	}{{sum.Continued, "continued"}, {sum.Unchanged, "already there"}, {sum.Skipped, "skipped"}, {sum.Failed, "failed"}, {sum.Masked, "lines with secrets masked"}, {sum.Warnings, "warnings"}} {
		if n.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	p.Err.Line("%s", strings.Join(words, ", "))
	if stopped {
		p.Err.Line("stopped; run the same command again to continue")
	}
	return nil
}

// importProgress is the progress line: how much was read, how fast, and the remaining time.
type importProgress struct {
	s     *term.Progress
	total int64
	files int
	count atomic.Int64
	bytes atomic.Int64
	since time.Time
}

func newImportProgress(p *command.Program, found *convert.Found) *importProgress {
	b := &importProgress{s: p.Err.Progress(), total: found.Bytes, files: len(found.Sources), since: time.Now()}
	b.s.Detail(func() string { return b.text(time.Since(b.since)) })
	b.s.Show("importing")
	return b
}

func (b *importProgress) read(n int64) { b.bytes.Add(n) }
func (b *importProgress) done()        { b.count.Add(1) }

func (b *importProgress) stop() {
	b.s.Show("")
	b.s.Detail(nil)
}

// text returns the progress line after the given time.
func (b *importProgress) text(after time.Duration) string {
	const cells = 20
	read := b.bytes.Load()
	part := 1.0
	if b.total > 0 {
		part = min(float64(read)/float64(b.total), 1)
	}
	full := int(part * cells)
	line := fmt.Sprintf(" %s%s %d of %d · %d %%", strings.Repeat("━", full), strings.Repeat("─", cells-full), b.count.Load(), b.files, int(part*100))
	if s := after.Seconds(); s > 0.5 && read > 0 {
		rate := float64(read) / s
		line += fmt.Sprintf(" · %.1f MB/s · %s left,", rate/1e6, term.Elapsed(time.Duration(float64(b.total-min(read, b.total))/rate*float64(time.Second)).Round(time.Second)))
	}
	return line
}
