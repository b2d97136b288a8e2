package settings

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// Daemon is the block "daemon": where the daemon of a home folder listens. It belongs in the user's
// or managed settings; a project cannot set it.
type Daemon struct {
	Listen       []string // HOST:PORT
	TLSCert      string   // paths of files
	TLSKey       string
	AllowHosts   []string
	AllowOrigins []string
	Drain        *time.Duration // nil if not set
	StoreWait    *time.Duration // nil if not set
	LogFormat    string         // text, json, or ""
}

// LoadDaemon reads the block of the managed and the user's settings; managed keys win one by one.
// Only Home and Managed of o are needed. The error is *[Error] if a file is invalid, in this block
// or elsewhere.
func LoadDaemon(o *Options) (*Daemon, error) {
	all, err := ownAndManaged(o)
	if err != nil {
		return nil, err
	}
	var d Daemon
	for _, s := range all {
		d.fill(&s.daemon)
	}
	return &d, nil
}

// ownAndManaged reads the managed and the user's settings, the strongest first. The error is
// *[Error] if a file is invalid.
func ownAndManaged(o *Options) ([]*parsedSource, error) {
	opt := *o
	if opt.Managed == "" {
		opt.Managed = DefaultManaged
	}
	managed, err1 := opt.managed()
	user, err2 := opt.user()
	if err := joinErrors(err1, err2); err != nil {
		return nil, err
	}
	var all []*parsedSource
	var problems []Problem
	for _, src := range slices.Concat(managed, user) {
		s := decode(src)
		all = append(all, s)
		problems = append(problems, s.problems...)
	}
	return all, fatalError(problems)
}

// fill sets unset values from a weaker layer.
func (d *Daemon) fill(o *Daemon) {
	for _, l := range []struct {
		to   *[]string
		from []string
	}{{&d.Listen, o.Listen}, {&d.AllowHosts, o.AllowHosts}, {&d.AllowOrigins, o.AllowOrigins}} {
		if len(*l.to) == 0 {
			*l.to = l.from
		}
	}
	if d.TLSCert == "" && d.TLSKey == "" { // they belong together
		d.TLSCert, d.TLSKey = o.TLSCert, o.TLSKey
	}
	if d.Drain == nil {
		d.Drain = o.Drain
	}
	if d.StoreWait == nil {
		d.StoreWait = o.StoreWait
	}
	if d.LogFormat == "" {
		d.LogFormat = o.LogFormat
	}
}

func (s *parsedSource) daemonBlock(path string, n jsontree.Node) {
	if s.layer != layernames.User && s.layer != layernames.Managed {
		s.fault(n.At, "move it into settings.json of HOLDFAST_HOME", "%s: only user and managed settings can set this", path)
		return
	}
	list := func(to *[]string) func(string, jsontree.Node) {
		return func(path string, n jsontree.Node) {
			s.texts(path, n, func(_ string, item jsontree.Node) { *to = append(*to, item.Text) })
		}
	}
	word := func(to *string) func(string, jsontree.Node) {
		return func(path string, n jsontree.Node) {
			if text, ok := s.text(path, n); ok {
				*to = text
			}
		}
	}
	d := &s.daemon
	s.object(path, n, map[string]func(string, jsontree.Node){
		"listen":       list(&d.Listen),
		"tlsCert":      s.daemonFile(&d.TLSCert),
		"tlsKey":       s.daemonFile(&d.TLSKey),
		"allowHosts":   list(&d.AllowHosts),
		"allowOrigins": list(&d.AllowOrigins),
		"drain":        s.daemonTime(&d.Drain),
		"storeWait":    s.daemonTime(&d.StoreWait),
		"logFormat":    word(&d.LogFormat),
	})
	if f := d.LogFormat; f != "" && f != "text" && f != "json" {
		s.fault(n.At, "write text or json", "%s.logFormat: unknown value %q", path, f)
	}
}

// daemonFile decodes a path: absolute, below "~/", or relative to the settings' folder.
func (s *parsedSource) daemonFile(to *string) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		if _, ok := s.text(path, n); !ok {
			return
		}
		if name, ok := s.absolutePath(path, n); ok {
			*to = name
		}
	}
}

// daemonTime decodes a duration that is not negative.
func (s *parsedSource) daemonTime(to **time.Duration) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		text, ok := s.text(path, n)
		if !ok {
			return
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			s.fault(n.At, `write a time such as "30s" or "2m"`, "%s: %q is not a time", path, text)
			return
		}
		*to = &d
	}
}
