package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// allowedDoc is one sandbox permission that was added.
type allowedDoc struct {
	Write string `json:"write,omitempty"`
	Read  string `json:"read,omitempty"`
	Host  string `json:"host,omitempty"`
	command.Written
	Reason string `json:"reason,omitempty"` // why another layer still refuses this access
	Hint   string `json:"hint,omitempty"`
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
	for _, given := range c.Write { // all paths are checked before anything is written
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
		if layer, denied := d.check(s); denied != nil {
			d.Counts = false
			d.Reason, d.Hint = "still refused by "+settings.OriginText(layer.Origin)+": "+newCheckDoc(denied, "").Reason, d.hint(layer)
		}
		if c.JSON {
			if err := p.Out.JSON(d, false); err != nil {
				return err
			}
			continue
		}
		p.Err.Line("%s", term.Escape(d.String()))
		switch {
		case d.Reason != "":
			p.Warn("%s", d.Reason)
			p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(d.Hint))
		case !d.Counts:
			p.Warn("%s", command.NotTrusted)
		}
	}
	c.reportRegistries(p, private)
	return nil
}

// check returns the denial that still applies after the permission was added, and the other layer
// that causes it.
func (d *allowedDoc) check(s *settings.Settings) (*settings.Sandbox, error) {
	if !d.Counts {
		return nil, nil
	}
	hosts := registries.Hosts(d.Host)
	if hosts == nil && d.Host != "" {
		hosts = []string{strings.Replace(d.Host, "*", "www", 1)}
	}
	for i := range s.Sandboxes {
		layer := &s.Sandboxes[i]
		if d.Write != "" {
			if err := layer.Checker().CheckPath(d.Write, s.Project, policy.OpWrite); err != nil {
				return layer, err
			}
		}
		for _, host := range hosts {
			if err := layer.Checker().CheckHost(host); err != nil {
				return layer, err
			}
		}
	}
	return nil, nil
}

// hint returns how to add the same permission to the layer that refuses the access.
func (d *allowedDoc) hint(layer *settings.Sandbox) string {
	switch l := layer.Origin.Layer; {
	case d.Write != "":
		return "every settings layer that lists allowed paths must list this one, too: add the path to allowedWritePaths of " + layer.Origin.File
	case l == layernames.Managed || l == layernames.Flag:
		return "every settings layer that lists allowed hosts must list this one, too: add the host to network.allowedDomains of " + layer.Origin.File
	default:
		return "every settings layer that lists allowed hosts must list this one, too: holdfast sandbox allow --" + l + " --host " + term.Quote(d.Host)
	}
}

// String returns a sentence that names the file and the line.
func (d *allowedDoc) String() string {
	what := "can be written by sandboxed commands"
	switch {
	case d.Reason != "":
		what = "was added"
		if !d.Changed {
			what = "was already added"
		}
		return strings.Join([]string{d.Write + d.Read + d.Host, what, d.Location()}, " ")
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
