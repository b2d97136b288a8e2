package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// allowedDoc is one sandbox permission that was added.
type allowedDoc struct {
	Write string `json:"write,omitempty"`
	Read  string `json:"read,omitempty"`
	Host  string `json:"host,omitempty"`
	command.Written
}

func (c *allowCmd) Run(_ context.Context, p *command.Program) error {
	if len(c.Read)+len(c.Write)+len(c.Host) == 0 && !c.Registries {
		return outcome.Invalid("choose what to allow: --write PATH, --read PATH, --host HOST or --registries", "holdfast sandbox allow --host example.com")
	}
	if err := dial.RefuseInsideRun(p, "change what the sandbox allows"); err != nil {
		return err
	}
	private, err := c.privateRegistries(p)
	if err != nil {
		return err
	}
	if c.Registries {
		if err := c.addRegistries(private); err != nil {
			return err
		}
	}
	var paths []string
	for _, given := range c.Write { // all of them are valid, or none is written
		path, err := p.Path(given)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			return outcome.Invalid(path+" does not exist", "create it first (mkdir -p), or allow its parent folder: --write "+term.Quote(filepath.Dir(path)))
		}
		paths = append(paths, path)
	}
	var secrets []string
	for _, given := range c.Read {
		path, err := p.Path(given)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			return outcome.Invalid(path+" does not exist", "name an existing file or folder")
		}
		secrets = append(secrets, path)
	}
	var done []allowedDoc
	for _, path := range paths {
		w, err := p.WriteSetting(c.CWD, c.Layer(), settings.WritePaths, p.PathEntry(path))
		if err != nil {
			return err
		}
		done = append(done, allowedDoc{Write: path, Written: w})
	}
	for _, path := range secrets {
		w, err := p.WriteSetting(c.CWD, c.Layer(), settings.ReadPaths, p.PathEntry(path))
		if err != nil {
			return err
		}
		done = append(done, allowedDoc{Read: path, Written: w})
	}
	for _, host := range c.Host {
		w, err := p.WriteSetting(c.CWD, c.Layer(), settings.AllowedDomains, host)
		if err != nil {
			return err
		}
		done = append(done, allowedDoc{Host: host, Written: w})
	}
	s, err := p.FolderSettings(c.CWD)
	if err != nil {
		return err
	}
	for i := range done {
		d := &done[i]
		where, denied := checkLayers(compileSettings(s), func(b *sandbox.Checker) error {
			if d.Write != "" && d.Counts {
				return b.CheckPath(d.Write, s.Project, policy.OpWrite)
			}
			return nil
		})
		if denied != nil {
			d.Counts = false
		}
		if c.JSON {
			if err := p.Out.JSON(d, false); err != nil {
				return err
			}
			continue
		}
		p.Err.Line("%s", term.Escape(d.String()))
		switch {
		case denied != nil:
			p.Warn("it is still refused: %s (%s)", term.OneLine(denied.Error()), where)
		case !d.Counts:
			p.Warn("%s", command.NotTrusted)
		}
	}
	c.reportRegistries(p, private)
	return nil
}

// String returns a sentence with the file and the line.
func (d *allowedDoc) String() string {
	what := "can be written by sandboxed commands"
	switch {
	case d.Read != "":
		what = "can be read by sandboxed commands, including secrets in it"
	case d.Host != "":
		what = "can be reached by sandboxed commands"
	}
	if !d.Changed {
		what = "was already allowed: it " + what
	}
	return strings.Join([]string{d.Write + d.Read + d.Host, what, d.Location()}, " ")
}
