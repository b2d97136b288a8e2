package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/holdfast-dev/holdfast/session"
)

// release is the version of the next release; a build from a tag says more.
const release = "0.1.0-dev"

// versionCmd is `holdfast version`.
type versionCmd struct{ jsonFlag }

type versionDoc struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Format   int    `json:"session_format"`
}

func (c *versionCmd) run(_ context.Context, p *Program) error { return c.print(p) }

func (c *versionCmd) print(p *Program) error {
	d := versionOf()
	if c.JSON {
		return p.out.json(d, false)
	}
	s := "holdfast " + d.Version
	if d.Revision != "" {
		s += " (" + d.Revision
		if d.Modified {
			s += ", changed"
		}
		s += ")"
	}
	p.out.text(s + " " + d.Go + " " + d.OS + "/" + d.Arch + "\n")
	return nil
}

func version() string { return versionOf().Version }

func versionOf() versionDoc {
	d := versionDoc{Version: release, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Format: session.FormatVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		d.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			d.Modified = s.Value == "true"
		}
	}
	return d
}
